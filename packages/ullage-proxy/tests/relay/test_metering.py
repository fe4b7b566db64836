"""Metering is killed, stopped, missing or mad: the client notices nothing, and no call is lost that can be kept."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.relay.relays import (
    FAKE_METERING,
    Frames,
    Reader,
    RunningRelay,
    Writer,
    answer,
    post,
    read_message,
    relay,
    upstream,
)
from ullage_proxy.relay.serving import ASKED_TO_END

CHUNKS = [b"5\r\n%05d\r\n" % number for number in range(40)]
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = HEAD + b"".join(CHUNKS) + b"0\r\n\r\n"
CONTENT = b"".join(b"%05d" % number for number in range(40))


class Paced:
    """Streams an answer; after each chunk but the first it waits for the test."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        while True:
            await read_message(reader)
            writer.write(HEAD + CHUNKS[0])
            await self.may_go_on.wait()
            for chunk in CHUNKS[1:]:
                writer.write(chunk)
                await writer.drain()
            writer.write(b"0\r\n\r\n")


@pytest.fixture
def frames(tmp_path: Path) -> Frames:
    return Frames(tmp_path / "frames.jsonl")


@asynccontextmanager
async def metered(
    frames: Frames, handler: object, **settings: object
) -> AsyncIterator[RunningRelay]:
    async with (
        upstream(handler) as base,  # type: ignore[arg-type]
        relay(
            f"a={base}", metering=FAKE_METERING, settings={**frames.settings, **settings}
        ) as running,
    ):
        yield running


async def fine(reader: Reader, writer: Writer) -> None:
    while True:
        await read_message(reader)
        writer.write(answer(b"fine"))


async def test_metering_that_is_killed_in_the_middle_of_streams_is_unnoticed_and_misses_nothing(
    frames: Frames,
) -> None:
    source = Paced()
    async with metered(frames, source) as running:
        streams = []
        for _ in range(3):
            reader, writer = await running.connect()
            writer.write(post("/a/v1/messages", b"body"))
            await reader.readuntil(b"00000\r\n")
            streams.append((reader, writer))
        await frames.until("request", 3)
        os.kill(frames.of("settings")[0]["pid"], signal.SIGKILL)
        source.may_go_on.set()
        for reader, writer in streams:
            found = await reader.readuntil(b"0\r\n\r\n")
            assert found == WHOLE.partition(b"00000\r\n")[2]
            writer.close()
        answers = await frames.until("answer", 3)
        assert len({frame["call"] for frame in answers}) == 3
        assert all(frame["payload"] == CONTENT for frame in answers)
        assert len(frames.of("request")) == 6
        assert len(frames.of("settings")) == 2
        assert (await running.health())["not_metered"] == 0


async def test_a_call_that_kills_a_process_is_given_to_the_next(frames: Frames) -> None:
    async with metered(frames, fine, die_at="answer") as running:
        found = await running.ask(post("/a/v1/messages", b"1", "Connection: close"))
        assert found == answer(b"fine")
        answers = await frames.until("answer", 2)
        assert answers[0] == answers[1]


async def test_metering_that_is_stopped_delays_and_loses_nothing(frames: Frames) -> None:
    async with metered(frames, fine) as running:
        (settings,) = await frames.until("settings")
        os.kill(settings["pid"], signal.SIGSTOP)
        reader, writer = await running.connect()
        for _ in range(20):
            writer.write(post("/a/v1/messages", bytes(200_000)))
            assert await read_message(reader) == answer(b"fine")
        os.kill(settings["pid"], signal.SIGCONT)
        answers = await frames.until("answer", 20)
        assert len({frame["call"] for frame in answers}) == 20
        writer.close()


