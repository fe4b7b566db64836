"""One long session driven through three compactions against the same simulator: what is sent, refused, billed and lost.

    uv run python -m bench.compaction                      # prints the invented sessions
    uv run python -m bench.compaction --log SESSION --write bench/RESULTS.md

Nothing is timed: every figure is a count.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.environments import (
    HARNESS_COMPACTION,
    LANGCHAIN_COMPACTION,
    ClientFailed,
    NotInstalled,
    Peer,
    measured_by,
)
from bench.long_sessions import LongSession, invented, recorded
from bench.plugins.frameworks import Framework
from bench.plugins.outcome import PluginOutcome, is_summary
from bench.plugins.outcome import outcome as judged_as_a_plug_in
from bench.plugins.scenarios import TRIGGER, Played, Step, markers_of, script
from bench.results import Table, show, write_tables
from ullage_simulators import running
from ullage_simulators.drawn import Drawn
from ullage_simulators.server import Exchange
from ullage_simulators.tokenizer import tokens

TURNS = 300
WINDOW = 32_000
LOG_WINDOW = 48_000
SEED = 4
SEEDS = (4, 5, 6, 7)
"""Of the invented sessions: where the last compaction falls is luck, and four even it out."""
NEAR = 0.02
"""A trigger this share of the threshold below it by the true count is taken to be at it."""
BLOCK, LEAST = 128, 1_024
"""Tokens in which this wire caches, and of the shortest prefix: less than one block is no loss."""
MODEL = "gpt-4.1"
COMPARED = Framework(
    "Agents",
    (),
    models=(MODEL, "gpt-4.1-mini"),
    summaries=("Messages to summarize:", "Write the summary under these exact"),
)
"""What is compared: how langchain's and the harness' requests for a summary are known."""
ENDS = "This result is too long to show whole"
"""Stands between the ends of a result that ours has cut; the others cut none."""
KINDS = {"invented": "Invented sessions", "recorded": "Recorded session"}
"""How the titles of the tables begin."""


@dataclass(frozen=True, slots=True)
class Client:
    """One way to compact. ``peer`` is ``None`` for ours."""

    name: str
    peer: Peer | None
    script: str
    arguments: tuple[str, ...] = ()


CLIENTS = (
    Client("ullage", None, "plugin_ullage.py"),
    Client(
        "pydantic-ai-harness, tiered",
        HARNESS_COMPACTION,
        "plugin_pydantic_ai.py",
        ("tiered",),
    ),
    Client(
        "pydantic-ai-harness, summary",
        HARNESS_COMPACTION,
        "plugin_pydantic_ai.py",
        ("summary",),
    ),
    Client("langchain", LANGCHAIN_COMPACTION, "plugin_langchain.py", ("own",)),
)


@dataclass(slots=True, kw_only=True)
class Outcome(PluginOutcome):
    """What one client did, from the simulator's side. Tokens are true ones.

    ``lost``: what stood in the request before and in this one, and was not read from the cache. ``early`` and ``above``
    are wrong triggers: fired below the threshold, and a request sent above it. ``shortened`` are results cut to their
    ends.
    """

    compactions: int = 0
    sent: int = 0
    lost: int = 0
    early: int = 0
    shortened: int = 0
    summary_billed: int = 0
    problems: tuple[str, ...] = ()


def played(session: LongSession, window: int) -> Played:
    """The session as it is said to each client."""
    return Played(session, window, [[Step(said, MODEL) for said in session.turns]])


def run(
    client: Client, session: LongSession, window: int
) -> tuple[Outcome, dict[str, str]]:
    """Drive one client through the session. Raises ``ClientFailed``, ``NotInstalled``."""
    said = played(session, window)
    with (
        running(script(said, COMPARED), seed=SEED, wires=["openai"]) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        told = Path(folder) / "plan.json"
        told.write_text(json.dumps(said.plan(0, folder)))
        arguments = (server.url("openai"), str(told), *client.arguments)
        found = measured_by(client.peer, client.script, *arguments)
        exchanges = [each for each in server.exchanges if each.number]
        outcome = judged(exchanges, said, server.truth().drawn[MODEL])
    outcome.failed_turns = len(found["problems"])
    outcome.problems = tuple(dict.fromkeys(found["problems"]))
    outcome.counted = sum(found["counted"])
    return outcome, found["versions"]


def judged(exchanges: Sequence[Exchange], said: Played, drawn: Drawn) -> Outcome:
    """What the requests of one session come to."""
    found = Outcome(**asdict(judged_as_a_plug_in(exchanges, said, COMPARED)))
    found.shortened = shortened(exchanges)
    threshold = TRIGGER * said.window
    before: Exchange | None = None
    for each in exchanges:
        if each.bill is None:
            continue
        found.sent += each.bill.input
        if is_summary(each, markers_of(COMPARED)):
            found.summary_billed += each.bill.input + each.bill.output
            continue
        if before is not None and before.bill is not None:
            common = min(before.bill.input, each.bill.input)
            missed = common - each.bill.cache_read if common >= LEAST else 0
            whole = before.bill.input + before.bill.output + added(each, drawn)
            if missed > BLOCK:
                found.lost += missed
                found.compactions += 1
                found.early += whole < threshold * (1 - NEAR)
        before = each
    return found


def shortened(exchanges: Sequence[Exchange]) -> int:
    """How many tool results the model was given only by their ends."""
    said = (
        message
        for each in exchanges
        for message in each.body["messages"]
        if message["role"] == "tool"
    )
    return len(
        {
            message["tool_call_id"]
            for message in said
            if ENDS in json.dumps(message["content"])
        }
    )


def added(after: Exchange, drawn: Drawn) -> int:
    """True tokens of what came after the last answer: the newest results or the user's words."""
    size = 0
    for message in reversed(after.body["messages"]):
        if message["role"] not in ("tool", "user"):
            break
        content = message["content"]
        text = (
            content
            if isinstance(content, str)
            else "".join(part.get("text", "") for part in content)
        )
        size += round(drawn.factor * tokens(text)) + drawn.message
    return size


