"""A connection to an MCP server: from its start, or the first request, until it is closed or lost.

One task enters and leaves the SDK's task groups. It is never cancelled by ``Task.cancel``, as the SDK's shutdown is
safe only against its own cancel scopes (``mcp/client/stdio.py``, ``shutdown``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ullage.envelope import MCP_MESSAGE_BYTES, MCP_TOOLS
from ullage.errors import MissingExtra, UllageError
from ullage.installation import extra_command
from ullage.tasks import start, stop, to_completion
from ullage.threads import in_thread
from ullage_agent.tools.mcp_transport import (
    Program,
    ServerBroken,
    http_client,
    stdio_transport,
)
from ullage_agent.tools.processes import (
    HAS_LAUNCHER,
    MARK,
    TERM_S,
    ProcessSpec,
    end_marked,
    launched,
)
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from mcp import Client
    from mcp import types as theirs

log = logging.getLogger("ullage.agent")
T = TypeVar("T")

CLOSE_S: Final = 1.0
"""Seconds a server has to end by itself once its input is closed; then TERM, and KILL a second later."""

_MOST_PAGES: Final = 1_000  # of a list of tools, which may never end
_LAST_WORDS: Final = 500  # bytes of a server's standard error that are quoted
_SHORTEST_KEY: Final = 8  # characters of a value that may be a key
_MOST_CAUSES: Final = 5  # errors of one failure that are quoted
_LONGEST_CAUSE: Final = 500  # characters of each
_RELIST_S: Final = (
    0.1  # seconds between a change and listing again: one list for many changes
)
_RESUBSCRIBE_S: Final = 1.0


class ServerLost(UllageError):
    """The connection is lost. ``was_sent`` is False if the request can't have reached the server."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class ServerUnavailable(UllageError):
    """The server can't be started or reached, or does not speak the protocol. ``why`` is the reason alone."""

    def __init__(self, message: str, *, why: str = "") -> None:
        super().__init__(message)
        self.why = why or message


