"""What a model call costs the machine that makes it, beside the official SDKs, pydantic-ai and litellm.

    uv run python -m bench.wire

One local server, a process of its own, streams the same answer to all of them, event by event. CPU time is that of the
client's process alone.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.environments import (
    OUT,
    QUIET,
    ClientFailed,
    NotInstalled,
    Peer,
    measured_by,
    python_of,
)
from bench.invented import CODE_WORDS
from bench.process import Runs, local_server, run_in_turn
from bench.results import Section, Table, ratio
from bench.wire_server import DELTAS

ROUNDS = 200
LAPS = 3
IMPORTS = 7
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Client:
    """One client: its environment (``None`` is this one), its script, and what a program runs to have it ready."""

    name: str
    peer: Peer | None
    script: str
    ready: str


def _peer(name: str, requirement: str) -> Peer:
    return Peer(name, requirement, "", "", "")


_PYDANTIC_AI = "pydantic-ai-slim[openai,anthropic,google]==2.68.0"

CLIENTS = (
    Client("ullage", None, "wire_ullage.py", "from ullage.wire.call import stream"),
    Client(
        "openai",
        _peer("openai", "openai==3.52.0"),
        "wire_openai.py",
        "import openai; c = openai.AsyncOpenAI(api_key='x'); c.chat.completions; c.responses",
    ),
    Client(
        "anthropic",
        _peer("anthropic", "anthropic==2.11.0"),
        "wire_anthropic.py",
        "import anthropic; anthropic.AsyncAnthropic(api_key='x').messages",
    ),
    Client(
        "google-genai",
        _peer("google-genai", "google-genai==3.4.0"),
        "wire_google.py",
        "from google import genai; genai.Client(api_key='x').aio.models",
    ),
    Client(
        "pydantic-ai",
        _peer("pydantic-ai", _PYDANTIC_AI),
        "wire_pydantic_ai.py",
        "import pydantic_ai.direct, pydantic_ai.models.openai",
    ),
    Client(
        "litellm",
        _peer("litellm", "litellm[mcp]==1.106.2"),
        "wire_litellm.py",
        "import litellm",
    ),
)


def rounds(count: int = ROUNDS) -> list[dict[str, str]]:
    """Tool rounds as they stand behind a request: invented, the same at every run; about 4 KB each."""
    chosen = random.Random(7)
    made: list[dict[str, str]] = []
    for at in range(count):
        lines = [" ".join(chosen.choices(CODE_WORDS, k=9)) for _ in range(72)]
        arguments = json.dumps(
            {
                "path": f"src/room_{at}/valve.py",
                "why": " ".join(chosen.choices(CODE_WORDS, k=20)),
            }
        )
        made.append(
            {
                "id": f"call_{at:020d}",
                "name": "read_file",
                "arguments": arguments,
                "result": "\n".join(lines),
            }
        )
    return made


def section() -> Section:
    """Measure everything: the clients in turn, lap by lap."""
    pythons, notes = _pythons()
    behind = OUT / "rounds.json"
    behind.parent.mkdir(exist_ok=True)
    behind.write_text(json.dumps(rounds()))
    laps: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    with local_server(str(HERE / "wire_server.py")) as url:
        for _ in range(LAPS):
            for client in CLIENTS:
                if client.name in pythons:
                    try:
                        laps[client.name].append(
                            measured_by(client.peer, client.script, url, str(behind))
                        )
                    except ClientFailed as why:
                        notes.append(f"{client.name} failed: {why}")
                        del pythons[client.name]
    ready = {
        client.name: [pythons[client.name], "-c", client.ready]
        for client in CLIENTS
        if client.name in pythons
    }
    bare = {f"{name}, bare": [python, "-c", "pass"] for name, python in pythons.items()}
    imports = run_in_turn(
        {**bare, **ready}, count=IMPORTS, environment=os.environ | QUIET
    )
    return _section(laps, imports, notes, behind.stat().st_size)


def _pythons() -> tuple[dict[str, str], list[str]]:
    found: dict[str, str] = {}
    notes: list[str] = []
    for client in CLIENTS:
        try:
            found[client.name] = str(python_of(client.peer))
        except NotInstalled as why:
            notes.append(f"{client.name} could not be installed here: {why}")
    return found, notes


def figures(
    laps: Mapping[str, list[dict[str, Any]]], what: str
) -> dict[tuple[str, str], float]:
    """The median over laps, by wire and client."""
    values: dict[tuple[str, str], list[float]] = {}
    for name, found in laps.items():
        for lap in found:
            for wire, way in lap["ways"].items():
                values.setdefault((wire, name), []).append(way[what])
    return {key: median(each) for key, each in values.items()}


def _section(
    laps: Mapping[str, list[dict[str, Any]]],
    imports: Mapping[str, Runs],
    notes: list[str],
    size: int,
) -> Section:
    streams, builds = figures(laps, "stream"), figures(laps, "build")
    ready = {
        name: imports[name].median.cpu_s - imports[f"{name}, bare"].median.cpu_s
        for name in laps
        if name in imports
    }
    ratios: list[tuple[str, ...]] = []
    absolute: list[tuple[str, ...]] = []
    for (wire, name), taken in streams.items():
        build = builds[wire, name]
        absolute.append((f"{wire}, {name}", f"{taken:.1f} ms", f"{build:.1f} ms"))
        if name != "ullage" and (wire, "ullage") in streams:
            against = (
                ratio(taken, streams[wire, "ullage"]),
                ratio(build, builds[wire, "ullage"]),
            )
            ratios.append(
                (f"{wire}, {name}", *against, ratio(ready[name], ready["ullage"]))
            )
    versions = sorted(
        {
            f"{k} {v}"
            for found in laps.values()
            for lap in found
            for k, v in lap["versions"].items()
        }
    )
    return Section(
        name="wire",
        title="A model call",
        command="uv run python -m bench.wire",
        about=(
            f"*Stream*: one streamed call whose answer comes in {DELTAS} pieces, each an event and a write of its own. "
            f"*Build*: what {ROUNDS} tool rounds ({size / 1e6:.1f} MB) behind a request add to a call, from the "
            "client's own messages to the last byte sent; ours includes the validator. Medians of 25 and 9 calls on a "
            f"warm connection, of {LAPS} laps in turn. *Import*: a fresh process that has its client ready (for "
            f"pydantic-ai one of its providers), without the bare interpreter; medians of {IMPORTS}. "
            f"Versions: {', '.join(versions)}."
        ),
        ratios=Table(
            "Against Ullage on the same wire",
            ("wire, client", "stream", "build", "import"),
            tuple(ratios),
        ),
        figures=(
            Table(
                "CPU of a call, on this machine",
                ("wire, client", "stream", "build"),
                tuple(sorted(absolute)),
            ),
            Table(
                "Import, on this machine",
                ("client", "CPU", "CPU of all runs"),
                tuple(
                    (name, f"{1e3 * cpu:.0f} ms", imports[name].cpu_spread)
                    for name, cpu in ready.items()
                ),
            ),
        ),
        notes=tuple(notes),
    )


def main() -> None:
    """Print the tables."""
    print(section().text())


if __name__ == "__main__":
    main()
