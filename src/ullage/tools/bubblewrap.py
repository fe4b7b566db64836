"""The command line of bubblewrap for a command: namespaces of its own, and a file system with what it can get at.

https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ullage.tools.sandbox_places import Reach

GIT: Final = (".git", "hooks", "config")
"""What of the repository is kept from being written, from its directory on: a hook or a setting runs programs outside
the sandbox, at the user's next command. The directory is a mount of its own, so that it can't be renamed."""

INNER: Final = """
exec 3<&- 4<&- 5<&- 6<&- 8>&2 2>/dev/null
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
"""Run inside by /bin/sh: closes what bubblewrap was given, runs the command, and tells whether processes are left.

Two are always there, bubblewrap's own and this one."""

ROOT_CAPABILITIES: Final = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
"""What root keeps: files of other users in the workspace. Elsewhere everything is mounted read-only."""


READ_ONLY_PROC: Final = ("bus", "fs", "irq", "sys", "sysrq-trigger")
MASKED_PROC: Final = ("kcore", "keys", "key-users", "kmsg", "sched_debug", "timer_list")
"""What Docker closes in /proc too (``moby/profiles`` and ``oci/defaults.go``). Bubblewrap leaves /proc/sys writable to
root, and a program named in ``kernel.core_pattern`` runs outside."""


class Mounting(NamedTuple):
    """Bubblewrap's arguments, and the directories it expects on descriptors: number, number of the parent, name."""

    arguments: list[str]
    open: list[tuple[int, int, str]]


def mounting(
    program: str,
    reach: Reach,
    command: Sequence[str],
    cwd: Path,
    *,
    has_network: bool,
    temp_bytes: int,
    is_root: bool,
    binds_descriptors: bool,
) -> Mounting:
    """How to run the command. ``binds_descriptors`` says that this bubblewrap has ``--bind-fd``."""
    arguments = [program, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += [] if has_network else ["--unshare-net"]
    arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if is_root:
        arguments += [word for each in ROOT_CAPABILITIES for word in ("--cap-add", each)]
    bounded = ("--size", str(temp_bytes), "--perms", "0700", "--tmpfs")
    shared = ("--size", str(temp_bytes), "--perms", "1777", "--tmpfs")
    if reach.root == Path("/"):
        arguments += ["--bind", "/", "/"]
    arguments += ["--proc", "/proc", "--dev", "/dev", *shared, "/dev/shm", *shared, "/tmp", *shared, "/var/tmp"]
    arguments += _kernel_files()
    if not reach.has_home and reach.home != Path("/"):
        arguments += [*bounded, str(reach.home)]
    for place in sorted(reach.readable):
        arguments += ["--ro-bind", str(place), str(place)]
    for link in _links():
        arguments += ["--symlink", os.readlink(link), link]
    if has_network:
        arguments += _resolver()
    for place in sorted(reach.writable):
        arguments += ["--bind", str(place), str(place)]
    opened: list[tuple[int, int, str]] = []
    for flag, number, place in _workspace(reach.root, opened):
        if binds_descriptors:
            arguments += [f"{flag}-fd", str(number), str(place)]
        else:
            arguments += [flag, str(place), str(place)]
    arguments += _closed(reach)
    arguments += [] if reach.root == Path("/") else ["--remount-ro", "/"]
    arguments += ["--seccomp", "10", "--chdir", str(cwd)]
    return Mounting([*arguments, "--", "/bin/sh", "-c", INNER, "sh", *command], opened if binds_descriptors else [])


def _workspace(root: Path, opened: list[tuple[int, int, str]]) -> Iterator[tuple[str, int, Path]]:
    """The workspace, its repository, and the parts of that which can only be read. Links are no part of it."""
    opened.append((3, -1, str(root)))
    if root != Path("/"):
        yield "--bind", 3, root
    git = root / GIT[0]
    if git.is_symlink() or not git.is_dir():
        return
    opened.append((4, 3, GIT[0]))
    yield "--bind", 4, git
    for number, name in enumerate(GIT[1:], 5):
        if (git / name).exists() and not (git / name).is_symlink():
            opened.append((number, 4, name))
            yield "--ro-bind", number, git / name


def _closed(reach: Reach) -> Iterator[str]:
    """What is hidden or can't be written inside the places mounted before."""
    for place in reach.protected:
        yield from ("--ro-bind", str(place), str(place))
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
