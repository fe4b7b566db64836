"""What a step of a tool loop costs with 10, 100 and 1,000 steps behind it, beside pydantic-ai and openai-agents.

    uv run python -m bench.loop

Each client is a process of its own in an environment of its own, and all talk to the same local server. CPU time is
that of the client's process alone. Ours stores every event in SQLite, reads its window and validates each request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.environments import (
    OPENAI_AGENTS,
    OUT,
    PYDANTIC_AI_AGENT,
    ClientFailed,
    NotInstalled,
    Peer,
    measured_by,
)
from bench.process import local_server
from bench.results import Section, Table, ratio
from bench.store import AT_ONCE, events
from ullage.store.leases import new_owner
from ullage.store.sqlite.store import SqliteStore

LAPS = 3
STEPS = {10: 11, 100: 11, 1_000: 6}
"""Tool calls that are made with so many behind them; the time between the first and the last of them is taken."""
DELAY_S = 0.1
"""Before each piece of the streams that run at once."""
LONG = OUT / "loop-opening"
HERE = Path(__file__).parent
OURS = "ullage"


@dataclass(frozen=True, slots=True)
class Client:
    """One client on one wire; ``peer`` is ``None`` for ours."""

    name: str
    wire: str
    peer: Peer | None
    way: str


CLIENTS = tuple(
    client
    for wire in ("messages", "responses", "chat")
    for client in (
        Client(OURS, wire, None, wire),
        Client("pydantic-ai", wire, PYDANTIC_AI_AGENT, wire),
        *(
            Client(name, wire, OPENAI_AGENTS, way)
            for name, way in (
                ("openai-agents", wire),
                ("openai-agents, SQLiteSession", f"{wire}, stored"),
            )
            if wire != "messages"
        ),
    )
)


def server(steps: int, delay_s: float = 0.0) -> AbstractContextManager[str]:
    """The local server's URL, for the time of the block."""
    return local_server("-m", "bench.loop_server", str(steps), str(delay_s))


def run(client: Client, url: str, behind: int, steps: int) -> dict[str, Any]:
    """What a client takes; ``steps`` 0 are many streams at once. Raises ``ClientFailed``, ``NotInstalled``."""
    base = f"{url}/{'anthropic' if client.wire == 'messages' else 'openai'}/v1"
    script = "loop_ullage.py" if client.peer is None else client.peer.script
    return measured_by(client.peer, script, client.way, base, str(behind), str(steps))


def loops(
    clients: tuple[Client, ...], laps: int
) -> tuple[dict[tuple[Client, int], list[dict[str, Any]]], list[str]]:
    """Each client with each number of steps behind it, lap by lap; and who failed."""
    found: dict[tuple[Client, int], list[dict[str, Any]]] = {}
    failed: dict[Client, str] = {}
    for lap in range(laps):
        for behind, steps in STEPS.items():
            with server(behind + steps) as url:
                for client in clients:
                    if client in failed:
                        continue
                    print(
                        f"lap {lap + 1}: {client.name}, {client.wire}, {behind} …",
                        file=sys.stderr,
                        flush=True,
                    )
                    try:
                        found.setdefault((client, behind), []).append(
                            run(client, url, behind, steps)
                        )
                    except (ClientFailed, NotInstalled) as why:
                        failed[client] = f"{client.name} on {client.wire} failed: {why}"
    return found, list(failed.values())


def at_once(clients: tuple[Client, ...]) -> dict[Client, dict[str, Any]]:
    """A hundred sessions that stream at the same time, by client."""
    found = {}
    with server(0, DELAY_S) as url:
        for client in clients:
            print(f"streams: {client.name}, {client.wire} …", file=sys.stderr, flush=True)
            try:
                found[client] = run(client, url, 0, 0)
            except (ClientFailed, NotInstalled) as why:
                print(f"{client.name} failed: {why}", file=sys.stderr)
    return found


def opening(runs: int = 5) -> list[dict[str, float]]:
    """The long session opened, each time by a process of its own; made first if it isn't there."""
    if not (LONG / "complete").exists():
        print("writing a session of 100,000 messages …", file=sys.stderr, flush=True)
        for path in LONG.glob("sessions.db*"):
            path.unlink()
        subprocess.run(
            [sys.executable, "-m", "bench.loop_opening", "make", str(LONG)], check=True
        )
        (LONG / "complete").touch()
    command = [sys.executable, "-m", "bench.loop_opening", "open", str(LONG)]
    return [
        json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        for _ in range(runs)
    ]


async def appended(count: int = 10 * AT_ONCE) -> tuple[float, float]:
    """Seconds for one of many appends that wait at the same time: wall and CPU, the writing thread's among it."""
    with TemporaryDirectory() as place:
        store = SqliteStore(Path(place) / "sessions.db")
        leases = []
        for number in range(20):
            await store.create(f"s{number}")
            leases.append(await store.acquire(f"s{number}", new_owner(), ttl_s=3_600))
        made, after = events(count), [0] * 20
        start, began = time.perf_counter(), time.process_time()
        for first in range(0, count, AT_ONCE):
            waiting = []
            for number, event in enumerate(made[first : first + AT_ONCE]):
                waiting.append(
                    store.append(leases[number % 20], [event], after=after[number % 20])
                )
                after[number % 20] += 1
            await asyncio.gather(*waiting)
        spent = (
            (time.perf_counter() - start) / count,
            (time.process_time() - began) / count,
        )
        await store.close()
    return spent