@dataclass(frozen=True, slots=True, kw_only=True)
class McpAddress:
    """Where a server is: a command to start, or a URL. ``headers`` and ``env`` may hold keys."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sandbox: Sandbox | None = None

    def __str__(self) -> str:
        """The program or the URL, without arguments and queries: those may hold keys."""
        return self.url.partition("?")[0] or self.command

    def without_keys(self, text: str) -> str:
        """The text without the longer values of ``env``, ``headers`` and ``args``."""
        for value in sorted(
            (*self.env.values(), *self.headers.values(), *self.args),
            key=len,
            reverse=True,
        ):
            if len(value) >= _SHORTEST_KEY:
                text = text.replace(value, "[…]")
        return text


class Sdk(NamedTuple):
    """The parts of the SDK that are used, loaded on demand."""

    client: Any
    stdio: Any
    http: Any
    types: Any
    error: Any
    listening: Any
    message: Any


def load_sdk() -> Sdk:
    """The official SDK. Raises ``MissingExtra`` if it is not installed."""
    try:
        from mcp import Client, MCPError, types
        from mcp.client import stdio, streamable_http, subscriptions
        from mcp.shared.message import SessionMessage
    except ImportError as problem:
        raise MissingExtra(
            f"MCP servers need the official SDK. Install it: {extra_command('mcp')}"
        ) from problem
    return Sdk(
        Client, stdio, streamable_http, types, MCPError, subscriptions, SessionMessage
    )


class McpConnection:
    """An open connection. ``changed`` is called after the server's tools have changed."""

    def __init__(
        self, address: McpAddress, sdk: Sdk, changed: Callable[[], None]
    ) -> None:
        import anyio

        self._address = address
        self._sdk = sdk
        self._changed = changed
        self._scope = anyio.CancelScope()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._relist = asyncio.Event()
        self._lost = asyncio.Event()
        self._client: Client | None = None
        self._mark = secrets.token_hex(12)
        self._last_words: deque[bytes] = deque(maxlen=64)
        self._cause: BaseException | None = None
        self._task: asyncio.Task[None] | None = None
        self.tools: tuple[theirs.Tool, ...] = ()

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    async def open(self, timeout_s: float) -> None:
        """Start or reach the server and list its tools. Raises ``ServerUnavailable`` after ending all it started."""
        self._task = start(
            self._own(), name=f"mcp {self._address}"
        )  # only its own scope may cancel it
        try:
            await asyncio.wait(
                {self._task, self._ready},
                timeout=timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        except asyncio.CancelledError:
            await self.close(at_once=True)
            raise
        if self._ready.done() and not self.is_lost:
            return
        in_time = self._task.done() or self.is_lost
        await self.close(at_once=True)
        why = self._why() if in_time else f"no answer in {timeout_s:g} s{self._words()}"
        raise ServerUnavailable(
            f"The MCP server at {self._address} can't be used: {why}", why=why
        ) from self._cause

    async def close(self, *, at_once: bool = False) -> None:
        """End it and all its processes; returns after they have ended, also if the caller is cancelled meanwhile."""
        if self._task is not None:
            await to_completion(self._close(self._task, 0 if at_once else CLOSE_S))

    async def call(
        self, name: str, arguments: Mapping[str, Any]
    ) -> theirs.CallToolResult:
        """One call. Cancelling tells the server. Raises ``ServerLost``, and the SDK's ``MCPError`` for a refusal."""
        if self._client is None or self.is_lost:
            raise ServerLost(self._why(), was_sent=False)
        # the first to end decides, and an error of the call is data here
        answer = start(self._client.call_tool(name, dict(arguments)))
        lost = start(self._lost.wait())
        try:
            await asyncio.wait({answer, lost}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not self._is_loss(answer):
                return answer.result()
            if self._never_reached(answer):
                self._lose()  # the next call needs a new session
            await self._wait_for_cause()
            raise ServerLost(self._why(), was_sent=not self._never_reached(answer))
        finally:
            await stop(answer, lost)

    async def _own(self) -> None:
        try:
            with self._scope:
                async with AsyncExitStack() as stack:
                    transport = _watched(await self._transport(stack), self._lose)
                    client = self._sdk.client(
                        transport, message_handler=self._receive, cache=None
                    )
                    await stack.enter_async_context(client)
                    self.tools = await self._listed(client)
                    self._client = client
                    self._ready.set_result(None)
                    await self._attend(client)
        except Exception as error:
            self._cause = error
            log.debug("The MCP server at %s ended.", self._address, exc_info=error)
        finally:
            self._lost.set()
            if not self._ready.done():
                self._ready.cancel()

    async def _transport(self, stack: AsyncExitStack) -> AbstractAsyncContextManager[Any]:
        at = self._address
        if at.url:
            client = await stack.enter_async_context(http_client(at.headers))
            transport: AbstractAsyncContextManager[Any] = (
                self._sdk.http.streamable_http_client(
                    at.url, http_client=client, max_sse_event_size=MCP_MESSAGE_BYTES
                )
            )
            return transport
        arguments, env = await in_thread(_command_of, at)
        program = Program(
            command=arguments[0],
            args=arguments[1:],
            env={**env, MARK: self._mark},
            cwd=at.cwd,
            take_error=self._last_words.append,
            give_up=self._given_up,
        )
        return stdio_transport(program, self._sdk)

    async def _attend(self, client: Client) -> None:
        """Follow the server's list of tools until the scope is cancelled."""
        capabilities = client.server_capabilities.tools
        async with asyncio.TaskGroup() as group:
            if capabilities and capabilities.list_changed:
                group.create_task(self._subscribe(client))
            while True:
                await self._relist.wait()
                await asyncio.sleep(_RELIST_S)
                self._relist.clear()
                try:
                    self.tools = await self._listed(client)
                except self._sdk.error as error:
                    log.warning(
                        "The MCP server at %s did not list its tools again: %s",
                        self._address,
                        error,
                    )
                else:
                    self._changed()

    async def _subscribe(self, client: Client) -> None:
        """Newer servers tell subscribers of changes; older servers tell all clients (``_receive``)."""
        while True:
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    self._relist.set()  # tools may have changed before the subscription
                    async for _ in subscription:
                        self._relist.set()
            except self._sdk.listening.ListenNotSupportedError:
                return
            except (
                self._sdk.listening.SubscriptionLost,
                self._sdk.error,
                TimeoutError,
            ) as error:
                log.debug("A subscription to %s was lost.", self._address, exc_info=error)
            await asyncio.sleep(_RESUBSCRIBE_S)

    async def _receive(self, message: object) -> None:
        if isinstance(message, self._sdk.types.ToolListChangedNotification):
            self._relist.set()

    async def _listed(self, client: Client) -> tuple[theirs.Tool, ...]:
        tools: list[theirs.Tool] = []
        cursor: str | None = None
        seen: set[str | None] = set()
        while cursor not in seen and len(seen) < _MOST_PAGES:
            seen.add(cursor)
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if (
                cursor is None or len(tools) > MCP_TOOLS
            ):  # one more, so that a note says that some are left out
                break
        return tuple(tools[: MCP_TOOLS + 1])

    def _given_up(self, why: ServerBroken) -> None:
        self._cause = why

    def _lose(self) -> None:
        """The transport gave its last message."""
        self._lost.set()
        self._scope.cancel()

    async def _close(self, task: asyncio.Task[None], patience_s: float) -> None:
        self._scope.cancel()
        await asyncio.wait({task}, timeout=patience_s)
        if self._address.command:
            await in_thread(partial(end_marked, self._mark, term_s=TERM_S))
        await asyncio.wait({task})

    async def _wait_for_cause(self) -> None:
        """Wait until the owning task has set ``_cause``."""
        if self._task is not None and self.is_lost:
            await asyncio.wait({self._task}, timeout=CLOSE_S)

    def _is_loss(self, answer: asyncio.Future[Any]) -> bool:
        if answer.cancelled():
            return True
        error = answer.exception()
        return isinstance(error, self._sdk.error) and (
            error.code == self._sdk.types.CONNECTION_CLOSED or self._is_forgotten(error)
        )

    def _is_forgotten(self, error: Any) -> bool:
        """The SDK's error for a 404: the server restarted and no longer knows the session."""
        return bool(
            error.code == self._sdk.types.INVALID_REQUEST
            and error.message == "Session terminated"
        )

    def _never_reached(self, answer: asyncio.Future[Any]) -> bool:
        """Whether the request can't have been read: no connection, or no such session."""
        error = answer.exception() if answer.done() and not answer.cancelled() else None
        if isinstance(error, self._sdk.error) and self._is_forgotten(error):
            return True
        return any(
            type(each).__name__ in ("ConnectError", "ConnectTimeout")
            for each in _leaves(self._cause)
        )

    def _why(self) -> str:
        causes = dict.fromkeys(
            _described(each) for each in _leaves(self._cause)[:_MOST_CAUSES]
        )
        why = ", ".join(causes) or "it ended"
        return self._address.without_keys(why + self._words())

    def _words(self) -> str:
        text = (
            b"".join(self._last_words)[-_LAST_WORDS:].decode("utf-8", "replace").strip()
        )
        return f"; its last words: {text}" if text else ""


@asynccontextmanager
async def _watched(
    transport: AbstractAsyncContextManager[Any], ended: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """The transport, which calls ``ended`` after its last message: the SDK does not report that a server died."""
    async with transport as (reading, writing):
        yield _WatchedStream(reading, ended), writing


class _WatchedStream:
    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _WatchedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended()
            raise

    async def __aenter__(self) -> _WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


def _command_of(at: McpAddress) -> tuple[list[str], Mapping[str, str]]:
    """The command line and the further environment of a server: under the launcher, and in its sandbox.

    Raises ``ServerUnavailable`` if it can't be confined.
    """
    cwd = Path(at.cwd or ".").absolute()
    command = ProcessSpec((at.command, *at.args), cwd, at.env)
    if at.sandbox is not None:
        path = at.env.get("PATH", os.environ.get("PATH", ""))
        try:
            command = at.sandbox.confined(command._replace(env={"PATH": path, **at.env}))
        except ToolError as problem:
            raise ServerUnavailable(
                f"The MCP server at {at} is to run sandboxed, which is not possible: {problem}"
            ) from problem
    arguments = launched(command) if HAS_LAUNCHER else list(command.arguments)
    return arguments, command.env


def _described(error: BaseException) -> str:
    """The message of an error, with its type unless it is Ullage's."""
    text = str(error)[:_LONGEST_CAUSE]
    if isinstance(error, UllageError):
        return text
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _leaves(error: BaseException | None) -> list[BaseException]:
    if error is None:
        return []
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    leaves = []
    for each in error.exceptions:
        leaves += _leaves(each)
    return leaves
