"""What the first call of each program holds, from the requests that ``--keep`` left.

The tokens are those of Ullage's estimate before the call, in the units of the model that was asked; *billed* is the
simulator's bill of the whole request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.clients.clients import CLIENTS
from bench.clients.comparison import lane_of
from bench.results import Table, named
from ullage.codec.routes import route_of
from ullage.meter.meter import Meter

PARTS = (
    "System prompt",
    "Agents",
    "Skills",
    "Memory files",
    "Instruction files",
    "Tools",
)


def sizes_table(kept: Path) -> Table:
    """A row for each client, version and model whose kept runs have a first call of the conversation."""
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, client in CLIENTS.items():
        for home in sorted((kept / name).glob("*/exchanges.jsonl")):
            version = (home.parent / "version").read_text(encoding="utf-8")
            for exchange in _exchanges(home):
                if exchange["bill"] and lane_of(client, exchange["body"]) == "main":
                    title = (client.title, version, exchange["body"].get("model", ""))
                    rows.setdefault(title, (*title, *_figures(exchange)))
                    break
    columns = named("client | version | model | system | tools | messages | billed")
    return Table("First calls", columns, tuple(rows.values()))


def _exchanges(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _figures(exchange: dict[str, Any]) -> tuple[str, ...]:
    """Tokens of system prompt, tools and messages by the estimate, and the bill."""
    wire = route_of("POST", exchange["path"]).wire
    reading = Meter(wire=wire).before(exchange["body"])
    tools = sum(row.tokens for row in reading.rows if row.name.startswith("Tools ("))
    system = sum(row.tokens for row in reading.rows if row.name.startswith(PARTS[:-1]))
    others = reading.used.tokens - tools - system
    figures = (system, tools, others, exchange["bill"]["input"])
    return tuple(f"{figure:,}" for figure in figures)
