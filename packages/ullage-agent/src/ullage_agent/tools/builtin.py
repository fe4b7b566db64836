"""The tools that come with the package, for working on code. An agent has only those it names."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ullage.errors import SettingError
from ullage.similar import did_you_mean
from ullage.threads import in_thread
from ullage_agent.tools import files
from ullage_agent.tools.functions import ApprovalRule, tool
from ullage_agent.tools.paths import NarrowRoot
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.shell import KEPT_BYTES, LONGEST_S, TIMEOUT_S
from ullage_agent.tools.shell import shell as run_shell
from ullage_agent.tools.tool import AgentTool, Output, ToolContext

MARGIN_S: Final = 10.0
"""Seconds on top of a tool's own time limit, in which it ends what it started."""

OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "read": {"idempotent": True, "read_only": True},
    "write": {"sequential": True, "idempotent": True, "read_only": False},
    "edit": {"sequential": True, "read_only": False},
    "list": {"idempotent": True, "read_only": True},
    "search": {
        "idempotent": True,
        "read_only": True,
        "timeout_s": files.SEARCH_S + MARGIN_S,
    },
    "shell": {"sequential": True, "read_only": False, "timeout_s": LONGEST_S + MARGIN_S},
}
"""Every built-in tool, and how it runs, as arguments of ``tool``."""


def builtin_tools(
    names: Sequence[str] = tuple(OPTIONS),
    *,
    root: Path | NarrowRoot | None = None,
    approve: bool | Sequence[str] | Mapping[str, ApprovalRule] = False,
    env: Mapping[str, str] | None = None,
    kept_bytes: int = KEPT_BYTES,
    sandbox: Sandbox | None = None,
) -> tuple[AgentTool, ...]:
    """The built-in tools of these names, in this order.

    Args:
        names: Some of ``read``, ``write``, ``edit``, ``list``, ``search`` and ``shell``; by default all.
        root: The directory that file tools are confined to; ``None``: the session's root.
        approve: Which tools need approval: all, the named ones, or each by a rule for its arguments.
        env: The environment of commands; ``None``: the harmless part of this process's environment.
        kept_bytes: How much of a command's output is kept, in bytes.
        sandbox: Confines commands, by default to the root and without a network; if it can't, ``shell`` always needs
            approval.

    Raises:
        SettingError: A name is no built-in tool's.
    """
    named = set(names)
    if not isinstance(approve, bool):
        named |= set(approve)
    check_builtin(named)
    workspace = root.path if isinstance(root, NarrowRoot) else root
    shell = _Shell(workspace, env, kept_bytes, sandbox or Sandbox())
    file_tools = _FileTools(root)
    made: list[AgentTool] = []
    for name in names:
        rule = _approval_rule(approve, name)
        if name == "shell":
            made.append(shell.tool(rule))
        else:
            made.append(
                tool(name=name, needs_approval=rule, **OPTIONS[name])(
                    getattr(file_tools, name)
                )
            )
    return tuple(made)


def check_builtin(names: Collection[str]) -> None:
    """Raise ``SettingError`` for a name that is no built-in tool's."""
    unknown = sorted(set(names) - OPTIONS.keys())
    if unknown:
        meant = did_you_mean(unknown[0], OPTIONS)
        raise SettingError(
            f"There is no built-in tool {unknown[0]!r}.{meant} There are {', '.join(OPTIONS)}."
        )


def _approval_rule(
    approve: bool | Sequence[str] | Mapping[str, ApprovalRule], name: str
) -> ApprovalRule:
    if isinstance(approve, bool):
        return approve
    if isinstance(approve, Mapping):
        return approve.get(name, False)
    return name in approve


