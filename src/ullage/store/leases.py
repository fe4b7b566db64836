"""The right to drive a session: its owner, its generation, and its end by the database's clock."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

from ullage.errors import LeaseLost, SessionBusy
from ullage.store.store import Lease
from ullage.store.transaction import Change, SessionHead, Transaction, session_head

_PROC = Path("/proc")
_ENDED = "ended"


def new_owner() -> str:
    """A name for one driver: ``machine:pid:start of the process:random``.

    From the first three fields another process of the same machine can tell that the owner is dead, without waiting for
    the end of its lease. If the system does not report the start of a process, the third field is empty.
    """
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_start_of(pid)}:{secrets.token_hex(4)}"


def is_dead(owner: str) -> bool:
    """Whether the owner is a process of this machine that has ended, or whose number another process has."""
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
    """The head of the lease's session. Raises ``LeaseLost`` if another driver took the session over.

    An expired lease is still valid while the session has no other driver.
    """
    where = session_head(work.database, lease.session)
    if (where.owner, where.generation) != (lease.owner, lease.generation):
        taken = f"{where.owner} drives it now" if where.owner else "it was released"
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
    return (
        where.owner
        if where.owner and where.expires > where.now and not is_dead(where.owner)
        else ""
    )


def busy(where: SessionHead) -> SessionBusy:
    """The error that names the session's driver."""
    until = datetime.fromtimestamp(where.expires, UTC).isoformat(timespec="seconds")
    return SessionBusy(
        f"Session {where.session!r} is driven by {where.owner} until {until} at least. Send it commands, or end that "
        "program and try again.",
        held_by=where.owner,
        until=where.expires,
    )


@cache
def _machine() -> str:
    """The host's name, with a digest of the boot and of the container's process namespace."""
    host = socket.gethostname()
    boot = namespace = ""
    with suppress(OSError):
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    with suppress(OSError):
        namespace = os.readlink(_PROC / "self/ns/pid")
    digest = sha256(f"{host}\n{boot}\n{namespace}".encode()).hexdigest()[:8]
    return f"{host.replace(':', '-')}-{digest}"


def _start_of(pid: int) -> str:
    """The start of a process in ticks since the boot; empty if it is unknown or there is no such process.

    Field 22 of ``/proc/<pid>/stat``, counted behind the name, which may hold anything
    (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html). A process that ended and was not waited for has ended.
    """
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return ""
    return _ENDED if fields[0] in ("Z", "X") else fields[19]


def _exists(pid: int) -> bool:
    """Whether the process exists; a signal also finds processes of other users that ``/proc`` hides."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
