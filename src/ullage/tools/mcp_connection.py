"""One life of an MCP server: from its start, or the first request to it, until it is closed or lost.

The SDK's task groups are entered and left in one task of our own, which nobody cancels from outside: its shutdown is
safe against its own cancel scopes and not against ``Task.cancel`` (``mcp/client/stdio.py``, ``shutdown``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ullage.envelope import MCP_MESSAGE_BYTES, MCP_TOOLS
from ullage.errors import MissingExtra, UllageError
from ullage.tools.mcp_http import http_client
from ullage.tools.mcp_stdio import Program, ServerBroken, stdio_transport
from ullage.tools.processes import HAS_LAUNCHER, MARK, ProcessGroup, ProcessSpec, launched
from ullage.tools.sandbox import Sandbox
from ullage.tools.threads import in_thread

if TYPE_CHECKING:
    from mcp import Client
    from mcp import types as theirs

log = logging.getLogger(__name__)
T = TypeVar("T")

CLOSE_S: Final = 1.0
"""Seconds a server has to end by itself once its input is closed; then TERM, and KILL a second later."""

_MOST_PAGES: Final = 1_000  # of a list of tools: one that never ends must
_LAST_WORDS: Final = 500  # bytes of a server's standard error that are told
_SHORTEST_KEY: Final = 8  # characters of a value that may be a key
_MOST_CAUSES: Final = 5  # errors of one failure that are told
_LONGEST_CAUSE: Final = 500  # characters of each
_RELIST_S: Final = 0.1  # seconds between hearing of a change and listing anew: of many changes one list is enough
_AGAIN_S: Final = 1.0  # seconds until a lost subscription is asked for again


class ServerLost(UllageError):
    """The server is gone. ``was_sent`` is False where the request can't have reached it."""

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
        """The text, with every longer value that was given in ``env``, ``headers`` or ``args`` left out."""
        for value in sorted((*self.env.values(), *self.headers.values(), *self.args), key=len, reverse=True):
            if len(value) >= _SHORTEST_KEY:
                text = text.replace(value, "[…]")
        return text


class Sdk(NamedTuple):
    """What is used of the SDK, loaded when it is."""

    client: Any
    stdio: Any
    http: Any
    types: Any
    error: Any
    listening: Any
    message: Any


def load_sdk() -> Sdk:
    """The official SDK. Raises ``MissingExtra`` where it is not installed."""
    try:
        from mcp import Client, MCPError, types
        from mcp.client import stdio, streamable_http, subscriptions
        from mcp.shared.message import SessionMessage
    except ImportError as problem:
        raise MissingExtra("MCP servers need the SDK: install it with `pip install 'ullage[mcp]'`.") from problem
    return Sdk(Client, stdio, streamable_http, types, MCPError, subscriptions, SessionMessage)