def driven(
    name: str, sessions: Sequence[LongSession], window: int
) -> tuple[list[Table], list[str]]:
    """Drive all clients through the sessions, one after the other. The figures are the sums."""
    found: dict[str, Outcome] = {}
    versions: dict[str, str] = {}
    notes: list[str] = []
    for client in CLIENTS:
        total = Outcome()
        try:
            for number, session in enumerate(sessions, 1):
                place = f"{name} {number}/{len(sessions)}: {client.name} …"
                print(place, file=sys.stderr, flush=True)
                outcome, seen = run(client, session, window)
                total.add(outcome)
                versions |= seen
        except (ClientFailed, NotInstalled) as why:
            notes.append(f"{client.name} failed: {why}")
            continue
        found[client.name] = total
        notes += [f"{client.name}, a failed turn: {each}" for each in total.problems[:3]]
    notes.append(f"Versions: {', '.join(f'{k} {v}' for k, v in versions.items())}.")
    return list(_tables(found, KINDS[name])), notes


SENT = {
    "model calls": "calls",
    "tokens sent": "sent",
    "not from the cache": "uncached",
    "lost from the cache": "lost",
    "refused": "refused",
    "turns that failed": "failed_turns",
}
FIRED = {
    "compactions": "compactions",
    "fired below": "early",
    "sent above": "above",
    "summary calls": "summaries",
    "their tokens": "summary_billed",
    "turns lost unseen": "unseen",
    "results cut": "shortened",
    "billed": "billed",
    "counted by it": "counted",
}
"""Columns, and the fields of ``Outcome`` that they show."""


def _tables(found: dict[str, Outcome], kind: str) -> tuple[Table, Table]:
    made = []
    titles = {"what was sent": SENT, "when it fired, and what it cost": FIRED}
    for title, columns in titles.items():
        rows = []
        for name, one in found.items():
            figures = (f"{getattr(one, field):,}" for field in columns.values())
            rows.append((name, *figures))
        made.append(Table(f"{kind}: {title}", ("", *columns), tuple(rows)))
    return made[0], made[1]


def main() -> None:
    """Print the tables, and with --write put them into the page."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--write", type=Path, metavar="PAGE")
    options.add_argument(
        "--turns",
        type=int,
        default=TURNS,
        help=f"how long the invented session is (default {TURNS})",
    )
    options.add_argument("--log", type=Path, metavar="SESSION")
    options.add_argument(
        "--log-window",
        type=int,
        default=LOG_WINDOW,
        metavar="N",
        help=f"its window in tokens (default {LOG_WINDOW:,})",
    )
    chosen = options.parse_args()
    sessions = [invented(chosen.turns, seed) for seed in SEEDS]
    tables, notes = driven("invented", sessions, WINDOW)
    if chosen.log:
        more = driven("recorded", [recorded(chosen.log)], chosen.log_window)
        tables, notes = tables + more[0], notes + more[1]
    show(*tables, notes=notes)
    if chosen.write:
        write_tables(chosen.write, tables)


if __name__ == "__main__":
    main()
