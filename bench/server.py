"""How long it takes until a message is acknowledged, while the server is busy with everything else.

    uv run python -m bench.server                # 500 sessions
    uv run python -m bench.server --sessions 100

One server process, 500 sessions. Some of them stream answers from a provider's simulator all the time, one compacts
again and again, one is sent messages of 200 kB. Meanwhile each of the 500 is sent a message, all within ``--spread``
seconds, over connections that stand already.

``client`` is wall time from sending the request to its answer: what else runs on the machine is in it, the clients and
the simulator among it, which are processes of their own. ``server`` is the server's own measure, until it is stored.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import httpx2
import msgspec

from bench.results import Table, machine

MODEL = "anthropic:claude-haiku-4-5"
LONG = "Look at cask number seven, and say how much is in it. " * 3_700
"""About 200 kB."""

CONNECTIONS = 100
"""Connections of the clients together; each carries one request at a time."""


class Load(NamedTuple):
    """What the server is busy with."""

    sessions: int
    streaming: int
    spread_s: float


SCENARIO = {
    "server": {"delay_s": 0.02},
    "answers": [
        {
            "when": {"contains": "at length"},
            "text": "The cask was filled in spring, and then it stood. " * 30,
        },
        {"when": {"contains": "summar"}, "text": "Casks were looked at. " * 20},
        {"text": "It is so."},
    ],
}
"""Answers that stream for a second or so, short summaries, and a sentence for everybody else."""


class Simulator:
    """``ullage simulate`` in a process of its own: counting tokens must not hold up the clients."""

    def __init__(self, place: Path) -> None:
        script = place / "scenario.json"
        script.write_bytes(msgspec.json.encode(SCENARIO))
        command = [
            sys.executable,
            "-m",
            "ullage",
            "simulate",
            "--scenario",
            str(script),
            "--port",
            "0",
        ]
        self.process = subprocess.Popen(
            [*command, "--wire", "anthropic"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = next(line for line in self.process.stdout if "http://" in line)
        self.url = next(word for word in line.split() if word.startswith("http://"))
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def end(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(60)


class Server:
    """``ullage serve`` in a process of its own."""

    def __init__(self, provider: str, place: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "ullage",
            "serve",
            "--port",
            "0",
            "--store",
            str(place / "s.db"),
        ]
        self.process = subprocess.Popen(
            [*command, "--model", MODEL, "--base-url", provider],
            stdout=subprocess.PIPE,
            text=True,
            cwd=place,
            env={**os.environ, "ANTHROPIC_API_KEY": "x"},
        )
        assert self.process.stdout is not None
        words = self.process.stdout.readline().split()
        self.url = next(word for word in words if word.startswith("http://"))

    def end(self) -> None:
        """Stop it in good order."""
        self.process.terminate()
        self.process.wait(60)


async def say(client: httpx2.AsyncClient, session: str, text: str) -> float:
    """Send one message; gives the seconds until it was acknowledged."""
    begun = time.perf_counter()
    answer = await client.post(f"/v1/sessions/{session}/messages", json={"text": text})
    assert answer.status_code == 202, answer.text
    return time.perf_counter() - begun


async def keep_busy(
    client: httpx2.AsyncClient,
    session: str,
    text: str,
    pause_s: float,
    over: asyncio.Event,
) -> None:
    """Say the same again and again, each time once the session rests."""
    while not over.is_set():
        await say(client, session, text)
        while not over.is_set():
            await asyncio.sleep(pause_s)
            if (await client.get(f"/v1/sessions/{session}")).json()["state"] == "idle":
                break


async def keep_compacting(
    client: httpx2.AsyncClient, session: str, over: asyncio.Event
) -> int:
    """Fill a session and have it compacted, again and again; gives how often it was asked for."""
    asked = 0
    while not over.is_set():
        await say(client, session, "Look at this cask. " * 2_000)
        await client.post(f"/v1/sessions/{session}/compact", json={})
        asked += 1
        await asyncio.sleep(0.3)
    return asked


class Measured(NamedTuple):
    """Seconds until each message was acknowledged; what was asked for meanwhile; the server's own share in time."""

    taken: list[float]
    compactions: int
    stored_in_time: float


async def measure(url: str, load: Load) -> Measured:
    """Send each session its message while the others keep the server busy."""
    rng = random.Random(1)
    limits = httpx2.Limits(
        max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS
    )
    async with httpx2.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        names = [f"s{number}" for number in range(load.sessions)]
        for name in names:
            (await client.post("/v1/sessions", json={"id": name})).raise_for_status()
        busy = [f"busy{number}" for number in range(load.streaming)]
        for name in (*busy, "compacting", "long"):
            (await client.post("/v1/sessions", json={"id": name})).raise_for_status()
        over = asyncio.Event()
        tasks: list[asyncio.Task[object]] = [
            asyncio.create_task(keep_busy(client, name, "Tell me at length.", 0.5, over))
            for name in busy
        ]
        tasks.append(asyncio.create_task(keep_busy(client, "long", LONG, 0.5, over)))
        compacting = asyncio.create_task(keep_compacting(client, "compacting", over))
        await asyncio.sleep(2)

        async def later(name: str) -> float:
            await asyncio.sleep(rng.random() * load.spread_s)
            return await say(client, name, "And now?")

        taken = await asyncio.gather(*(later(name) for name in names))
        over.set()
        await asyncio.gather(*tasks)
        metrics = (await client.get("/metrics")).text
        return Measured(list(taken), await compacting, in_time(metrics))


def in_time(metrics: str) -> float:
    """The share of messages that the server had stored within 50 ms."""
    counts = {
        line.split()[0].removeprefix("ullage_enqueue_seconds_"): float(line.split()[1])
        for line in metrics.splitlines()
        if line.startswith("ullage_enqueue_seconds_")
    }
    return counts['bucket{le="0.05"}'] / counts["count"]


def table(found: Measured, load: Load) -> Table:
    """What was measured."""
    milliseconds = sorted(1_000 * each for each in found.taken)
    cuts = statistics.quantiles(milliseconds, n=100)
    title = (
        f"Until a message is acknowledged: {load.sessions} sessions within {load.spread_s:g} s, "
        f"{load.streaming} streaming, {found.compactions} compactions asked for"
    )
    shown = [
        f"{each:.1f} ms" for each in (cuts[49], cuts[89], cuts[98], milliseconds[-1])
    ]
    within = sum(each <= 50 for each in milliseconds) / len(milliseconds)
    rows = (
        ("client", *shown, f"{within:.1%}"),
        ("server", "", "", "", "", f"{found.stored_in_time:.1%}"),
    )
    return Table(title, ("", "median", "p90", "p99", "longest", "within 50 ms"), rows)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        prog="bench.server", description=(__doc__ or "").splitlines()[0]
    )
    options.add_argument("--sessions", type=int, default=500)
    options.add_argument("--streaming", type=int, default=10)
    options.add_argument(
        "--spread",
        type=float,
        default=20.0,
        help="seconds in which all of them are sent a message",
    )
    chosen = options.parse_args()
    load = Load(chosen.sessions, chosen.streaming, chosen.spread)
    with tempfile.TemporaryDirectory() as place:
        simulator = Simulator(Path(place))
        server = Server(simulator.url, Path(place))
        try:
            found = asyncio.run(measure(server.url, load))
        finally:
            server.end()
            simulator.end()
    print(table(found, load).text())
    print(f"Machine: {machine()}.")


if __name__ == "__main__":
    main()