class McpConnection:
    """A server that is being talked to. ``changed`` is called when it has other tools than before."""

    def __init__(self, address: McpAddress, sdk: Sdk, changed: Callable[[], None]) -> None:
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
        """Start or reach the server and learn its tools. Raises ``ServerUnavailable``; nothing is left running then."""
        self._task = asyncio.create_task(self._own(), name=f"mcp {self._address}")
        try:
            await asyncio.wait({self._task, self._ready}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close(at_once=True)
            raise
        if self._ready.done() and not self.is_lost:
            return
        in_time = self._task.done() or self.is_lost
        await self.close(at_once=True)
        why = self._why() if in_time else f"no answer in {timeout_s:g} s{self._words()}"
        raise ServerUnavailable(f"The MCP server at {self._address} can't be used: {why}", why=why) from self._cause

    async def close(self, *, at_once: bool = False) -> None:
        """End it and all its processes; done when they are gone, also where the caller is cancelled meanwhile."""
        if self._task is not None:
            await unbroken(self._close(self._task, 0 if at_once else CLOSE_S))

    async def call(self, name: str, arguments: Mapping[str, Any]) -> theirs.CallToolResult:
        """One call. Cancelling tells the server. Raises ``ServerLost``, and the SDK's ``MCPError`` for a refusal."""
        if self._client is None or self.is_lost:
            raise ServerLost(self._why(), was_sent=False)
        answer = asyncio.ensure_future(self._client.call_tool(name, dict(arguments)))
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({answer, lost}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not self._is_loss(answer):
                return answer.result()
            if self._never_reached(answer):
                self._noticed()  # what comes next needs a new session
            await self._ended()
            raise ServerLost(self._why(), was_sent=not self._never_reached(answer))
        finally:
            answer.cancel()
            lost.cancel()
            await asyncio.gather(answer, lost, return_exceptions=True)

    async def _own(self) -> None:
        try:
            with self._scope:
                async with AsyncExitStack() as stack:
                    transport = _Watched(await self._transport(stack), self._noticed)
                    client = self._sdk.client(transport, message_handler=self._heard, cache=None)
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
            transport: AbstractAsyncContextManager[Any] = self._sdk.http.streamable_http_client(
                at.url, http_client=client, max_sse_event_size=MCP_MESSAGE_BYTES
            )
            return transport
        arguments, env = await in_thread(_started, at)
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
        follows = bool(capabilities and capabilities.list_changed)
        listening = asyncio.create_task(self._listen(client)) if follows else None
        try:
            while True:
                await self._relist.wait()
                await asyncio.sleep(_RELIST_S)
                self._relist.clear()
                try:
                    self.tools = await self._listed(client)
                except self._sdk.error as error:
                    log.warning("The MCP server at %s did not list its tools again: %s", self._address, error)
                else:
                    self._changed()
        finally:
            if listening is not None:
                listening.cancel()

    async def _listen(self, client: Client) -> None:
        """Newer servers tell of changes to whoever subscribed; older ones tell everybody (``_heard``)."""
        while True:
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    self._relist.set()  # what changed before was told to nobody
                    async for _ in subscription:
                        self._relist.set()
            except self._sdk.listening.ListenNotSupportedError:
                return
            except (self._sdk.listening.SubscriptionLost, self._sdk.error, TimeoutError) as error:
                log.debug("A subscription to %s was lost.", self._address, exc_info=error)
            await asyncio.sleep(_AGAIN_S)

    async def _heard(self, message: object) -> None:
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
            if cursor is None or len(tools) > MCP_TOOLS:  # one more, so that it is told that some are left out
                break
        return tuple(tools[: MCP_TOOLS + 1])

    def _given_up(self, why: ServerBroken) -> None:
        self._cause = why

    def _noticed(self) -> None:
        """The transport gave its last message."""
        self._lost.set()
        self._scope.cancel()

    async def _close(self, task: asyncio.Task[None], patience_s: float) -> None:
        self._scope.cancel()
        await asyncio.wait({task}, timeout=patience_s)
        if self._address.command:
            group = ProcessGroup(None, self._mark)
            if not task.done() or group.is_alive(strays=True):
                await group.end(strays=True)
        await asyncio.wait({task})

    async def _ended(self) -> None:
        """Wait for the owner to say why."""
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
        """What the SDK makes of a 404: the server restarted and knows the session no more."""
        return bool(error.code == self._sdk.types.INVALID_REQUEST and error.message == "Session terminated")

    def _never_reached(self, answer: asyncio.Future[Any]) -> bool:
        """Whether the request can't have been read: no connection, or no such session."""
        error = answer.exception() if answer.done() and not answer.cancelled() else None
        if isinstance(error, self._sdk.error) and self._is_forgotten(error):
            return True
        return any(type(each).__name__ in ("ConnectError", "ConnectTimeout") for each in _leaves(self._cause))

    def _why(self) -> str:
        leaves = [_spelt(each) for each in _leaves(self._cause)[:_MOST_CAUSES]]
        return self._address.without_keys((", ".join(dict.fromkeys(leaves)) or "it ended") + self._words())

    def _words(self) -> str:
        said = b"".join(self._last_words)[-_LAST_WORDS:].decode("utf-8", "replace").strip()
        return f"; its last words: {said}" if said else ""


class _Watched:
    """A transport that tells when its last message was read: the SDK itself tells nobody of a server that died."""

    def __init__(self, transport: AbstractAsyncContextManager[Any], noticed: Callable[[], None]) -> None:
        self._transport = transport
        self._noticed = noticed

    async def __aenter__(self) -> tuple[Any, Any]:
        reading, writing = await self._transport.__aenter__()
        return _WatchedStream(reading, self._noticed), writing

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._transport.__aexit__(*error)


class _WatchedStream:
    def __init__(self, stream: Any, noticed: Callable[[], None]) -> None:
        self._stream = stream
        self._noticed = noticed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _WatchedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._noticed()
            raise

    async def __aenter__(self) -> _WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


def _started(at: McpAddress) -> tuple[list[str], Mapping[str, str]]:
    """The command line and the further environment of a server: under the launcher, and confined where asked.

    Raises ``ServerUnavailable`` for one that can't be confined.
    """
    cwd = Path(at.cwd or ".").absolute()
    command = ProcessSpec((at.command, *at.args), cwd, at.env)
    if at.sandbox is not None:
        if weakness := at.sandbox.weakness(cwd):
            raise ServerUnavailable(f"The MCP server at {at} is to run sandboxed, which is not possible: {weakness}.")
        path = at.env.get("PATH", os.environ.get("PATH", ""))
        command = at.sandbox.confined(command._replace(env={"PATH": path, **at.env}))
    return (launched(command) if HAS_LAUNCHER else list(command.arguments)), command.env


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """See the work to its end; a cancel meanwhile goes on only after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        with suppress(Exception):
            task.result()
        raise cancelled
    return task.result()


def _spelt(error: BaseException) -> str:
    """An error in words, its type beside those of others."""
    said = str(error)[:_LONGEST_CAUSE]
    if isinstance(error, UllageError):
        return said
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename}"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _leaves(error: BaseException | None) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [] if error is None else [error]
