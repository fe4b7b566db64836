"""Tools of MCP servers, through the protocol's official SDK (``ullage[mcp]``).

    async with McpServer("files", command="npx", args=["-y", "@modelcontextprotocol/server-filesystem", "."]) as server:
        tools = server.tools

https://modelcontextprotocol.io/specification, https://github.com/modelcontextprotocol/python-sdk
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Final, Self

from ullage.errors import SettingError
from ullage.tools.functions import Approval
from ullage.tools.mcp_connection import Address, Connection, Sdk, ServerLost, ServerUnavailable, load_sdk
from ullage.tools.mcp_content import Offered, as_output, offered
from ullage.tools.tool import DEFAULT_TIMEOUT_S, AgentTool, Output, Run, Surroundings, ToolError

log = logging.getLogger(__name__)

CONNECT_S: Final = 60.0
"""Seconds a server has to start and list its tools; one that a package manager fetches first takes long."""

ToolsChanged = Callable[[tuple[AgentTool, ...]], None]


class McpServer:
    """One MCP server, started by a command (stdio) or reached at a URL (streamable HTTP); a context manager.

    Inside it ``tools`` are the server's tools, as ``server__tool``. ``on_change`` is told when they have changed. A
    server that died is started or reached again by the next call, once; a call it died in says that its outcome is
    unknown, or is made again where it is idempotent. ``env`` is given on top of a few harmless variables, not of this
    process's whole environment. Raises ``SettingError`` for a wrong address, on entering ``MissingExtra`` without the
    SDK and ``ServerUnavailable``. Leaving ends the server and its processes before it goes on, when cancelled too.
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
        needs_approval: Approval = False,
        result_tokens: int | None = None,
        on_change: ToolsChanged | None = None,
    ) -> None:
        if not name or bool(command) == bool(url):
            raise SettingError("an MCP server needs a name, and either a command or a url")
        self.name = name
        self._address = Address(
            command=command,
            args=tuple(args),
            env=dict(env or {}),
            cwd=None if cwd is None else fspath(cwd),
            url=url,
            headers=dict(headers or {}),
        )
        self._timeout_s = timeout_s
        self._connect_s = connect_s
        self._needs_approval = needs_approval
        self._result_tokens = result_tokens
        self._on_change = on_change
        self._connection: Connection | None = None
        self._sdk: Sdk | None = None
        self._connecting = asyncio.Lock()
        self._is_open = False
        self.tools: tuple[AgentTool, ...] = ()

    def on_change(self, tell: ToolsChanged) -> None:
        """Tell this one too when the tools have changed."""
        before = self._on_change

        def tell_both(tools: tuple[AgentTool, ...]) -> None:
            if before is not None:
                before(tools)
            tell(tools)

        self._on_change = tell_both

    async def __aenter__(self) -> Self:
        self._sdk = load_sdk()
        self._is_open = True
        try:
            await self._connected()
        except BaseException:
            self._is_open = False
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._is_open = False
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close(at_once=kind is not None and issubclass(kind, asyncio.CancelledError))

    async def _connected(self) -> Connection:
        """The living connection, or a new one."""
        async with self._connecting:
            if not self._is_open or self._sdk is None:
                raise ServerUnavailable(f"The MCP server {self.name} is closed.")
            if self._connection is not None and not self._connection.is_lost:
                return self._connection
            if self._connection is not None:
                await self._connection.close(at_once=True)
                self._connection = None
            connection = Connection(self._address, self._sdk, self._refresh)
            await connection.open(self._connect_s)
            self._connection = connection
            self._refresh()
            return connection

    def _refresh(self) -> None:
        if self._connection is None:
            return
        found = offered(self._connection.tools, self.name)
        before, self.tools = self.tools, tuple(self._made(each) for each in found)
        has_changed = [tool.declaration for tool in before] != [tool.declaration for tool in self.tools]
        if before and has_changed and self._on_change is not None:
            try:
                self._on_change(self.tools)
            except Exception:
                log.exception("The listener for changed tools of %s failed.", self.name)

    def _made(self, each: Offered) -> AgentTool:
        return AgentTool(
            declaration=each.declaration,
            run=self._runner(each),
            idempotent=each.is_idempotent,
            needs_approval=self._needs_approval,
            timeout_s=self._timeout_s,
            result_tokens=self._result_tokens,
            outlives_cancel=True,
        )

    def _runner(self, each: Offered) -> Run:
        async def run(arguments: Mapping[str, Any], surroundings: Surroundings) -> Output:
            return await self._call(each, arguments)

        return run

    async def _call(self, each: Offered, arguments: Mapping[str, Any]) -> Output:
        """One call, and a second one where the first can't have done anything or may be repeated."""
        assert self._sdk is not None
        for is_last in (False, True):
            try:
                connection = await self._connected()
            except ServerUnavailable as error:
                raise ToolError(f"{each.declaration.name} was not called. {error}") from error
            try:
                return as_output(await connection.call(each.name, arguments))
            except ServerLost as lost:
                if not is_last and (each.is_idempotent or not lost.was_sent):
                    continue
                return await self._unknown(each, lost)
            except self._sdk.error as error:
                raise ToolError(f"{each.declaration.name} was refused by its server: {error}") from error
        raise AssertionError("the second attempt returns or raises")

    async def _unknown(self, each: Offered, lost: ServerLost) -> Output:
        if not lost.was_sent:
            raise ToolError(f"{each.declaration.name} was not called: the server {self.name} is gone ({lost}).")
        try:
            await self._connected()
            now = "It has been connected to again."
        except ServerUnavailable:
            now = "It could not be connected to again."
        said = (
            f"The MCP server {self.name} was lost during the call ({lost}). Whether the call took effect is unknown: "
            f"look before you repeat it. {now}"
        )
        return Output(said, is_error=True, outcome="unknown")
