import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.relay.relays import (
    Reader,
    Writer,
    answer,
    post,
    read_message,
    relay,
    started,
    upstream,
)

UPSTREAM = "a=http://127.0.0.1:9"
GET = b"GET /a/x HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def test_the_line_may_be_a_text_of_the_callers_own() -> None:
    process = await started(UPSTREAM, ready_message="See {address}/a.")
    assert process.stdout is not None
    line = await process.stdout.readline()
    assert line.startswith(b"See http://127.0.0.1:")
    assert line.endswith(b"/a.\n")
    process.terminate()
    await process.wait()


async def test_a_port_in_use_is_said_with_what_to_do() -> None:
    async with relay(UPSTREAM) as running:
        process = await started(UPSTREAM, port=running.port)
        _, error = await process.communicate()
        assert process.returncode == 2
        assert f"ullage proxy: port {running.port} is in use" in error.decode()
        assert "--port" in error.decode()


async def test_its_lines_may_be_json_objects() -> None:
    async with relay(UPSTREAM) as running:
        process = await started(UPSTREAM, port=running.port, log_format="json")
        _, error = await process.communicate()
        (line,) = error.splitlines()
        told = json.loads(line)
        assert told["logger"] == "ullage.proxy"
        assert f"port {running.port} is in use" in told["message"]


@contextmanager
def hangup(handler: signal.Handlers) -> Iterator[None]:
    """What a program started here does at SIGHUP: else that is up to whoever runs the tests, such as nohup."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_lets_the_running_answer_end_alone(number: signal.Signals) -> None:
    may_go_on = asyncio.Event()

    async def slow(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        await may_go_on.wait()
        writer.write(b"cd")
        await writer.drain()
        await reader.read()

    with hangup(signal.SIG_DFL):
        async with upstream(slow) as base, relay(f"a={base}") as running:
            idle, idle_writer = await running.connect()
            reader, writer = await running.connect()
            writer.write(GET)
            await reader.readuntil(b"ab")
            running.process.send_signal(number)
            assert await idle.read() == b""
            with pytest.raises(ConnectionError):
                await running.connect()
            may_go_on.set()
            assert await reader.read() == b"cd"
            assert await running.process.wait() == 0
            writer.close()
            idle_writer.close()


async def test_a_relay_that_was_told_to_outlive_its_terminal_does() -> None:
    with hangup(signal.SIG_IGN):
        async with relay(UPSTREAM) as running:
            running.process.send_signal(signal.SIGHUP)
            assert (await running.health())["program"] == "ullage"


async def test_a_second_signal_ends_at_once() -> None:
    async def never(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        await reader.read()

    async with upstream(never) as base, relay(f"a={base}") as running:
        idle, idle_writer = await running.connect()
        reader, writer = await running.connect()
        writer.write(GET)
        await reader.readuntil(b"ab")
        running.process.terminate()
        await idle.read()
        running.process.terminate()
        assert await running.process.wait() == 0
        writer.close()
        idle_writer.close()


async def test_the_relay_ends_with_its_stdin_and_not_with_an_interrupt() -> None:
    async def fine(reader: Reader, writer: Writer) -> None:
        while True:
            await read_message(reader)
            writer.write(answer(b"fine"))

    async with (
        upstream(fine) as base,
        relay(f"a={base}", until_stdin_closes=True) as running,
    ):
        running.process.send_signal(signal.SIGINT)
        found = await running.ask(post("/a/x", b"", "Connection: close"))
        assert found == answer(b"fine")
        assert running.process.stdin is not None
        running.process.stdin.close()
        assert await running.process.wait() == 0