def section(laps: int = LAPS) -> Section:
    """Measure everything."""
    found, notes = loops(CLIENTS, laps)
    streaming = at_once(
        tuple(
            client
            for client in CLIENTS
            if client.wire != "chat" and client.name != "openai-agents"
        )
    )
    opened = opening()
    wall, cpu = asyncio.run(appended())
    return _section(found, streaming, opened, (wall, cpu), notes, laps)


def _section(
    found: Mapping[tuple[Client, int], list[dict[str, Any]]],
    streaming: Mapping[Client, dict[str, Any]],
    opened: list[dict[str, float]],
    append: tuple[float, float],
    notes: list[str],
    laps: int,
) -> Section:
    cpu = {key: median(lap["cpu"] for lap in each) for key, each in found.items()}
    wall = {key: median(lap["wall"] for lap in each) for key, each in found.items()}
    ours = {
        (client.wire, behind): value
        for (client, behind), value in cpu.items()
        if client.name == OURS
    }
    clients = list(dict.fromkeys(client for client, _ in cpu))
    ratios = tuple(
        (
            f"{client.wire}, {client.name}",
            *(ratio(cpu[client, behind], ours[client.wire, behind]) for behind in STEPS),
        )
        for client in clients
        if client.name != OURS and all((client, behind) in cpu for behind in STEPS)
    )
    absolute = tuple(
        (
            f"{client.wire}, {client.name}",
            *(_cell(cpu, wall, client, behind) for behind in STEPS),
        )
        for client in clients
    )
    means = [
        lap["mean"]
        for (client, behind), each in found.items()
        if client.name == OURS
        for lap in each
    ]
    versions = {
        f"{k} {v}"
        for each in found.values()
        for lap in each
        for k, v in lap["versions"].items()
    }
    return Section(
        name="loop",
        title="A tool loop",
        command="uv run python -m bench.loop",
        about=(
            "A step is one streamed model call with a tool call in it, and the tool. CPU of the client's process for a "
            "step, the mean of 10 steps (5 with 1,000 behind), the median of "
            f"{laps} laps. The peers are given the steps behind them as a history; ours has made them itself, each one "
            "stored. The server sends the simulators' streams and leaves out their checks and their counting. Over all "
            f"its steps, checkpoints among them, ours took {_ms(min(means))} to {_ms(max(means))} a step. "
            f"Versions: {', '.join(sorted(versions))}."
        ),
        ratios=Table(
            "CPU of a step, against Ullage on the same wire",
            _columns("wire, client"),
            ratios,
        ),
        figures=(
            Table(
                "CPU of a step (wall), on this machine",
                _columns("wire, client"),
                absolute,
            ),
            _streams_table(streaming),
            _opening_table(opened, append),
        ),
        notes=tuple(notes),
    )


def _columns(first: str) -> tuple[str, ...]:
    return (first, *(f"{behind:,} steps behind" for behind in STEPS))


def _cell(
    cpu: Mapping[Any, float], wall: Mapping[Any, float], client: Client, behind: int
) -> str:
    if (client, behind) not in cpu:
        return "failed"
    return f"{_ms(cpu[client, behind])} ({_ms(wall[client, behind])})"


def _streams_table(streaming: Mapping[Client, dict[str, Any]]) -> Table:
    rows = tuple(
        (
            f"{client.wire}, {client.name}",
            _ms(one["stall"]),
            _ms(one["own"]),
            _ms(one["cpu"] / 100),
            _ms(one["own_opening"]),
            _ms(one["idle"]),
        )
        for client, one in streaming.items()
    )
    title = f"100 sessions that stream at once, begun within a second, a piece every {DELAY_S * 1000:.0f} ms each"
    columns = (
        "wire, client",
        "loop stood still, longest",
        "its own CPU, longest",
        "CPU a session",
        "own CPU, longest, in the process's first session",
        "idle loop stood still, longest",
    )
    return Table(title, columns, rows)


def _opening_table(opened: list[dict[str, float]], append: tuple[float, float]) -> Table:
    rows = (
        (
            "Agent.session on 100,000 messages, from a checkpoint: open",
            _ms(median(one["open"] for one in opened)),
            "",
        ),
        (
            "… and its reading is there",
            _ms(median(one["read"] for one in opened)),
            _ms(median(one["cpu"] for one in opened)),
        ),
        (f"append of one event, {AT_ONCE:,} waiting", _us(append[0]), _us(append[1])),
    )
    return Table("Opening and storing", ("what", "wall", "CPU"), rows)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} us"


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--laps",
        type=int,
        default=LAPS,
        help=f"how often each loop is measured (default {LAPS})",
    )
    print(section(options.parse_args().laps).text())


if __name__ == "__main__":
    main()
