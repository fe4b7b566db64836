"""Who may drive a session: owner, generation, and when the right ends by the database's clock."""

from __future__ import annotations

import os
import secrets
import socket
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

from ullage.errors import LeaseLost, SessionBusy
from ullage.store.head import SessionHead, session_head
from ullage.store.store import Lease
from ullage.store.transaction import Change, Transaction

_PROC = Path("/proc")
_ENDED = "ended"


def new_owner() -> str:
    """A name for one driver: ``machine:pid:start of the process:random``.

    From the first three another process of the same machine can tell that the owner is dead and need not wait for its
    lease to end. Where the system does not say when a process began, the third is empty and the lease's end decides.
    """
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_start_of(pid)}:{secrets.token_hex(4)}"


def is_dead(owner: str) -> bool:
    """True when the owner is known to be gone: a process of this machine that ended, or whose number another has."""
    machine, _, rest = owner.partition(":")
    pid, _, rest = rest.partition(":")
    start = rest.partition(":")[0]
    if machine != _machine() or not pid.isdecimal() or not start:
        return False
    now = _start_of(int(pid))
    return now != start if now else not _exists(int(pid))


def acquire(work: Transaction, where: SessionHead, owner: str, ttl_s: float) -> Lease:
    """See ``Store.acquire``. Raises ``SessionBusy``."""
    if holder(where) and where.owner != owner:
        raise busy(where)
    work.run("take_lease", owner, ttl_s, where.key)
    return Lease(where.session, owner, where.generation + 1)


def held(work: Transaction, lease: Lease) -> SessionHead:
    """Where the lease's session stands. Raises ``LeaseLost`` when the lease is not the session's any more.

    A lease past its end that nobody has taken over is still good: what matters is that there is no other driver.
    """
    where = session_head(work.database, lease.session)
    if (where.owner, where.generation) != (lease.owner, lease.generation):
        taken = f"{where.owner} drives it now" if where.owner else "it was let go"
        raise LeaseLost(
            f"The lease of {lease.owner} on session {lease.session!r} is lost: {taken}. Nothing was written; "
            "acquire the session again and read what happened since."
        )
    return where


def renew(work: Transaction, lease: Lease, ttl_s: float) -> None:
    """See ``Store.renew``. Raises ``LeaseLost``."""
    work.run("renew_lease", ttl_s, held(work, lease).key)


def release(work: Transaction, lease: Lease) -> None:
    """See ``Store.release``."""
    if work.run("release_lease", lease.session, lease.owner, lease.generation).rowcount:
        work.changes.append(Change(lease.session))


def holder(where: SessionHead) -> str:
    """The living driver of a session; empty when it has none."""
    return where.owner if where.owner and where.expires > where.now and not is_dead(where.owner) else ""


def busy(where: SessionHead) -> SessionBusy:
    """The refusal that names who drives the session."""
    until = datetime.fromtimestamp(where.expires, UTC).isoformat(timespec="seconds")
    return SessionBusy(
        f"Session {where.session!r} is driven by {where.owner} until {until} at least. Send it commands, or end that "
        "program and try again.",
        held_by=where.owner,
        until=where.expires,
    )


@cache
def _machine() -> str:
    """The host's name with a digest of what tells apart two that share it: the boot, and the container's processes."""
    seen = [socket.gethostname()]
    for file in (_PROC / "sys/kernel/random/boot_id",):
        try:
            seen.append(file.read_text().strip())
        except OSError:
            seen.append("")
    try:
        seen.append(os.readlink(_PROC / "self/ns/pid"))
    except OSError:
        seen.append("")
    digest = sha256("\n".join(seen).encode()).hexdigest()[:8]
    return f"{seen[0].replace(':', '-')}-{digest}"


def _start_of(pid: int) -> str:
    """When a process began, in ticks since the boot; empty when there is none or nothing says so.

    Field 22 of ``/proc/<pid>/stat``, counted behind the name, which may hold anything
    (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html). A process that ended and was not waited for has ended.
    """
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return ""
    return _ENDED if fields[0] in ("Z", "X") else fields[19]


def _exists(pid: int) -> bool:
    """Whether there is such a process; where ``/proc`` hides those of other users, the signal still tells."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
