"""What a step of a tool loop costs with 10, 100 and 1,000 steps behind it, beside pydantic-ai and openai-agents.

    uv run python -m bench.loop

Each client is a process of its own in an environment of its own, and all talk to the same local server. CPU time is
that of the client's process alone. Ours stores every event in SQLite, reads its window and validates each request.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import environments
from bench.process import local_server
from bench.results import Table, ms, named, ratio, show

LAPS = 3
STEPS = {10: 11, 100: 11, 1_000: 6}
"""Tool calls that are made with so many behind them; the time between the first and the last of them is taken."""
DELAY_S = 0.1
"""Before each piece of the streams that run at once."""
LONG = environments.OUT / "loop-opening"
HERE = Path(__file__).parent
OURS = "ullage"


@dataclass(frozen=True, slots=True)
class Client:
    """One client on one wire; ``peer`` is ``None`` for ours."""

    name: str
    wire: str
    peer: environments.Peer | None
    way: str


CLIENTS = tuple(
    client
    for wire in ("messages", "responses", "chat")
    for client in (
        Client(OURS, wire, None, wire),
        Client("pydantic-ai", wire, environments.PYDANTIC_AI, wire),
        *(
            Client(name, wire, environments.OPENAI_AGENTS, way)
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
    name = client.name.partition(",")[0].replace("-", "_")
    script = f"loop_{name}.py"
    return environments.measured_by(
        client.peer, script, client.way, base, str(behind), str(steps)
    )


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
                    except (environments.ClientFailed, environments.NotInstalled) as why:
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
            except (environments.ClientFailed, environments.NotInstalled) as why:
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


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--laps",
        type=int,
        default=LAPS,
        help=f"how often each loop is measured (default {LAPS})",
    )
    found, notes = loops(CLIENTS, options.parse_args().laps)
    streaming = at_once(
        tuple(
            client
            for client in CLIENTS
            if client.wire != "chat" and client.name != "openai-agents"
        )
    )
    steps = steps_table(found)
    show(steps, _streams_table(streaming), _opening_table(opening()), notes=notes)


def steps_table(found: Mapping[tuple[Client, int], list[dict[str, Any]]]) -> Table:
    """CPU and wall time of a step by client, and CPU against ours on the same wire."""
    cpu = {key: median(lap["cpu"] for lap in each) for key, each in found.items()}
    wall = {key: median(lap["wall"] for lap in each) for key, each in found.items()}
    ours = {}
    for (client, behind), value in cpu.items():
        if client.name == OURS:
            ours[client.wire, behind] = value
    rows = []
    for client in dict.fromkeys(client for client, _ in cpu):
        cells = []
        for behind in STEPS:
            if (client, behind) not in cpu:
                cells.append("failed")
                continue
            times = ms(cpu[client, behind]), ms(wall[client, behind])
            against = ratio(cpu[client, behind], ours[client.wire, behind])
            cells.append(f"{times[0]} ({times[1]}), {against}")
        rows.append((f"{client.wire}, {client.name}", *cells))
    columns = ("wire, client", *(f"{behind:,} steps behind" for behind in STEPS))
    return Table("CPU of a step (wall), × Ullage on the same wire", columns, tuple(rows))


def _streams_table(streaming: Mapping[Client, dict[str, Any]]) -> Table:
    rows = tuple(
        (
            f"{client.wire}, {client.name}",
            ms(one["stall"]),
            ms(one["own"]),
            ms(one["cpu"] / 100),
            ms(one["own_opening"]),
            ms(one["idle"]),
        )
        for client, one in streaming.items()
    )
    title = f"100 sessions that stream at once, begun within a second, a piece every {DELAY_S * 1000:.0f} ms each"
    columns = named(
        "wire, client | loop stood still, longest | its own CPU, longest | CPU a session | "
        "own CPU, longest, in the process's first session | idle loop stood still, longest"
    )
    return Table(title, columns, rows)


def _opening_table(opened: list[dict[str, float]]) -> Table:
    middle = {name: ms(median(one[name] for one in opened)) for name in opened[0]}
    rows = (
        ("open, from a checkpoint", middle["open"], ""),
        ("… and its reading is there", middle["read"], middle["cpu"]),
    )
    title = "Agent.session on 100,000 messages"
    return Table(title, ("what", "wall", "CPU"), rows)


if __name__ == "__main__":
    main()
