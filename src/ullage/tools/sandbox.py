"""The sandbox for commands: which one works here, what a command can access, and what the model is told.

    sandbox = Sandbox("workspace", hidden=(store,))
    command = sandbox.confined(command)

Bubblewrap where it works, Landlock with a seccomp filter otherwise. Where neither works commands run unconfined, and
``weakness`` says why; the tool then needs approval (``builtin.py``).
"""

from __future__ import annotations

import ctypes
import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ullage.tools.bubblewrap import bubblewrap_command
from ullage.tools.file_access import (
    TOOLCHAIN_VARIABLES,
    FileAccess,
    file_access_of,
    store_files,
)
from ullage.tools.paths import moved
from ullage.tools.processes import ProcessSpec
from ullage.tools.protected_paths import UllageCode, is_below, ullage_code
from ullage.tools.seccomp import MACHINES, Sockets, filter_for
from ullage.tools.tool import ToolError

SandboxMode = Literal["off", "workspace", "workspace+network"]
Backend = Literal["bubblewrap", "landlock", "none"]

BACKENDS: Final[tuple[Backend, ...]] = ("bubblewrap", "landlock")
"""In the order in which they are tried."""

_PROBE_S: Final = 10.0

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, REFER, TRUNCATE, IOCTL_DEV = (
    1 << 6,
    1 << 11,
    1 << 13,
    1 << 14,
    1 << 15,
)
"""LANDLOCK_ACCESS_FS_… of <linux/landlock.h>."""

OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING: Final = EXECUTE | READ_FILE | READ_DIR
FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of the rights each version of the interface knows; later ones know no more of those used here."""
SEES_TRUNCATION: Final = 3
"""From this version on Landlock sees that a file is emptied by its path."""
GUARDS_SIGNALS: Final = 6
"""From this version on (Linux 6.12) a command can't send signals to processes outside."""

DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
PROC: Final = (
    "cpuinfo",
    "meminfo",
    "stat",
    "version",
    "filesystems",
    "uptime",
    "loadavg",
    "sys",
)
"""The readable files of /proc: nothing that belongs to a process, as other processes' files would be readable too."""

_CREATE_RULESET: Final = 444
_VERSION: Final = 1  # a flag: give the version and make nothing


