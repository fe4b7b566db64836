"""The name of a driver in a lease, whether it is dead, and the errors that every store raises for leases."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from ullage.errors import LeaseLost, SessionBusy
from ullage.store.store import Lease

_PROC = Path("/proc")
_ENDED = "ended"


def new_owner() -> str:
    """A name for one driver: ``machine:pid:start of the process:random``.

    From the first three fields, its process, others can tell that the owner is dead, without waiting for the end of its
    lease: on the same machine by ``is_dead``, and elsewhere by what that process holds in the database. If the system
    does not report the start of a process, the third field is empty.
    """
    return f"{this_process()}:{secrets.token_hex(4)}"


def this_process() -> str:
    """The process that asks, as ``process_of`` gives it of its owners."""
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_own_start(pid)}"


def process_of(owner: str) -> str:
    """The process of an owner; empty for a name of another form than ``new_owner`` gives."""
    process, _, _ = owner.rpartition(":")
    _, _, pid_and_start = process.partition(":")
    pid, is_process, _ = pid_and_start.partition(":")
    return process if is_process and pid.isdecimal() else ""


@lru_cache(maxsize=1)
def _own_start(pid: int) -> str:
    return _start_of(pid)


def is_dead(owner: str) -> bool:
    """Whether the owner is a process of this machine that has ended, or whose number another process has."""
    machine, _, rest = owner.partition(":")
    pid, _, rest = rest.partition(":")
    start = rest.partition(":")[0]
    if machine != _machine() or not pid.isdecimal() or not start:
        return False
    now = _start_of(int(pid))
    return now != start if now else not _exists(int(pid))


def busy(session: str, owner: str, expires: float) -> SessionBusy:
    """The error that names the session's driver; ``expires`` is the end of its lease, in seconds since 1970."""
    until = datetime.fromtimestamp(expires, UTC).isoformat(timespec="seconds")
    return SessionBusy(
        f"Session {session!r} is driven by {owner} until {until} at least. Send it commands, or end that "
        "program and try again.",
        held_by=owner,
        until=expires,
    )


def lost(lease: Lease, owner: str) -> LeaseLost:
    """The error of a lease that is no longer the session's; ``owner`` is its driver now, empty for none."""
    taken = f"{owner} drives it now" if owner else "it was released"
    return LeaseLost(
        f"The lease of {lease.owner} on session {lease.session!r} is lost: {taken}. Nothing was written; "
        "acquire the session again and read what happened since."
    )


MACHINE: Final = "ULLAGE_MACHINE"
"""The variable with a name for this machine, where the host's own name says nothing, as in containers."""


@cache
def _machine() -> str:
    """The machine's name, with a digest of it, the boot and the container's process namespace.

    So an equal name on two machines does not make them one: process numbers are compared on the same machine only.
    """
    host = os.environ.get(MACHINE) or socket.gethostname()
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
