"""The command line of bubblewrap for a command: namespaces of its own, and a file system with what it can get at.

https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ullage.tools.file_access import FileAccess

FIRST_DESCRIPTOR: Final = 20
"""Directories of the workspace are passed on as descriptors from this number on; bubblewrap closes them."""

INNER: Final = """
exec 8>&2 2>/dev/null
echo started >&9
trap : TERM
(exec "$@" 2>&8 8>&- 9>&-)
code=$?
count=0
for each in /proc/[0-9]*/cmdline; do
  words=
  IFS= read -r words <"$each"
  [ -n "$words" ] && count=$((count + 1))
done
[ $count -gt 2 ] && echo left >&9
exit $code
"""
"""Run inside by /bin/sh: runs the command, and tells whether processes are left.

Two are always there, bubblewrap's own and this one."""

ROOT_CAPABILITIES: Final = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
"""What root keeps: files of other users in the workspace. Elsewhere everything is mounted read-only."""


READ_ONLY_PROC: Final = ("bus", "fs", "irq", "sys", "sysrq-trigger")
MASKED_PROC: Final = ("kcore", "keys", "key-users", "kmsg", "sched_debug", "timer_list")
"""What Docker closes in /proc too (``moby/profiles`` and ``oci/defaults.go``). Bubblewrap leaves /proc/sys writable to
root, and a program named in ``kernel.core_pattern`` runs outside."""


class BubblewrapCommand(NamedTuple):
    """Bubblewrap's arguments, and what the launcher does before it.

    ``open`` are the directories it expects on descriptors: number, number of the parent, name. ``held`` are paths where
    an empty directory keeps another one from being made.
    """

    arguments: list[str]
    open: list[tuple[int, int, str]]
    held: list[str]


def bubblewrap_command(
    program: str,
    reach: FileAccess,
    command: Sequence[str],
    cwd: Path,
    *,
    has_network: bool,
    temp_bytes: int,
    is_root: bool,
    binds_descriptors: bool,
) -> BubblewrapCommand:
    """How to run the command. ``binds_descriptors`` says that this bubblewrap has ``--bind-fd``."""
    arguments = [program, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += [] if has_network else ["--unshare-net"]
    arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if is_root:
        arguments += [word for each in ROOT_CAPABILITIES for word in ("--cap-add", each)]
    arguments += ["--proc", "/proc", "--dev", "/dev", *_temporary(reach, temp_bytes), "--remount-ro", "/dev"]
    arguments += _kernel_files()
    for place in sorted(reach.readable):
        arguments += ["--ro-bind", str(place), str(place)]
    for link in _links():
        arguments += ["--symlink", os.readlink(link), link]
    if has_network:
        arguments += _resolver()
    mounts = _workspace(reach)
    numbers = {place: FIRST_DESCRIPTOR + index for index, place in enumerate(mounts)}
    opened: list[tuple[int, int, str]] = []
    for place, flag in mounts.items():
        if binds_descriptors:
            parent = numbers.get(place.parent, -1)
            opened.append((numbers[place], parent, str(place) if parent < 0 else place.name))
            arguments += [f"{flag}-fd", str(numbers[place]), str(place)]
        else:
            arguments += [flag, str(place), str(place)]
    arguments += _hidden(reach)
    arguments += ["--remount-ro", "/", "--seccomp", "10", "--chdir", str(cwd)]
    arguments += ["--", "/bin/sh", "-c", INNER, "sh", *command]
    held = [str(place) for place in (*reach.missing, *reach.own_missing) if place in mounts]
    return BubblewrapCommand(arguments, opened, held)


def _temporary(reach: FileAccess, temp_bytes: int) -> Iterator[str]:
    """Directories in memory: half of the bytes for /tmp, a quarter each for the home directory and shared memory."""
    shares = {"/tmp": temp_bytes // 2, "/dev/shm": temp_bytes // 4}
    if any(place.is_relative_to("/var/tmp") for place in (reach.root, *reach.writable, *reach.readable)):
        shares["/var/tmp"] = temp_bytes // 4
    else:
        yield from ("--symlink", "../tmp", "/var/tmp")
    for place, size in shares.items():
        yield from ("--size", str(size), "--perms", "1777", "--tmpfs", place)
    yield from ("--size", str(temp_bytes // 4), "--perms", "0700", "--tmpfs", str(reach.home))


def _workspace(reach: FileAccess) -> dict[Path, str]:
    """What is mounted so that it can be written, and the parts of that which can only be read, parents first.

    A mount point can't be renamed or replaced, but a directory above it can, and takes it along: so each directory from
    the workspace down to something read-only or hidden is a mount of its own.
    """
    places = (reach.root, *reach.writable)
    closed = [path for path in reach.closed if not _is_below(path, reach.hidden)]
    mounts = dict.fromkeys(places, "--bind")
    for path in (*closed, *reach.hidden):
        above = [each for each in path.parents if _is_below(each, places) and not _is_below(each, closed)]
        mounts.update(dict.fromkeys(above, "--bind"))
    mounts.update(dict.fromkeys(closed, "--ro-bind"))
    return dict(sorted(mounts.items()))


def _is_below(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


def _hidden(reach: FileAccess) -> Iterator[str]:
    for place in reach.hidden:
        if place.is_dir():
            yield from ("--perms", "0000", "--size", "4096", "--tmpfs", str(place), "--remount-ro", str(place))
        else:
            yield from ("--ro-bind", "/dev/null", str(place))


def _kernel_files() -> Iterator[str]:
    """Files of the kernel that root could write, or read the machine's state from, even without capabilities."""
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
    return ["--ro-bind", real, real] if os.path.exists(real) and not real.startswith("/etc/") else []