class _FileTools:
    """The tools that work on files. Their docstrings are what the model reads."""

    def __init__(self, root: Path | NarrowRoot | None) -> None:
        self._root = root

    async def read(
        self,
        path: str,
        *,
        offset: int = 1,
        limit: int = files.LINES,
        session: ToolContext,
    ) -> Output:
        """Read a text file, its lines numbered, or look at an image.

        Args:
            path: The file, from the working directory or absolute.
            offset: Number of the first line.
            limit: The most lines to give.
        """
        return await in_thread(
            files.read, self._root or session.root, path, offset, limit
        )

    def write(self, path: str, content: str, session: ToolContext) -> Output:
        """Write a file. One that is there is replaced; missing directories are made.

        Args:
            path: The file, from the working directory or absolute.
            content: All of its new text.
        """
        return files.write(self._root or session.root, path, content)

    def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        replace_all: bool = False,
        session: ToolContext,
    ) -> Output:
        """Replace text in a file. Without replace_all the old text must stand there exactly once.

        Args:
            path: The file, from the working directory or absolute.
            old: The text as it stands in the file, spaces included, without line numbers.
            new: What is to stand there instead.
            replace_all: Replace every place where it stands.
        """
        return files.edit(self._root or session.root, path, old, new, replace_all)

    async def list(
        self, path: str = ".", *, depth: int = 1, session: ToolContext
    ) -> Output:
        """List a directory: directories end with a slash, files have their size.

        Args:
            path: The directory, from the working directory or absolute.
            depth: How many levels to show.
        """
        return await in_thread(
            files.list_directory, self._root or session.root, path, depth
        )

    async def search(
        self,
        pattern: str,
        *,
        path: str = ".",
        glob: str = "",
        ignore_case: bool = False,
        context: int = 0,
        limit: int = files.MATCHES,
        session: ToolContext,
    ) -> Output:
        r"""Search files for a regular expression, line by line. Binary files and caches are left out.

        Args:
            pattern: A regular expression of Python, such as ``def \w+_name``.
            path: The file or directory to search.
            glob: Only files like this, such as ``*.py`` or ``src/**/*.ts``.
            ignore_case: Take small and capital letters for the same.
            context: How many lines to show around each match.
            limit: The most matches to give.
        """
        query = files.Query(
            pattern=pattern,
            glob=glob,
            ignore_case=ignore_case,
            context=context,
            limit=limit,
        )
        return await files.search(self._root or session.root, path, query)


class _Shell:
    """The tool that runs commands."""

    def __init__(
        self,
        root: Path | None,
        env: Mapping[str, str] | None,
        kept_bytes: int,
        sandbox: Sandbox,
    ) -> None:
        self._root = root
        self._env = env
        self._kept_bytes = kept_bytes
        self._sandbox = sandbox
        self._weakness = ""

    def tool(self, approval: ApprovalRule) -> AgentTool:
        """The tool, whose description names the sandbox. It always needs approval where the sandbox does not work."""
        workspace = self._root or Path.cwd()
        self._weakness = self._sandbox.weakness(workspace)
        made = tool(needs_approval=bool(self._weakness) or approval, **OPTIONS["shell"])(
            self.shell
        )
        declaration = made.declaration
        described = self._sandbox.described(workspace)
        if described:
            declaration = replace(
                declaration, description=f"{declaration.description}\n\n{described}"
            )
        return dataclasses.replace(
            made, declaration=declaration, unconfined=self._weakness
        )

    async def shell(
        self, command: str, *, timeout_s: float = TIMEOUT_S, session: ToolContext
    ) -> Output:
        """Run a command in a shell, in the working directory, and give what it prints and its exit code.

        Each command begins anew: directory and variables of an earlier one are gone. There is no input and no terminal.
        Processes left in the background end with the command.

        Args:
            command: The command line.
            timeout_s: Seconds until it is stopped.
        """
        place = self._root or session.root
        return await run_shell(
            place,
            command,
            timeout_s,
            sandbox=self._sandbox,
            allows_unconfined=bool(self._weakness),
            env=self._env,
            kept_bytes=self._kept_bytes,
        )