async def test_calls_beyond_what_may_wait_are_counted_and_told(frames: Frames) -> None:
    async with metered(frames, fine, digests=True) as running:
        (settings,) = await frames.until("settings")
        os.kill(settings["pid"], signal.SIGSTOP)
        reader, writer = await running.connect()
        for _ in range(18):
            writer.write(post("/a/v1/messages", bytes(4_000_000)))
            assert await read_message(reader) == answer(b"fine")
        health = await running.health()
        assert health["calls"] == 18
        assert health["not_metered"] == 2
        os.kill(settings["pid"], signal.SIGCONT)
        (lost,) = await frames.until("lost")
        assert lost["calls"] == 2
        assert len(await frames.until("answer", 16)) == 16
        writer.close()


@pytest.mark.parametrize(
    "command",
    [
        ["/nowhere/python"],
        [sys.executable, "-c", "raise SystemExit(1)"],
        [sys.executable, "-c", "import os; os.close(0); os.close(1)"],
        [sys.executable, "-c", "print('no frame at all, but words')"],
    ],
)
async def test_traffic_goes_on_when_metering_can_not_start(command: list[str]) -> None:
    async with upstream(fine) as base, relay(f"a={base}", metering=command) as running:
        reader, writer = await running.connect()
        for _ in range(5):
            writer.write(post("/a/v1/messages"))
            assert await read_message(reader) == answer(b"fine")
        assert running.process.stderr is not None
        said = await running.process.stderr.readline()
        assert said.startswith(b"ullage proxy: metering ")
        async with asyncio.timeout(60):
            while (await running.health())["metering"] != "restarting":
                await asyncio.sleep(0.01)
        writer.close()


async def test_without_a_command_nothing_is_metered_and_the_health_says_so() -> None:
    async with upstream(fine) as base, relay(f"a={base}") as running:
        found = await running.ask(post("/a/v1/messages", b"", "Connection: close"))
        assert found == answer(b"fine")
        assert await running.health() == {
            "program": "ullage",
            "version": "",
            "upstreams": ["a"],
            "metering": "off",
            "calls": 0,
            "not_metered": 0,
        }


async def test_what_was_tapped_is_stored_before_the_relay_ends(frames: Frames) -> None:
    async with metered(frames, fine) as running:
        assert await running.ask(post("/a/v1/messages", b"1", "Connection: close"))
        running.process.terminate()
        assert await running.process.wait() == 0
    assert len(frames.of("answer")) == 1
    assert frames.all()[-1]["kind"] == "end"


async def test_all_that_waits_is_metered_before_its_input_ends(frames: Frames) -> None:
    async with metered(frames, fine) as running:
        (settings,) = await frames.until("settings")
        os.kill(settings["pid"], signal.SIGSTOP)
        reader, writer = await running.connect()
        for _ in range(8):
            writer.write(post("/a/v1/messages", bytes(200_000)))
            assert await read_message(reader) == answer(b"fine")
        running.process.terminate()
        assert await reader.read() == b""  # so it ends now
        os.kill(settings["pid"], signal.SIGCONT)
        assert await running.process.wait() == 0
        writer.close()
    assert len(frames.of("settings")) == 1
    assert len(frames.of("answer")) == 8


async def test_the_relay_says_what_was_not_stored(frames: Frames) -> None:
    async with metered(frames, fine, silent=True) as running:
        assert await running.ask(post("/a/v1/messages", b"1", "Connection: close"))
        running.process.terminate()
        assert running.process.stderr is not None
        said = await running.process.stderr.read()
    assert b"1 call was not stored" in said


async def test_what_metering_reads_late_is_whole_at_the_end(frames: Frames) -> None:
    body = b"x" * 3_000_000
    async with metered(frames, fine, digests=True) as running:
        process = running.process
        (settings,) = await frames.until("settings")
        os.kill(settings["pid"], signal.SIGSTOP)
        await running.ask(post("/a/v1/messages", body, "Connection: close"))
        process.terminate()
        os.kill(settings["pid"], signal.SIGCONT)
        _, said = await process.communicate()
    assert said.splitlines() == [f"ullage proxy: {ASKED_TO_END}".encode()]
    assert len(frames.of("request")) == len(frames.of("answer")) == 1
    assert len(frames.of("end")) == len(frames.of("settings")) == 1
