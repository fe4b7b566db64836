"""The sandbox for commands: whether it works here, what a command can access, and what the model is told.

    sandbox = Sandbox("workspace", hidden=(store,))
    command = sandbox.confined(command)

It is bubblewrap's. Where that does not work commands run unconfined, and ``weakness`` says why; the tool then needs
approval (``builtin.py``).
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ullage_agent.tools.bubblewrap import bubblewrap_command
from ullage_agent.tools.file_access import FileAccess, file_access_of, store_files
from ullage_agent.tools.paths import moved
from ullage_agent.tools.processes import ProcessSpec
from ullage_agent.tools.protected_paths import UllageCode, program_outside, ullage_code
from ullage_agent.tools.system_calls import MACHINES, filter_for
from ullage_agent.tools.tool import ToolError

SandboxMode = Literal["off", "workspace", "workspace+network"]

_PROBE_S: Final = 10.0


class CommandLimits(NamedTuple):
    """What one command may use. Chosen: enough for builds and test runs, far from what stalls a machine.

    ``memory_bytes`` is for each of its processes; 0 is three quarters of the machine's.
    ``temp_bytes`` is for all its temporary directories together, which are in memory.
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
    code: UllageCode = field(default_factory=ullage_code)
    is_narrow: bool = False

    def confines(self, root: Path) -> bool:
        """Whether commands in this workspace are confined. Runs bubblewrap the first time.

        Args:
            root: The workspace.
        """
        return self.mode != "off" and not self.weakness(root)

    def weakness(self, root: Path) -> str:
        """Why commands can't be confined although they should be; empty if they are, and for the mode "off".

        Args:
            root: The workspace.
        """
        if self.mode == "off":
            return ""
        if problem := _bubblewrap_problem(self._bubblewrap_program(root)):
            remedy = "set sandbox to off if you accept that"
            if sys.platform.startswith("linux"):
                remedy = f"install bubblewrap (apt install bubblewrap), or {remedy}"
            return f"{problem}; {remedy}"
        return self.file_access(root).problem

    def described(self, root: Path) -> str:
        """What a model is told of the sandbox; empty without one.

        Args:
            root: The workspace.
        """
        if not self.confines(root):
            return ""
        network = "the network is open" if self._has_network else "there is no network"
        has_code = bool(self.file_access(root).code)
        own = " or Ullage's own files" if has_code else ""
        return (
            f"Commands run in a sandbox: they can write only the working directory, but not its .git{own}, and "
            f"$TMPDIR, other files of the user are hidden, and {network}."
        )

    def confined(
        self, command: ProcessSpec, *, allows_unconfined: bool = False
    ) -> ProcessSpec:
        """The command as the launcher runs it in this sandbox; its directory is the workspace.

        What is confined and what is mounted is decided on the workspace as it is now, once.

        Args:
            command: The program, its arguments, directory and environment.
            allows_unconfined: Whether it may run where the sandbox can't confine it.

        Raises:
            ToolError: A narrower workspace has become a link, or the sandbox can't confine.
        """
        root = Path(os.path.realpath(command.cwd))
        if self.is_narrow and root != command.cwd:
            raise ToolError(moved(command.cwd))
        limits = self.limits.as_spec()
        weakness = self.weakness(root)
        if not weakness and self.mode != "off":
            access = self.file_access(root, command.env.get("PATH", ""))
            if not access.problem:  # the workspace may have changed since
                return self._wrapped(command, access, limits)
            weakness = access.problem
        if weakness and not allows_unconfined:
            raise ToolError(
                f"Commands can't be confined to {root}, so none is run without approval: {weakness}."
            )
        return command._replace(spec={**command.spec, "limits": limits})

    def file_access(self, root: Path, search_path: str = "") -> FileAccess:
        """Where a command in this workspace can read and write.

        Args:
            root: The workspace.
            search_path: The command's ``PATH``, whose programs it can read.
        """
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

    def _bubblewrap_program(self, root: Path) -> str:
        return program_outside("bwrap", (root, *self.writable))

    def _wrapped(
        self, command: ProcessSpec, access: FileAccess, limits: dict[str, int]
    ) -> ProcessSpec:
        wrapped = bubblewrap_command(
            self._bubblewrap_program(access.root),
            access,
            command.arguments,
            access.root,
            has_network=self._has_network,
            temp_bytes=limits["temp_bytes"],
            is_root=os.geteuid() == 0,
        )
        system_calls = filter_for(platform.machine(), shares_network=self._has_network)
        spec = {
            **command.spec,
            "limits": limits,
            "is_wrapped": True,
            "open": wrapped.open,
            "held": wrapped.held,
            "seccomp": system_calls.hex(),
        }
        env = {**command.env, "HOME": str(self.home), "TMPDIR": "/tmp"}
        return command._replace(arguments=wrapped.arguments, env=env, spec=spec)


def _bubblewrap_problem(program: str) -> str:
    """Why bubblewrap can't be used here, found by using it. What a busy machine was too slow for is tried again."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap needs Linux"
    if platform.machine() not in MACHINES:
        return f"there is no filter of system calls for {platform.machine()}"
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
    mounts = ["--ro-bind-fd", "0", "/", "--proc", "/proc", "--dev", "/dev"]
    place = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        tried = subprocess.run(
            [program, *mounts, "--unshare-pid", "--unshare-net", "true"],
            stdin=place,
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
    finally:
        os.close(place)
    if tried.returncode == 0:
        return ""
    return tried.stderr.strip()[:200] or f"exit code {tried.returncode}"
