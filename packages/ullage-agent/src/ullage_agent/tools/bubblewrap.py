"""The command line of bubblewrap for a command: separate namespaces, and a file system with what it may access.

https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ullage_agent.tools.file_access import FileAccess
from ullage_agent.tools.protected_paths import is_below

FIRST_DESCRIPTOR: Final = 20
"""The first descriptor that passes a directory of the workspace to bubblewrap, which closes them."""

INNER: Final = """
echo started >&9
trap : TERM
(exec "$@" 9>&-)
exit $?
"""
"""Run inside by /bin/sh: reports that the sandbox is set up, runs the command, and outlives its TERM."""

ROOT_CAPABILITIES: Final = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
"""What root keeps: access to files of other users in the workspace. Elsewhere everything is mounted read-only."""

READ_ONLY_PROC: Final = ("bus", "fs", "irq", "sys", "sysrq-trigger")
MASKED_PROC: Final = ("kcore", "keys", "key-users", "kmsg", "sched_debug", "timer_list")
"""The parts of /proc that Docker closes too (``moby/profiles`` and ``oci/defaults.go``). Bubblewrap leaves /proc/sys
writable to root, and a program named in ``kernel.core_pattern`` runs outside."""


class BubblewrapCommand(NamedTuple):
    """Bubblewrap's arguments, and what the launcher prepares for it.

    ``open`` are the directories it expects on descriptors: number, number of the parent, name. At each path of ``held``
    the launcher puts an empty directory, so that commands can't make one.
    """

    arguments: list[str]
    open: list[tuple[int, int, str]]
    held: list[str]


def bubblewrap_command(
    program: str,
    access: FileAccess,
    command: Sequence[str],
    cwd: Path,
    *,
    has_network: bool,
    temp_bytes: int,
    is_root: bool,
) -> BubblewrapCommand:
    """How to run the command."""
    arguments = [
        program,
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    if not has_network:
        arguments.append("--unshare-net")
    arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if is_root:
        for capability in ROOT_CAPABILITIES:
            arguments += ["--cap-add", capability]
    arguments += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        *_temporary(access, temp_bytes),
        "--remount-ro",
        "/dev",
    ]
    arguments += _kernel_files()
    for place in sorted(access.readable):
        arguments += ["--ro-bind", str(place), str(place)]
    for link in _links():
        arguments += ["--symlink", os.readlink(link), link]
    if has_network:
        arguments += _resolver()
    mounts = _workspace(access)
    numbers = {place: FIRST_DESCRIPTOR + index for index, place in enumerate(mounts)}
    opened: list[tuple[int, int, str]] = []
    for place, flag in mounts.items():
        number, parent = numbers[place], numbers.get(place.parent, -1)
        name = str(place) if parent < 0 else place.name
        opened.append((number, parent, name))
        arguments += [f"{flag}-fd", str(number), str(place)]
    arguments += _hidden(access)
    arguments += ["--remount-ro", "/", "--seccomp", "10", "--chdir", str(cwd)]
    arguments += ["--", "/bin/sh", "-c", INNER, "sh", *command]
    held = [
        str(place) for place in (*access.missing, *access.code_missing) if place in mounts
    ]
    return BubblewrapCommand(arguments, opened, held)


def _temporary(access: FileAccess, temp_bytes: int) -> Iterator[str]:
    """Directories in memory: half of the bytes for /tmp, a quarter each for the home directory and shared memory."""
    shares = {"/tmp": temp_bytes // 2, "/dev/shm": temp_bytes // 4}
    if any(
        place.is_relative_to("/var/tmp") for place in (*access.places, *access.readable)
    ):
        shares["/var/tmp"] = temp_bytes // 4
    else:
        yield from ("--symlink", "../tmp", "/var/tmp")
    for place, size in shares.items():
        yield from ("--size", str(size), "--perms", "1777", "--tmpfs", place)
    yield from (
        "--size",
        str(temp_bytes // 4),
        "--perms",
        "0700",
        "--tmpfs",
        str(access.home),
    )


def _workspace(access: FileAccess) -> dict[Path, str]:
    """The writable mounts and the read-only mounts inside them, parents first.

    A mount point can't be renamed or replaced, but a directory above it can, and takes it along: so each directory from
    the workspace down to a read-only or hidden path is a separate mount.
    """
    closed = [path for path in access.closed if not is_below(path, access.hidden)]
    mounts = dict.fromkeys(access.places, "--bind")
    for path in (*closed, *access.hidden):
        for above in path.parents:
            if is_below(above, access.places) and not is_below(above, closed):
                mounts[above] = "--bind"
    mounts.update(dict.fromkeys(closed, "--ro-bind"))
    return dict(sorted(mounts.items()))


def _hidden(access: FileAccess) -> Iterator[str]:
    for place in access.hidden:
        if place.is_dir():
            yield from (
                "--perms",
                "0000",
                "--size",
                "4096",
                "--tmpfs",
                str(place),
                "--remount-ro",
                str(place),
            )
        else:
            yield from ("--ro-bind", "/dev/null", str(place))


def _kernel_files() -> Iterator[str]:
    """Hides files that root could write even without capabilities, or that show the machine's state."""
    for name in READ_ONLY_PROC:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    for name in MASKED_PROC:
        if os.path.exists(f"/proc/{name}"):
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")


def _links() -> Iterator[str]:
    """Names like /bin, where they are links into /usr."""
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(name):
            yield name


def _resolver() -> list[str]:
    """The file behind /etc/resolv.conf, which often lies in /run."""
    real = os.path.realpath("/etc/resolv.conf")
    if real.startswith("/etc/") or not os.path.exists(real):
        return []
    return ["--ro-bind", real, real]
