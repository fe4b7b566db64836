"""The sandbox that commands run in: which one works here, what a command can get at, and what the model is told.

    sandbox = Sandbox("workspace", hidden=(store,))
    command = sandbox.confined(command)

Bubblewrap where it works, Landlock with a seccomp filter otherwise. Where neither does commands run unconfined, and
``weakness`` says so; asking a person first is up to who builds the tool.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ullage.tools.bubblewrap import bubblewrap_command
from ullage.tools.file_access import TOOLCHAIN_VARIABLES, FileAccess, file_access_of, store_files
from ullage.tools.landlock import SEES_TRUNCATION, landlock_rules, landlock_version
from ullage.tools.paths import moved
from ullage.tools.processes import ProcessSpec
from ullage.tools.protected_paths import UllageCode, ullage_code
from ullage.tools.seccomp import MACHINES, filter_for
from ullage.tools.tool import ToolError

SandboxMode = Literal["off", "workspace", "workspace+network"]
Backend = Literal["bubblewrap", "landlock", "none"]

BACKENDS: Final[tuple[Backend, ...]] = ("bubblewrap", "landlock")
"""In the order in which they are tried."""

_PROBE_S: Final = 10.0


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
        memory = self.memory_bytes or max(1 << 30, _machine_memory() * 3 // 4)
        return {**self._asdict(), "memory_bytes": memory}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """How commands are confined. ``hidden`` are files and directories, ``stores`` databases, that none may read.

    ``readable`` and ``writable`` are directories beside the workspace. ``home`` is the user's home directory,
    ``code`` what Ullage itself runs. ``is_narrow``: the workspace is named without links, inside the operator's; one
    that has become a link is refused.
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
        return "none" if self.mode == "off" else self._choice(root)[0]

    def weakness(self, root: Path) -> str:
        """Why commands are not confined although they should be; empty where they are, and for the mode "off"."""
        return "" if self.mode == "off" else self._choice(root)[1]

    def described(self, root: Path) -> str:
        """What a model is told of the sandbox; empty without one."""
        if self.backend(root) == "none":
            return ""
        network = "there is no network" if self.mode == "workspace" else "the network is open"
        own = " or Ullage's own files" if self.reach(Path(os.path.realpath(root))).own else ""
        git = f", but not its .git{own}," if self.backend(root) == "bubblewrap" else ""
        return (
            f"Commands run in a sandbox: they can write only the working directory{git} and $TMPDIR, other files of "
            f"the user are hidden, and {network}."
        )

    def confined(self, command: ProcessSpec) -> ProcessSpec:
        """The command as the launcher runs it in this sandbox; its directory is the workspace.

        Raises ``ToolError`` for a narrower workspace that has become a link.
        """
        root = Path(os.path.realpath(command.cwd))
        if self.is_narrow and root != command.cwd:
            raise ToolError(moved(command.cwd))
        match self.backend(root):
            case "bubblewrap":
                return self._in_bubblewrap(command, root)
            case "landlock":
                return self._in_landlock(command, root)
            case _:
                return replace_spec(command, {"limits": self.limits.as_spec()})

    def reach(self, root: Path, search_path: str = "") -> FileAccess:
        """What a command in this workspace can get at."""
        stores = [file for store in self.stores for file in store_files(store)]
        return file_access_of(
            root,
            home=self.home,
            search_path=search_path,
            readable=self.readable,
            writable=self.writable,
            hidden=[*self.hidden, *stores],
            code=self.code,
        )

    def _choice(self, root: Path) -> tuple[Backend, str]:
        reasons = []
        for backend in self.backends:
            reason = self._unusable(backend, root)
            if not reason:
                reach = self.reach(root)
                if reach.problem:
                    return "none", reach.problem
                reason = _unhidden(reach, backend)
            if not reason:
                return backend, ""
            reasons.append(reason)
        remedy = "set sandbox to off if you accept that"
        if sys.platform.startswith("linux"):
            remedy = f"install bubblewrap (apt install bubblewrap), or {remedy}"
        return "none", f"{'; '.join(reasons) or 'no kind of sandbox was allowed'}; {remedy}"

    def _unusable(self, backend: Backend, root: Path) -> str:
        if not sys.platform.startswith("linux"):
            return f"{backend} needs Linux"
        if platform.machine() not in MACHINES:
            return f"{backend} has no filter of system calls for {platform.machine()}"
        if backend == "bubblewrap":
            return _bubblewrap_problem(self._bubblewrap_program(root))
        return "" if landlock_version() else "the kernel has no Landlock"

    def _bubblewrap_program(self, root: Path) -> str:
        """The first on ``PATH`` that no command can have made or changed; empty for none."""
        places = {os.path.realpath(place) for place in (root, *self.writable)} - {"/"}  # that one is refused later
        for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
            program = shutil.which("bwrap", path=directory) if os.path.isabs(directory) else None
            ends = (os.path.realpath(directory), os.path.realpath(program)) if program else ()
            if program and not any(Path(end).is_relative_to(place) for end in ends for place in places):
                return program
        return ""

    def _in_bubblewrap(self, command: ProcessSpec, root: Path) -> ProcessSpec:
        limits = self.limits.as_spec()
        program = self._bubblewrap_program(root)
        has_network = self.mode == "workspace+network"
        mounted = bubblewrap_command(
            program,
            self.reach(root, command.env.get("PATH", "")),
            command.arguments,
            root,
            has_network=has_network,
            temp_bytes=limits["temp_bytes"],
            is_root=os.geteuid() == 0,
            binds_descriptors=_binds_descriptors(program),
        )
        spec = {
            "limits": limits,
            "is_wrapped": True,
            "open": mounted.open,
            "held": mounted.held,
            "seccomp": filter_for(platform.machine(), "internet" if has_network else "own", has_namespaces=True).hex(),
        }
        env = {**command.env, "HOME": str(self.home), "TMPDIR": "/tmp"}
        return replace_spec(command._replace(arguments=mounted.arguments, env=env), spec)

    def _in_landlock(self, command: ProcessSpec, root: Path) -> ProcessSpec:
        version = landlock_version()
        has_network = self.mode == "workspace+network"
        temp = Path(os.path.realpath(tempfile.gettempdir())) / f"ullage-{secrets.token_hex(8)}"
        reach = self.reach(root, command.env.get("PATH", ""))
        filtered = filter_for(
            platform.machine(),
            "internet" if has_network else "none",
            has_namespaces=False,
            guards_truncation=version < SEES_TRUNCATION,
        )
        spec = {
            "limits": self.limits.as_spec(),
            "temp": str(temp),
            "landlock": landlock_rules(reach, temp, version, has_network=has_network),
            "seccomp": filtered.hex(),
            "capabilities": [1],  # CAP_DAC_OVERRIDE: files of other users in the workspace
        }
        toolchains = {
            name: str(reach.home / place)
            for name, place in TOOLCHAIN_VARIABLES.items()
            if (reach.home / place).is_dir()
        }
        env = {**toolchains, **command.env, "HOME": str(temp / "home"), "TMPDIR": str(temp)}
        return replace_spec(command._replace(env=env), spec)


