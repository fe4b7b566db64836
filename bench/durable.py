"""What a durable step costs, and a restart after ``kill -9``, beside LangGraph and pydantic-ai with DBOS.

    uv run python -m bench.durable [--steps 40] [--kills 3] [--laps 2]

One scripted conversation: each step is a streamed answer of some 90 characters with a tool call, and a result of 600.
Each program is a process of its own in an environment of its own; all talk to the same simulator. CPU and written bytes
are of that process, from ``/proc``; what PostgreSQL takes is of all of its processes, and its log as it counts it
(``pg_current_wal_lsn``). Ullage also stores the pieces of each answer as they come, and lets others follow them.

A restart: the program is killed in the middle of the conversation and started again; the time is from the start of the
new process, and from where its code asks for the conversation, to its next tool call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg

from bench import environments
from bench.results import Table, ms, named, ratio, show
from bench.store_postgres import cpu_of, store_place
from tests.postgres import PostgresServer
from ullage_simulators import running
from ullage_simulators.scenario import read

SAID = (
    "I look at the next cask, to be sure that its level is what the log of the week says."
)
LAUNCHED_IN_S = 60.0

LANGGRAPH = environments.Peer(
    "langgraph",
    "langgraph==1.2.24",
    also=(
        "langgraph-checkpoint-sqlite",
        "langgraph-checkpoint-postgres",
        "langchain-anthropic",
        "psycopg[binary]",
    ),
)
DBOS = environments.Peer(
    "pydantic-ai with DBOS",
    "pydantic-ai-slim[anthropic,dbos]==2.68.0",
    also=("psycopg[binary]",),
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program to measure; ``peer`` is ``None`` for ours."""

    name: str
    peer: environments.Peer | None
    script: str


PROGRAMS = (
    Program("Ullage", None, "durable_ullage.py"),
    Program("LangGraph", LANGGRAPH, "durable_langgraph.py"),
    Program("pydantic-ai with DBOS", DBOS, "durable_dbos.py"),
)


def script(steps: int, warm: int = 3) -> dict[str, Any]:
    """A conversation of ``warm`` steps, then one of ``steps``."""
    answers: list[dict[str, Any]] = []
    for many in (warm, steps) if warm else (steps,):
        for cask in range(1, many + 1):
            call = {"name": "level", "arguments": {"cask": cask}}
            answers.append({"times": 1, "text": SAID, "calls": [call]})
        answers.append({"times": 1, "text": "All casks are full enough."})
    answers.append({"text": "All casks are full enough."})
    return {"answers": answers, "server": {"chunk": 12}}


