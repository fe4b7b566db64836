"""The tools that come with the package, for working on code. None is there unless it is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ullage.errors import SettingError
from ullage.tools import files
from ullage.tools.functions import ApprovalRule, tool
from ullage.tools.paths import NarrowRoot
from ullage.tools.sandbox import Sandbox
from ullage.tools.search import MATCHES, Query
from ullage.tools.search import TIMEOUT_S as SEARCH_S
from ullage.tools.search import search as search_files
from ullage.tools.shell import KEPT_BYTES, LONGEST_S, TIMEOUT_S
from ullage.tools.shell import shell as run_shell
from ullage.tools.threads import in_thread
from ullage.tools.tool import AgentTool, Output, ToolContext, ToolError

MARGIN_S: Final = 10.0  # seconds a tool with a time limit of its own gets on top, to end what it started


def builtin(
    names: Sequence[str] = ("read", "write", "edit", "list", "search", "shell"),
    *,
    root: Path | NarrowRoot | None = None,
    approve: bool | Sequence[str] | Mapping[str, ApprovalRule] = False,
    env: Mapping[str, str] | None = None,
    kept_bytes: int = KEPT_BYTES,
    sandbox: Sandbox | None = None,
) -> tuple[AgentTool, ...]:
    """The built-in tools of these names, in this order.

    ``root`` confines the file tools; ``None`` is the session's own. ``approve`` says which ask a person first: all,
    those named, or a condition by name. ``env`` is the environment of commands, ``None`` the harmless part of this
    process's own; ``kept_bytes`` is how much of a command's output is kept. ``sandbox`` confines commands, by default
    to the root and without a network; where it can't, ``shell`` always asks. Raises ``SettingError`` for an unknown
    name.
    """
    makers: dict[str, Callable[[], AgentTool]] = {
        "read": lambda: _read(root, asks("read")),
        "write": lambda: _write(root, asks("write")),
        "edit": lambda: _edit(root, asks("edit")),
        "list": lambda: _list(root, asks("list")),
        "search": lambda: _search(root, asks("search")),
        "shell": lambda: _shell(
            root.path if isinstance(root, NarrowRoot) else root, asks("shell"), env, kept_bytes, sandbox or Sandbox()
        ),
    }
    named = set(names) | (set(approve) if not isinstance(approve, bool) else set())
    if unknown := sorted(named - makers.keys()):
        raise SettingError(f"no built-in tool {', '.join(unknown)}: there are {', '.join(makers)}")

    def asks(name: str) -> ApprovalRule:
        if isinstance(approve, bool):
            return approve
        return approve.get(name, False) if isinstance(approve, Mapping) else name in approve

    return tuple(makers[name]() for name in names)


def _read(root: Path | NarrowRoot | None, approval: ApprovalRule) -> AgentTool:
    @tool(name="read", idempotent=True, needs_approval=approval)
    async def read(path: str, *, offset: int = 1, limit: int = files.LINES, session: ToolContext) -> Output:
        """Read a text file, its lines numbered, or look at an image.

        Args:
            path: The file, from the working directory or absolute.
            offset: Number of the first line.
            limit: The most lines to give.
        """
        return await in_thread(files.read, root or session.root, path, offset, limit)

    return read


def _write(root: Path | NarrowRoot | None, approval: ApprovalRule) -> AgentTool:
    @tool(name="write", sequential=True, idempotent=True, needs_approval=approval)
    def write(path: str, content: str, session: ToolContext) -> Output:
        """Write a file. One that is there is replaced; missing directories are made.

        Args:
            path: The file, from the working directory or absolute.
            content: All of its new text.
        """
        return files.write(root or session.root, path, content)

    return write


def _edit(root: Path | NarrowRoot | None, approval: ApprovalRule) -> AgentTool:
    @tool(name="edit", sequential=True, needs_approval=approval)
    def edit(path: str, old: str, new: str, *, replace_all: bool = False, session: ToolContext) -> Output:
        """Replace text in a file. Without replace_all the old text must stand there exactly once.

        Args:
            path: The file, from the working directory or absolute.
            old: The text as it stands in the file, spaces included, without line numbers.
            new: What is to stand there instead.
            replace_all: Replace every place where it stands.
        """
        return files.edit(root or session.root, path, old, new, replace_all)

    return edit


def _list(root: Path | NarrowRoot | None, approval: ApprovalRule) -> AgentTool:
    @tool(name="list", idempotent=True, needs_approval=approval)
    async def list_(path: str = ".", *, depth: int = 1, session: ToolContext) -> Output:
        """List a directory: directories end with a slash, files have their size.

        Args:
            path: The directory, from the working directory or absolute.
            depth: How many levels to show.
        """
        return await in_thread(files.list_directory, root or session.root, path, depth)

    return list_


def _search(root: Path | NarrowRoot | None, approval: ApprovalRule) -> AgentTool:
    @tool(name="search", idempotent=True, needs_approval=approval, timeout_s=SEARCH_S + MARGIN_S)
    async def search(
        pattern: str,
        *,
        path: str = ".",
        glob: str = "",
        ignore_case: bool = False,
        context: int = 0,
        limit: int = MATCHES,
        session: ToolContext,
    ) -> Output:
        r"""Search files for a regular expression, line by line. Binary files and caches are left out.

        Args:
            pattern: A regular expression in RE2's syntax, such as ``def \w+_name``; no look-around or backreferences.
            path: The file or directory to search.
            glob: Only files like this, such as ``*.py`` or ``src/**/*.ts``.
            ignore_case: Take small and capital letters for the same.
            context: How many lines to show around each match.
            limit: The most matches to give.
        """
        query = Query(pattern=pattern, glob=glob, ignore_case=ignore_case, context=context, limit=limit)
        return await search_files(root or session.root, path, query)

    return search


def _shell(
    root: Path | None, approval: ApprovalRule, env: Mapping[str, str] | None, kept_bytes: int, sandbox: Sandbox
) -> AgentTool:
    async def shell(command: str, *, timeout_s: float = TIMEOUT_S, session: ToolContext) -> Output:
        """Run a command in a shell, in the working directory, and give what it prints and its exit code.

        Each command begins anew: directory and variables of an earlier one are gone. There is no input and no terminal.
        Processes left in the background end with the command.

        Args:
            command: The command line.
            timeout_s: Seconds until it is stopped.
        """
        place = root or session.root
        if not weakness and (found := sandbox.weakness(place)):
            raise ToolError(f"Commands can't be confined to {place}, so none is run without approval: {found}.")
        return await run_shell(place, command, timeout_s, sandbox=sandbox, env=env, kept_bytes=kept_bytes)

    workspace = root or Path.cwd()
    weakness = sandbox.weakness(workspace)
    made = tool(
        name="shell", sequential=True, needs_approval=bool(weakness) or approval, timeout_s=LONGEST_S + MARGIN_S
    )(shell)
    declaration = made.declaration
    told = sandbox.described(workspace)
    if told:
        declaration = replace(declaration, description=f"{declaration.description}\n\n{told}")
    return dataclasses.replace(made, declaration=declaration, unconfined=weakness)