def replace_spec(command: ProcessSpec, spec: Mapping[str, Any]) -> ProcessSpec:
    return command._replace(spec={**command.spec, **spec})


def _unhidden(reach: FileAccess, backend: Backend) -> str:
    """What this kind of sandbox could not hide in this workspace."""
    if backend == "bubblewrap":
        return ""
    places = (reach.root, *reach.writable)
    inside = [each for each in reach.hidden if any(each.is_relative_to(place) for place in places)]
    if inside:
        return f"Landlock can't hide {inside[0]} inside the workspace"
    own = (*reach.own, *reach.own_missing)
    return f"Landlock can't keep {own[0]} inside the workspace from being changed" if own else ""


@cache
def _binds_descriptors(program: str) -> bool:
    """Whether this bubblewrap can mount what is open on a descriptor."""
    told = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=_PROBE_S, check=False)
    return "--ro-bind-fd" in told.stdout + told.stderr


@cache
def _bubblewrap_problem(program: str) -> str:
    """Why bubblewrap can't be used here, found by using it."""
    if not program:
        return "bubblewrap is not installed"
    try:
        command = [program, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-net"]
        tried = subprocess.run([*command, "true"], capture_output=True, text=True, timeout=_PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"bubblewrap can't be run ({problem})"
    return "" if tried.returncode == 0 else f"bubblewrap fails here ({tried.stderr.strip()[:200]})"


def _machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