def started(
    program: Program, how: str, place: str, steps: int, marks: Path, url: str
) -> subprocess.Popen[str]:
    """The program at work. Raises ``NotInstalled``."""
    python = environments.python_of(program.peer)
    path = environments.PEERS_FOLDER / program.script
    return subprocess.Popen(
        [str(python), str(path), how, place, str(steps), str(marks)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ
        | environments.QUIET
        | {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "LANGSMITH_TRACING": "false",
            "OTEL_SDK_DISABLED": "true",
        },
    )


def result_of(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    """What it printed last. Raises ``ClientFailed``."""
    out, problem = process.communicate(timeout=600)
    if process.returncode:
        last = (problem.strip().splitlines() or ["no output"])[-1]
        raise environments.ClientFailed(f"{name}: {last[:300]}")
    found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return found


def marked(marks: Path, what: str) -> list[float]:
    """When the program left this mark, each time."""
    if not marks.exists():
        return []
    lines = (line.split(" ", 1) for line in marks.read_text().splitlines())
    return [float(at) for at, mark in lines if mark == what]


def until(marks: Path, what: str, many: int, process: subprocess.Popen[str]) -> None:
    """Return once the mark was left so often. Raises ``ClientFailed`` if the program ends before."""
    end = time.monotonic() + LAUNCHED_IN_S
    while len(marked(marks, what)) < many:
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            said = process.communicate()[1].strip().splitlines() or ["no output"]
            raise environments.ClientFailed(f"no {what!r} came: {said[-1][:300]}")
        time.sleep(0.005)


@dataclass(frozen=True, slots=True)
class PostgresUse:
    """What a PostgreSQL server has used so far."""

    log_bytes: int
    commits: int
    cpu: float


async def used(server: PostgresServer, place: str) -> PostgresUse:
    connection = await asyncpg.connect(place)
    try:
        log = await connection.fetchval("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        commits = await connection.fetchval(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        )
    finally:
        await connection.close()
    return PostgresUse(int(log), int(commits), cpu_of(server))


def measured(
    program: Program, place: str, server: PostgresServer | None, steps: int, folder: Path
) -> dict[str, Any]:
    """What a step takes."""
    marks = folder / "marks"
    marks.unlink(missing_ok=True)
    with running(read(script(steps))) as simulator:
        url = simulator.url("anthropic")
        process = started(program, "measure", place, steps, marks, url)
        until(marks, "warm", 1, process)
        before = asyncio.run(used(server, place)) if server else None
        found = result_of(process, program.name)
    if server and before:
        time.sleep(1.2)  # PostgreSQL's own count of commits is a second late
        after = asyncio.run(used(server, place))
        found["log"] = (after.log_bytes - before.log_bytes) / steps
        found["commits"] = (after.commits - before.commits) / steps
        found["server cpu"] = (after.cpu - before.cpu) / steps
    return found


def restarted(
    program: Program, place: str, steps: int, folder: Path
) -> tuple[float, float]:
    """Seconds to the next tool call: since the new process began, and since its code asked for the conversation."""
    marks = folder / "marks"
    marks.unlink(missing_ok=True)
    with running(read(script(steps, warm=0))) as simulator:
        url = simulator.url("anthropic")
        process = started(program, "begin", place, steps, marks, url)
        until(marks, "tool", steps // 2, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = len(marked(marks, "tool"))
        began = time.time()
        process = started(program, "resume", place, steps, marks, url)
        until(marks, "tool", before + 1, process)
        result_of(process, program.name)
    at = marked(marks, "tool")[before]
    return at - began, at - marked(marks, "asked")[0]


def rows_of(
    found: Mapping[tuple[str, bool], list[dict[str, Any]]],
) -> Iterator[tuple[str, ...]]:
    for is_sqlite in (True, False):
        ours = found.get(("Ullage", is_sqlite), [])
        for program in PROGRAMS:
            laps = found.get((program.name, is_sqlite), [])
            if not laps:
                continue
            middle = {key: median(lap[key] for lap in laps) for key in laps[0]}
            own = median(lap["cpu"] for lap in ours) if ours else middle["cpu"]
            rest = (f"{middle['bytes']:,.0f}", "", "", "")
            if not is_sqlite:
                rest = (
                    "",
                    f"{middle['log']:,.0f}",
                    ms(middle["server cpu"]),
                    f"{middle['commits']:.0f}",
                )
            yield (
                f"{program.name}, {'SQLite' if is_sqlite else 'PostgreSQL'}",
                f"{ms(middle['cpu'])}, {ratio(middle['cpu'], own)}",
                *rest,
            )


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--steps", type=int, default=40)
    options.add_argument("--kills", type=int, default=3)
    options.add_argument("--laps", type=int, default=2)
    asked = options.parse_args()
    found: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    restarts: dict[str, list[tuple[float, float]]] = {}
    failed: list[str] = []
    for lap in range(asked.laps):
        for is_sqlite in (True, False):
            for program in PROGRAMS:
                print(f"lap {lap + 1}: {program.name} …", file=sys.stderr, flush=True)
                with (
                    tempfile.TemporaryDirectory() as name,
                    store_place(Path(name), is_sqlite=is_sqlite) as (place, server),
                ):
                    try:
                        one = measured(program, place, server, asked.steps, Path(name))
                        found.setdefault((program.name, is_sqlite), []).append(one)
                    except (
                        environments.ClientFailed,
                        environments.NotInstalled,
                    ) as why:
                        failed.append(f"{program.name} failed: {why}")
    for _ in range(asked.kills):
        for program in PROGRAMS:
            with tempfile.TemporaryDirectory() as name:
                place = str(Path(name) / "s.db")
                try:
                    took = restarted(program, place, asked.steps, Path(name))
                    restarts.setdefault(program.name, []).append(took)
                except (environments.ClientFailed, environments.NotInstalled) as why:
                    failed.append(f"{program.name} did not resume: {why}")
    steps = Table(
        "A step, × Ullage on the same database",
        named(
            "program, database | own CPU | bytes written | PostgreSQL's log, bytes | its CPU | commits"
        ),
        tuple(rows_of(found)),
    )
    again = Table(
        "kill -9 in the middle, on SQLite: seconds to the next tool call",
        named("program | from the start of the process | from where it is asked for"),
        tuple(
            (
                name,
                ", ".join(f"{one[0]:.1f}" for one in each),
                ", ".join(f"{one[1]:.2f}" for one in each),
            )
            for name, each in restarts.items()
        ),
    )
    show(steps, again, notes=failed)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