class CommandLimits(NamedTuple):
    """What one command may use. Chosen: enough for builds and test runs, far from what stalls a machine.

    ``memory_bytes`` is for all its processes together and for each of them; 0 is three quarters of the machine's.
    ``temp_bytes`` is for all its temporary directories together, which are in memory with bubblewrap.
    """

    processes: int = 1_000
    memory_bytes: int = 0
    file_bytes: int = 8 << 30
    open_files: int = 8_192
    temp_bytes: int = 4 << 30

    def as_spec(self) -> dict[str, int]:
        machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory_bytes = self.memory_bytes or max(1 << 30, machine_bytes * 3 // 4)
        return {**self._asdict(), "memory_bytes": memory_bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """How commands are confined. No command may read ``hidden`` files and directories, or the databases ``stores``.

    ``readable`` and ``writable`` are directories beside the workspace. ``home`` is the user's home directory,
    ``code`` what Ullage itself runs. ``is_narrow``: the workspace is named without links, inside the operator's; if it
    has become a link, commands are refused.
    """

    mode: SandboxMode = "workspace"
    hidden: tuple[Path, ...] = ()
    stores: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    limits: CommandLimits = field(default_factory=CommandLimits)
    home: Path = field(default_factory=Path.home)
    backends: tuple[Backend, ...] = BACKENDS
    code: UllageCode = field(default_factory=ullage_code)
    is_narrow: bool = False

    def backend(self, root: Path) -> Backend:
        """What confines commands in this workspace; "none" also for the mode "off". Runs a program the first time."""
        return self._choice(root)[0]

    def weakness(self, root: Path) -> str:
        """Why commands can't be confined although they should be; empty if they are, and for the mode "off"."""
        return self._choice(root)[1]

    def described(self, root: Path) -> str:
        """What a model is told of the sandbox; empty without one."""
        backend = self.backend(root)
        if backend == "none":
            return ""
        network = "the network is open" if self._has_network else "there is no network"
        exceptions = ""
        if backend == "bubblewrap":
            has_code = bool(self.file_access(Path(os.path.realpath(root))).code)
            own = " or Ullage's own files" if has_code else ""
            exceptions = f", but not its .git{own},"
        return (
            f"Commands run in a sandbox: they can write only the working directory{exceptions} and $TMPDIR, other "
            f"files of the user are hidden, and {network}."
        )

    def confined(
        self, command: ProcessSpec, *, allows_unconfined: bool = False
    ) -> ProcessSpec:
        """The command as the launcher runs it in this sandbox; its directory is the workspace.

        What is confined and what is mounted is decided on the workspace as it is now, once. Raises ``ToolError`` for a
        narrower workspace that has become a link and, unless ``allows_unconfined``, where the sandbox can't confine.
        """
        root = Path(os.path.realpath(command.cwd))
        if self.is_narrow and root != command.cwd:
            raise ToolError(moved(command.cwd))
        backend, weakness = self._choice(root)
        if backend != "none":
            access = self.file_access(root, command.env.get("PATH", ""))
            weakness = _exposed(backend, access)  # the workspace may have changed since
        if weakness and not allows_unconfined:
            raise ToolError(
                f"Commands can't be confined to {root}, so none is run without approval: {weakness}."
            )
        if backend == "none" or weakness:
            return command._replace(
                spec={**command.spec, "limits": self.limits.as_spec()}
            )
        if backend == "bubblewrap":
            return self._in_bubblewrap(command, access)
        return self._in_landlock(command, access)

    def file_access(self, root: Path, search_path: str = "") -> FileAccess:
        """Where a command in this workspace can read and write."""
        hidden = list(self.hidden)
        for store in self.stores:
            hidden += store_files(store)
        return file_access_of(
            root,
            home=self.home,
            search_path=search_path,
            readable=self.readable,
            writable=self.writable,
            hidden=hidden,
            code=self.code,
        )

    @property
    def _has_network(self) -> bool:
        return self.mode == "workspace+network"

    def _choice(self, root: Path) -> tuple[Backend, str]:
        """The backend that works here, or "none" and why; no reason for the mode "off"."""
        if self.mode == "off":
            return "none", ""
        reasons = []
        for backend in self.backends:
            reason = self._unusable(backend, root)
            if not reason:
                access = self.file_access(root)
                if access.problem:
                    return "none", access.problem
                reason = _exposed(backend, access)
            if not reason:
                return backend, ""
            reasons.append(reason)
        remedy = "set sandbox to off if you accept that"
        if sys.platform.startswith("linux"):
            remedy = f"install bubblewrap (apt install bubblewrap), or {remedy}"
        return (
            "none",
            f"{'; '.join(reasons) or 'no kind of sandbox was allowed'}; {remedy}",
        )

    def _unusable(self, backend: Backend, root: Path) -> str:
        if not sys.platform.startswith("linux"):
            return f"{backend} needs Linux"
        if platform.machine() not in MACHINES:
            return f"{backend} has no filter of system calls for {platform.machine()}"
        if backend == "bubblewrap":
            return _bubblewrap_problem(self._bubblewrap_program(root))
        return "" if landlock_version() else "the kernel has no Landlock"

    def _bubblewrap_program(self, root: Path) -> str:
        """The first program on ``PATH`` that commands can't make or change; empty for none."""
        places = {Path(os.path.realpath(place)) for place in (root, *self.writable)}
        places.discard(Path("/"))  # a workspace that is refused later
        for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
            program = (
                shutil.which("bwrap", path=directory)
                if os.path.isabs(directory)
                else None
            )
            if program is None:
                continue
            ends = (Path(os.path.realpath(directory)), Path(os.path.realpath(program)))
            if not any(is_below(end, places) for end in ends):
                return program
        return ""

    def _in_bubblewrap(self, command: ProcessSpec, access: FileAccess) -> ProcessSpec:
        limits = self.limits.as_spec()
        program = self._bubblewrap_program(access.root)
        wrapped = bubblewrap_command(
            program,
            access,
            command.arguments,
            access.root,
            has_network=self._has_network,
            temp_bytes=limits["temp_bytes"],
            is_root=os.geteuid() == 0,
            binds_descriptors=_binds_descriptors(program),
        )
        sockets: Sockets = "internet" if self._has_network else "own"
        spec = {
            "limits": limits,
            "is_wrapped": True,
            "open": wrapped.open,
            "held": wrapped.held,
            "seccomp": filter_for(platform.machine(), sockets, has_namespaces=True).hex(),
        }
        env = {**command.env, "HOME": str(self.home), "TMPDIR": "/tmp"}
        return command._replace(
            arguments=wrapped.arguments, env=env, spec={**command.spec, **spec}
        )

    def _in_landlock(self, command: ProcessSpec, access: FileAccess) -> ProcessSpec:
        version = landlock_version()
        temp = (
            Path(os.path.realpath(tempfile.gettempdir()))
            / f"ullage-{secrets.token_hex(8)}"
        )
        system_calls = filter_for(
            platform.machine(),
            "internet" if self._has_network else "none",
            has_namespaces=False,
            guards_truncation=version < SEES_TRUNCATION,
        )
        spec: dict[str, Any] = {
            "limits": self.limits.as_spec(),
            "temp": str(temp),
            "landlock": landlock_rules(
                access, temp, version, has_network=self._has_network
            ),
            "seccomp": system_calls.hex(),
            "capabilities": [
                1
            ],  # CAP_DAC_OVERRIDE: files of other users in the workspace
        }
        toolchains = {}
        for name, directory in TOOLCHAIN_VARIABLES.items():
            place = access.home / directory
            if place.is_dir():
                toolchains[name] = str(place)
        env = {
            **toolchains,
            **command.env,
            "HOME": str(temp / "home"),
            "TMPDIR": str(temp),
        }
        return command._replace(env=env, spec={**command.spec, **spec})


def _exposed(backend: Backend, access: FileAccess) -> str:
    """What this backend can't protect in the workspace; empty for nothing."""
    if access.problem or backend != "landlock":
        return access.problem
    for place in access.hidden:
        if is_below(place, access.places):
            return f"Landlock can't hide {place} inside the workspace"
    for place in (*access.code, *access.code_missing):
        return f"Landlock can't keep {place} inside the workspace from being changed"
    return ""


@cache
def _binds_descriptors(program: str) -> bool:
    """Whether this bubblewrap can mount an open descriptor."""
    help_text = subprocess.run(
        [program, "--help"], capture_output=True, text=True, timeout=_PROBE_S, check=False
    )
    return "--ro-bind-fd" in help_text.stdout + help_text.stderr


def _bubblewrap_problem(program: str) -> str:
    """Why bubblewrap can't be used here, found by using it. What a busy machine was too slow for is tried again."""
    if not program:
        return "bubblewrap is not installed"
    try:
        refusal = _refusal_of_bubblewrap(program)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"bubblewrap can't be run ({problem})"
    return f"bubblewrap fails here ({refusal})" if refusal else ""


@cache
def _refusal_of_bubblewrap(program: str) -> str:
    """What it prints when it fails, empty when it works. Raises ``OSError``, ``TimeoutExpired``."""
    mounts = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    tried = subprocess.run(
        [program, *mounts, "--unshare-pid", "--unshare-net", "true"],
        capture_output=True,
        text=True,
        timeout=_PROBE_S,
        check=False,
    )
    if tried.returncode == 0:
        return ""
    return tried.stderr.strip()[:200] or f"exit code {tried.returncode}"


# -- Landlock: which rights a command gets below which place --
#
# It only grants. Granting everything around a place hides it inside readable places; inside writable places it can't be
# hidden at all. https://docs.kernel.org/userspace-api/landlock.html


def landlock_version() -> int:
    """The version of the kernel's interface; 0 without one."""
    try:
        call = ctypes.CDLL(None).syscall
    except (AttributeError, OSError, TypeError):  # no C library of this kind
        return 0
    return max(0, int(call(_CREATE_RULESET, None, 0, _VERSION)))


def landlock_rules(
    access: FileAccess, temp: Path, version: int, *, has_network: bool
) -> dict[str, Any]:
    """The rules for the launcher. Hidden and protected paths inside a writable place stay open to the command."""
    known = (1 << FILE_RIGHTS[min(version, max(FILE_RIGHTS))]) - 1
    writing = known & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
    grants: list[tuple[str, int]] = [(str(temp), writing)]
    for place in access.places:
        rights = writing if place.is_dir() else writing & OF_FILES
        grants.append((str(place), rights))
    for readable in access.readable:
        grants += [
            (str(place), _reading(place)) for place in _around(readable, access.hidden)
        ]
    devices = known & (READ_FILE | WRITE_FILE | IOCTL_DEV)
    grants += [(f"/dev/{name}", devices) for name in DEVICES]
    grants += [(f"/proc/{name}", _reading(Path("/proc", name))) for name in PROC]
    return {
        "files": known,
        "network": 0b11 if version >= 4 and not has_network else 0,
        "scoped": 0b11 if version >= GUARDS_SIGNALS else 0,
        "grants": grants,
    }


def _reading(place: Path) -> int:
    return READING if place.is_dir() else READING & OF_FILES


def _around(place: Path, holes: tuple[Path, ...]) -> Iterator[Path]:
    """The largest places inside this one that hold none of the holes."""
    inside = tuple(hole for hole in holes if hole.is_relative_to(place))
    if not inside:
        yield place
        return
    if place in inside:
        return
    for name in os.listdir(place):
        yield from _around(place / name, inside)
