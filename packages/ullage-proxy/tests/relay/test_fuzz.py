"""Random responses over real sockets: what the client reads is what the upstream wrote, to the byte."""

import asyncio
import hashlib
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.relay.relays import (
    FAKE_METERING,
    Frames,
    Reader,
    RunningRelay,
    Writer,
    relay,
    upstream,
)
from tests.relay.responses import RandomResponse, cuts, random_response

CLIENTS = 4


class Differences(NamedTuple):
    changed: int
    wrong_ends: int


class RandomUpstream:
    """Answers the request of a number with the response of this number, cut anywhere."""

    def __init__(self, seed: int, count: int) -> None:
        self.seed = seed
        self.count = count

    def response(self, number: int) -> RandomResponse:
        return random_response(random.Random(self.seed + number))

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            number = int(head.split(b"/")[1])
            response = self.response(number)
            draw = random.Random(number)
            for piece in cuts(draw, response.raw):
                writer.write(piece)
                if draw.random() < 0.3:
                    await writer.drain()
                    await asyncio.sleep(0)
            await writer.drain()
            if not response.is_whole or response.ends_by_closing:
                break


async def differences(
    running: RunningRelay, upstream: RandomUpstream, first: int
) -> Differences:
    """One client, which asks for each ``CLIENTS``-th response, on one connection as long as that is open."""
    changed = wrong_ends = 0
    reader, writer = await running.connect()
    for number in range(first, upstream.count, CLIENTS):
        response = upstream.response(number)
        request = f"{response.method} /a/{number}/v1/messages HTTP/1.1\r\nHost: localhost\r\n\r\n"
        writer.write(request.encode())
        if response.is_whole and not response.ends_by_closing:
            changed += await reader.readexactly(len(response.raw)) != response.raw
            continue
        changed += await reader.read() != response.raw
        writer.close()
        reader, writer = await running.connect()
    writer.write_eof()
    wrong_ends += await reader.read() != b""
    writer.close()
    return Differences(changed, wrong_ends)


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.sweep)])
async def test_no_byte_of_any_answer_is_changed(count: int, tmp_path: Path) -> None:
    frames = Frames(tmp_path / "frames.jsonl")
    source = RandomUpstream(seed=count * 7, count=count)
    async with (
        upstream(source) as base,
        relay(
            f"a={base}",
            metering=FAKE_METERING,
            settings={**frames.settings, "digests": True},
        ) as running,
    ):
        found = await asyncio.gather(
            *(differences(running, source, first) for first in range(CLIENTS))
        )
        assert found == [Differences(0, 0)] * CLIENTS
        posts = [n for n in range(count) if source.response(n).method == "POST"]
        answers = {
            frame["call"]: frame for frame in await frames.until("answer", len(posts))
        }
        for request in frames.of("request"):
            number = int(request["path"].split("/")[1])
            response = source.response(number)
            came = answers[request["call"]]
            assert came["status"] == response.status
            if response.is_whole:
                assert came["payload"] == hashlib.sha256(response.content).digest()
            else:
                assert came["outcome"] == "dropped"
