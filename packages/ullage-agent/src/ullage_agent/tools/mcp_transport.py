"""The transports to MCP servers: an HTTP client, and a child process with one JSON-RPC message a line, within limits.

Headers with keys go to the configured origin alone: the SDK follows redirects within it and nowhere else. The output of
a child process is read in bounded pieces and checked before it is decoded. Lines that are no messages are skipped and
counted, as many servers print greetings there; a server that writes nothing else, or a message beyond the limits, is
given up. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ullage.bounds import json_excess
from ullage.envelope import MCP_JUNK_LINES, MCP_MESSAGE_BYTES, MIB
from ullage.errors import UllageError
from ullage.tasks import start, stop
from ullage_agent.tools.processes import OutputReader

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

log = logging.getLogger("ullage.agent")

CONNECT_S: Final = 30.0
"""Seconds for an HTTP connection, and for sending a request."""

SILENCE_S: Final = 300.0
"""Seconds without a byte in an HTTP answer, which may be a stream of events."""

EXIT_S: Final = 2.0
"""Seconds a child process has to end by itself once its input is closed."""


class AnswerRefused(UllageError):
    """The answer of a server is beyond the limits; the message says how."""


class ServerBroken(UllageError):
    """The server breaks the protocol; the message says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start. ``env`` is added to a few harmless variables.

    ``take_error`` gets its standard error, ``give_up`` the reason why it is given up, just before its messages end.
    """

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    take_error: Callable[[bytes], object]
    give_up: Callable[[ServerBroken], object]


def http_client(headers: Mapping[str, str]) -> Any:
    """A client, a context manager, that sends these headers and accepts answers within the limits."""
    import httpx2

    async def limit(response: httpx2.Response) -> None:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            raise AnswerRefused(
                f"its answer is compressed ({encoding[:40]}), which was not asked for"
            )
        kind = response.headers.get("content-type", "").strip().lower()
        if not kind.startswith(
            "text/event-stream"
        ):  # whose events the SDK limits one by one
            response.stream = _Limited(response.stream)

    class _Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > MCP_MESSAGE_BYTES:
                    raise AnswerRefused(
                        f"its answer has more than {MCP_MESSAGE_BYTES // MIB} MB"
                    )
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    return httpx2.AsyncClient(
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_S, read=SILENCE_S),
        event_hooks={"response": [limit]},
        follow_redirects=False,
    )


@asynccontextmanager
async def stdio_transport(program: Program, sdk: Any) -> AsyncIterator[tuple[Any, Any]]:
    """Start a server; gives the streams of messages from it and to it.

    Raises ``OSError`` if it can't be started. Leaving closes its input, waits a little and kills it; the caller ends
    the processes that the server started.
    """
    reading, writing = os.pipe()
    errors = OutputReader(reading, program.take_error)
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                program.command,
                *program.args,
                env={**sdk.stdio.get_default_environment(), **program.env},
                cwd=program.cwd,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=writing,
                limit=MCP_MESSAGE_BYTES,
                start_new_session=True,
            )
        finally:
            os.close(writing)
        async with _messages_with(process, program, sdk) as streams:
            yield streams
    finally:
        errors.close()


@asynccontextmanager
async def _messages_with(
    process: asyncio.subprocess.Process, program: Program, sdk: Any
) -> AsyncIterator[tuple[Any, Any]]:
    import anyio

    incoming, received = anyio.create_memory_object_stream[Any](0)
    sent, outgoing = anyio.create_memory_object_stream[Any](0)
    assert process.stdin is not None and process.stdout is not None
    # no task group, which would cancel them: the last messages are still written while the block is left
    listening = start(_listen(process.stdout, incoming, program, sdk))
    speaking = start(_speak(process.stdin, outgoing, incoming))
    try:
        yield received, sent
    finally:
        received.close()
        sent.close()
        with anyio.CancelScope(shield=True):
            await _end(process, listening, speaking)


async def _listen(
    output: asyncio.StreamReader,
    incoming: MemoryObjectSendStream[Any],
    program: Program,
    sdk: Any,
) -> None:
    """Read messages until the output ends, the receiver closes, or the server is given up. Other lines are skipped."""
    import anyio

    skipped = 0
    async with incoming:
        try:
            while line := await _line(output):
                message = _message(line, sdk)
                if message is not None:
                    skipped = 0
                    await incoming.send(message)
                    continue
                skipped += 1
                if skipped > MCP_JUNK_LINES:
                    raise ServerBroken(
                        f"it wrote {skipped:,} lines in a row to its standard output that are no messages"
                    )
        except ServerBroken as broken:
            program.give_up(broken)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return


async def _line(output: asyncio.StreamReader) -> bytes:
    """The next line; empty at the end. Raises ``ServerBroken`` for one that is too long."""
    try:
        return await output.readline()
    except ValueError as error:
        raise ServerBroken(
            f"it wrote a line of more than {MCP_MESSAGE_BYTES // MIB} MB"
        ) from error


def _message(line: bytes, sdk: Any) -> Any:
    """The message in the SDK's form; ``None`` for any other line. Raises ``ServerBroken``."""
    if line.lstrip()[:1] != b"{":
        return None
    excess = json_excess(line)
    if excess:
        raise ServerBroken(f"it sent a message beyond the limits: {excess}")
    try:
        return sdk.message(
            sdk.types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        )
    except ValueError:  # pydantic's ValidationError is one, and so is invalid UTF-8
        log.debug("A line of an MCP server is no message.", exc_info=True)
        return None


async def _speak(
    to: asyncio.StreamWriter,
    outgoing: MemoryObjectReceiveStream[Any],
    incoming: MemoryObjectSendStream[Any],
) -> None:
    """Write messages until they end; if the server accepts no more, its own messages end too."""
    try:
        async with outgoing:
            async for each in outgoing:
                to.write(
                    each.message.model_dump_json(
                        by_alias=True, exclude_unset=True
                    ).encode()
                    + b"\n"
                )
                await to.drain()
    except (OSError, RuntimeError):
        await incoming.aclose()


async def _end(
    process: asyncio.subprocess.Process,
    listening: asyncio.Task[None],
    speaking: asyncio.Task[None],
) -> None:
    """Close the server's input, wait a little for its end, and end it."""
    assert process.stdin is not None
    await asyncio.wait(
        {speaking}, timeout=EXIT_S / 4
    )  # accepted messages are still written
    with suppress(OSError, RuntimeError):
        process.stdin.close()
    exited = start(process.wait())
    await asyncio.wait({exited}, timeout=EXIT_S)
    for end in (
        process.terminate,
        process.kill,
    ):  # at TERM the launcher ends all that the server started
        if process.returncode is None:
            with suppress(ProcessLookupError):
                end()
            await asyncio.wait({exited}, timeout=EXIT_S)
    await stop(listening, speaking)
    await asyncio.wait(
        {exited}, timeout=EXIT_S
    )  # it also waits for the pipes, which a child may hold open
    exited.cancel()
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
