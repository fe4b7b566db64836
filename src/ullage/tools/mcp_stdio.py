"""An MCP server as a child process: JSON-RPC, one message a line, each within limits.

What a server writes is read in bounded pieces and checked before it is decoded. Lines that are no messages are passed
over and counted, as many servers print greetings there; one that writes nothing else, or a message beyond the limits,
is given up. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports ("stdio")
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
from ullage.tools.processes import OutputReader

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

log = logging.getLogger(__name__)

EXIT_S: Final = 2.0
"""Seconds a server has to end by itself once its input is closed."""

_PIECE_BYTES: Final = 1 << 16


class ServerBroken(UllageError):
    """The server does not keep to the protocol; what it does is in the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start. ``env`` is given on top of a few harmless variables.

    ``take_error`` gets its standard error, ``give_up`` why it is given up, just before its messages end.
    """

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    take_error: Callable[[bytes], object]
    give_up: Callable[[ServerBroken], object]


@asynccontextmanager
async def stdio_transport(program: Program, sdk: Any) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of messages from and to a server that is started now.

    Raises ``OSError`` where it can't be started. Leaving closes its input, waits a little and kills it; what it started
    itself is ended by the caller.
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
                start_new_session=True,
            )
        finally:
            os.close(writing)
        async with _conversation(process, program, sdk) as streams:
            yield streams
    finally:
        errors.close()


@asynccontextmanager
async def _conversation(
    process: asyncio.subprocess.Process, program: Program, sdk: Any
) -> AsyncIterator[tuple[Any, Any]]:
    import anyio

    incoming, received = anyio.create_memory_object_stream[Any](0)
    sent, outgoing = anyio.create_memory_object_stream[Any](0)
    assert process.stdin is not None and process.stdout is not None
    listening = asyncio.create_task(_listen(process.stdout, incoming, program, sdk))
    speaking = asyncio.create_task(_speak(process.stdin, outgoing, incoming))
    try:
        yield received, sent
    finally:
        received.close()
        sent.close()
        with anyio.CancelScope(shield=True):
            await _ended(process, listening, speaking)


async def _listen(
    output: asyncio.StreamReader, incoming: MemoryObjectSendStream[Any], program: Program, sdk: Any
) -> None:
    """Read messages until the output ends, nobody listens any more, or the server is given up."""
    import anyio

    async with incoming:
        try:
            async for message in _messages(output, sdk):
                await incoming.send(message)
        except ServerBroken as broken:
            program.give_up(broken)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return


async def _messages(output: asyncio.StreamReader, sdk: Any) -> AsyncIterator[Any]:
    """The messages; lines that are none are passed over. Raises ``ServerBroken``."""
    junk = 0
    async for line in _lines(output):
        message = _message(line, sdk)
        junk = junk + 1 if message is None else 0
        if junk > MCP_JUNK_LINES:
            raise ServerBroken(f"it wrote {junk:,} lines in a row to its standard output that are no messages")
        if message is not None:
            yield message


async def _lines(output: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Lines without their end. Raises ``ServerBroken`` for one that is too long."""
    waiting: list[bytes] = []
    size = 0
    while piece := await output.read(_PIECE_BYTES):
        *whole, rest = piece.split(b"\n")
        for end in whole:
            yield b"".join([*waiting, end])
            waiting, size = [], 0
        if rest:
            waiting.append(rest)
            size += len(rest)
        if size > MCP_MESSAGE_BYTES:
            raise ServerBroken(f"it wrote a line of more than {MCP_MESSAGE_BYTES // MIB} MB")


def _message(line: bytes, sdk: Any) -> Any:
    """The message, as the SDK takes it; ``None`` for a line that is none. Raises ``ServerBroken``."""
    if line.lstrip()[:1] != b"{":
        return None
    if excess := json_excess(line):
        raise ServerBroken(f"it sent a message beyond the limits: {excess}")
    try:
        return sdk.message(sdk.types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:  # pydantic's ValidationError is one, and so is invalid UTF-8
        log.debug("A line of an MCP server is no message.", exc_info=True)
        return None


async def _speak(
    to: asyncio.StreamWriter, outgoing: MemoryObjectReceiveStream[Any], incoming: MemoryObjectSendStream[Any]
) -> None:
    """Write messages until there are no more; where the server takes none any more, its messages end too."""
    try:
        async with outgoing:
            async for each in outgoing:
                to.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await to.drain()
    except (OSError, RuntimeError):
        await incoming.aclose()


async def _ended(
    process: asyncio.subprocess.Process, listening: asyncio.Task[None], speaking: asyncio.Task[None]
) -> None:
    """Close the server's input, wait a little for its end, and end it."""
    assert process.stdin is not None
    await asyncio.wait({speaking}, timeout=EXIT_S / 4)  # what was accepted is still written
    with suppress(OSError, RuntimeError):
        process.stdin.close()
    exited = asyncio.ensure_future(process.wait())
    await asyncio.wait({exited}, timeout=EXIT_S)
    for end in (process.terminate, process.kill):  # at TERM the launcher ends all that the server started
        if process.returncode is None:
            with suppress(ProcessLookupError):
                end()
            await asyncio.wait({exited}, timeout=EXIT_S)
    for task in (listening, speaking):
        task.cancel()
    await asyncio.wait({listening, speaking})
    await asyncio.wait({exited}, timeout=EXIT_S)  # it also waits for the pipes, which a child may hold open
    exited.cancel()
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
