"""Tools of MCP servers, through the protocol's official SDK (``ullage[mcp]``).

    async with McpServer("files", command="npx", args=["-y", "@modelcontextprotocol/server-filesystem", "."]) as server:
        tools = server.tools

https://modelcontextprotocol.io/specification, https://github.com/modelcontextprotocol/python-sdk
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Final, Self

from ullage.errors import SettingError
from ullage.loop_thread import LoopInUse
from ullage.tasks import start, stop, to_completion
from ullage_agent.tools.functions import ApprovalRule
from ullage_agent.tools.mcp_connection import (
    McpAddress,
    McpConnection,
    Sdk,
    ServerLost,
    ServerUnavailable,
    load_sdk,
)
from ullage_agent.tools.mcp_content import Offered, as_output, offered
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.tool import (
    DEFAULT_TIMEOUT_S,
    AgentTool,
    Output,
    ToolError,
)

log = logging.getLogger("ullage.agent")

CONNECT_S: Final = 60.0
"""Seconds a server has to start and list its tools; one that a package manager fetches first takes long."""

PATIENCE_S: Final = 10.0
"""Seconds that a session waits for a server before it begins without it."""

RETRY_S: Final = 2.0
LONGEST_RETRY_S: Final = 60.0
"""Seconds until an unusable server is tried again: doubled each time, up to the second value."""


class McpServer:
    """One MCP server, started by a command (stdio) or reached at a URL (streamable HTTP); a context manager.

    Inside it ``tools`` are the server's tools, as ``server__tool``. The next call starts or reaches a server again
    that died, once; a call during which it died is repeated if it is idempotent, otherwise its outcome is unknown.
    Leaving ends the server and its processes, also when cancelled. On entering: ``MissingExtra`` without the SDK,
    ``ServerUnavailable``.

    Args:
        name: Begins the names of its tools.
        command: The program that is started; give this or ``url``.
        args: The program's arguments.
        env: Variables for it, beside a few harmless ones: it does not get this process's whole environment.
        cwd: Where it is started.
        url: The address of a server that runs; give this or ``command``.
        headers: Headers of each request to ``url``, such as a token.
        timeout_s: How long one call may take, in seconds.
        connect_s: How long it may take to start and list its tools, in seconds.
        needs_approval: Whether each call needs a person's approval, or a function that decides by the arguments.
        result_tokens: The most of a result that the model gets at once; ``None``: as the session's setting.
        sandbox: Confines a started server to its ``cwd``.

    Raises:
        SettingError: The address is wrong, or there is none or two.
    """

    def __init__(
        self,
        name: str,
        *,
        command: str = "",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        url: str = "",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        connect_s: float = CONNECT_S,
        needs_approval: ApprovalRule = False,
        result_tokens: int | None = None,
        sandbox: Sandbox | None = None,
    ) -> None:
        if not name or bool(command) == bool(url):
            raise SettingError(
                "An MCP server needs a name, and either a command or a url. Give both."
            )
        self.name = name
        self._address = McpAddress(
            command=command,
            args=tuple(args),
            env=dict(env or {}),
            cwd=None if cwd is None else fspath(cwd),
            url=url,
            headers=dict(headers or {}),
            sandbox=sandbox,
        )
        self._timeout_s = timeout_s
        self._connect_s = connect_s
        self._needs_approval = needs_approval
        self._result_tokens = result_tokens
        self._connection: McpConnection | None = None
        self._sdk: Sdk | None = None
        self._connecting = asyncio.Lock()
        self._in_use = LoopInUse(f"The MCP server {name}")
        self._is_open = False
        self._trying: asyncio.Task[None] | None = None
        self._state_listeners: list[Callable[[], None]] = []
        self.tools: tuple[AgentTool, ...] = ()
        self.problem = ""
        """Why the server can't be used now; empty if it can."""
        self.notes: tuple[str, ...] = ()
        """Which of the server's declarations are left out, and why."""

    def on_state(self, tell: Callable[[], None]) -> None:
        """Call this whenever ``tools``, ``problem`` or ``notes`` have changed. Stays for later blocks too.

        Args:
            tell: Is called without arguments, and must not wait.
        """
        if tell not in self._state_listeners:
            self._state_listeners.append(tell)

    @property
    def is_missing(self) -> bool:
        """Whether its tools are unknown: it can't be used, and has offered none before."""
        return bool(self.problem) and not self.tools

    async def open(self, *, patience_s: float = PATIENCE_S) -> None:
        """Enter the block even if the server can't be used: ``problem`` says why, and it is tried again.

        Requires ``close`` afterwards.

        Args:
            patience_s: The longest wait for a slow server, in seconds; it continues to start.

        Raises:
            MissingExtra: The SDK is not installed.
        """
        self._sdk = load_sdk()
        self._enter_loop()
        if self._is_open:
            return
        self._is_open = True
        tried = asyncio.Event()
        self._trying = start(
            self._try_until_connected(tried), name=f"mcp {self.name} opens"
        )
        try:
            await asyncio.wait_for(tried.wait(), patience_s)
        except TimeoutError:
            self._note(
                f"it has not answered in {patience_s:g} s; Ullage is still waiting for it"
            )
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self, *, at_once: bool = False) -> None:
        """End the server and all its processes; returns after they have ended.

        Args:
            at_once: Whether they are killed without being asked to end.
        """
        self._is_open = False
        trying, self._trying = self._trying, None
        if trying is not None:
            await to_completion(stop(trying))
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                await connection.close(at_once=at_once)
        finally:
            self._in_use.leave()

    async def _try_until_connected(self, tried: asyncio.Event) -> None:
        wait_s = RETRY_S
        while True:
            try:
                await self._connected()
                return
            except ServerUnavailable:
                log.debug("The MCP server %s is tried again in %g s.", self.name, wait_s)
            finally:
                tried.set()
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_RETRY_S)

    async def __aenter__(self) -> Self:
        self._sdk = load_sdk()
        self._enter_loop()
        self._is_open = True
        try:
            await self._connected()
        except BaseException:
            self._is_open = False
            self._in_use.leave()
            raise
        return self

    def _enter_loop(self) -> None:
        """Raises ``CommandRefused`` while another event loop uses the server."""
        if self._in_use.enter():
            self._connecting = asyncio.Lock()
            self._is_open, self._trying, self._connection = False, None, None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.close(
            at_once=kind is not None and issubclass(kind, asyncio.CancelledError)
        )

    async def _connected(self) -> McpConnection:
        """The living connection, or a new one."""
        async with self._connecting:
            if not self._is_open or self._sdk is None:
                raise ServerUnavailable(f"The MCP server {self.name} is closed.")
            if self._connection is not None and not self._connection.is_lost:
                return self._connection
            if self._connection is not None:
                await self._connection.close(at_once=True)
                self._connection = None
            connection = McpConnection(self._address, self._sdk, self._refresh)
            try:
                await connection.open(self._connect_s)
            except ServerUnavailable as error:
                self._note(error.why)
                raise
            self._connection = connection
            self._refresh()
            return connection

    def _refresh(self) -> None:
        if self._connection is None:
            return
        found = offered(self._connection.tools, self.name)
        before = [tool.declaration for tool in self.tools], self.problem, self.notes
        self.tools = tuple(self._tool(each) for each in found.tools)
        self.problem, self.notes = "", found.notes
        if before != ([each.declaration for each in found.tools], "", found.notes):
            self._tell_state()

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            log.info("The MCP server %s can't be used: %s", self.name, problem)
            self._tell_state()

    def _tell_state(self) -> None:
        for tell in self._state_listeners:
            tell()

    def _tool(self, each: Offered) -> AgentTool:
        return AgentTool(
            declaration=each.declaration,
            run=lambda arguments, _: self._call(each, arguments),
            idempotent=each.is_idempotent,
            read_only=each.is_read_only or (False if self._address.command else None),
            needs_approval=self._needs_approval,
            timeout_s=self._timeout_s,
            result_tokens=self._result_tokens,
            outlives_cancel=True,
        )

    async def _call(self, each: Offered, arguments: Mapping[str, Any]) -> Output:
        """One call, and a second one if the first can't have done anything or may be repeated."""
        assert self._sdk is not None
        for is_last in (False, True):
            try:
                connection = await self._connected()
            except ServerUnavailable as error:
                raise ToolError(
                    f"{each.declaration.name} was not called. {error}"
                ) from error
            try:
                return as_output(await connection.call(each.name, arguments))
            except ServerLost as lost:
                if not is_last and (each.is_idempotent or not lost.was_sent):
                    continue
                return await self._unknown(each, lost)
            except self._sdk.error as error:
                raise ToolError(
                    f"{each.declaration.name} was refused by its server: {error}"
                ) from error
        raise AssertionError("the second attempt returns or raises")

    async def _unknown(self, each: Offered, lost: ServerLost) -> Output:
        if not lost.was_sent:
            raise ToolError(
                f"{each.declaration.name} was not called: the server {self.name} is gone ({lost})."
            )
        try:
            await self._connected()
            now = "It is connected again."
        except ServerUnavailable:
            now = "It could not be connected again."
        text = (
            f"The MCP server {self.name} was lost during the call ({lost}). Whether the call took effect is unknown: "
            f"check before you repeat it. {now}"
        )
        return Output(text, is_error=True, outcome="unknown")


async def open_all(servers: Iterable[McpServer]) -> None:
    """``open`` all of them at once. Each requires a ``close``, even if this raises."""
    try:
        async with asyncio.TaskGroup() as group:
            for server in servers:
                group.create_task(server.open())
    except BaseExceptionGroup as problems:
        raise problems.exceptions[0] from problems


def tools_of(servers: Iterable[McpServer], taken: Iterable[str]) -> list[AgentTool]:
    """The tools of these servers without those whose name is ``taken`` or belongs to an earlier server, so that no
    server can replace another tool."""
    names = set(taken)
    found: list[AgentTool] = []
    for server in servers:
        for tool in server.tools:
            if tool.name in names:
                log.warning(
                    "The tool %s of the MCP server %s is left out: its name is taken.",
                    tool.name,
                    server.name,
                )
                continue
            names.add(tool.name)
            found.append(tool)
    return found
