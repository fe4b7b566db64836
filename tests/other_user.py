"""Another user of this machine, and what its processes listen on."""

from __future__ import annotations

import encodings.idna  # noqa: F401 - of the name of a host: another user may not read Python's own modules
import os
import re
import socket
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

OTHER = 61_999
"""A user, and a group, without a name and without files."""

NOBODY = 65_534

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can act as another user"
)

LISTENING = "0A"
"""The state of a socket in /proc/net/tcp (https://docs.kernel.org/networking/proc_net_tcp.html)."""


def as_user(user: int, attempt: Callable[..., object], *given: object) -> str:
    """What an attempt gives in a process of another user: its value as text, or the name of its error."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # this process has threads; the child calls the system alone
        child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            told = str(attempt(*given))
        except BaseException as problem:  # noqa: BLE001 - the child ends here whatever happens
            told = type(problem).__name__
        os.write(writes, told.encode()[:4_000])
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


def connected(path: str) -> str:
    """Connects to a Unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
    return "connected"


def status_of(port: int, path: str, method: str = "GET") -> str:
    """The status that a server of this machine answers with."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        )
        client.sendall(f"{head}Content-Length: 0\r\n\r\n".encode())
        return client.recv(100).split(b" ")[1].decode()


def asked(port: int, path: str, method: str = "GET") -> str:
    """The status for another user; where only root can act as one, for a program of ours without the token."""
    if os.geteuid() == 0:
        return as_user(OTHER, status_of, port, path, method)
    return status_of(port, path, method)


def ports_of(processes: Iterable[int]) -> dict[int, int]:
    """The TCP ports that these processes listen on, and which of them does."""
    owners = {}
    for process in processes:
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            try:
                owners[os.readlink(descriptor)] = process
            except OSError:
                continue  # closed meanwhile
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            owner = owners.get(f"socket:[{fields[9]}]")
            if fields[3] == LISTENING and owner is not None:
                found[int(fields[1].rpartition(":")[2], 16)] = owner
    return found


def family_of(process: int) -> list[int]:
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = re.search(r"^PPid:\s+(\d+)$", status.read_text(), re.MULTILINE)
        except OSError:
            continue  # ended meanwhile
        parents[int(status.parent.name)] = int(parent[1]) if parent else 0
    family = [process]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family
