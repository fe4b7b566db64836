"""How much bound thinking a long session keeps: compactions on a model that refuses thinking behind a changed prefix.

    uv run python -m bench.bound
    uv run python -m bench.bound --model claude-fable-5-1 --turns

A session of 200 turns with a call of a tool in each, and a turn of 200 calls, against the simulator of Anthropic's
wire. What was sent is read from the requests that reached it. A request whose thinking the API dropped counts as
refused.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.invented import Writer
from bench.results import Table, named
from ullage.events import CallStarted, EpochChanged, Event, ReasoningRefused
from ullage.messages import ReasoningPart
from ullage.meter.fold import Fold
from ullage.meter.meter import Meter
from ullage_agent.runtime.agent import Agent
from ullage_simulators import Server, running
from ullage_simulators.scenario import read

MODEL = "claude-fable-5-2"
WINDOW = 40_000
TURNS = 200
CHARACTERS = 2_500
SUMMARY = (
    "The valves are looked at one after the other, and all that were looked at are tight."
)
CALLED = "Summarize this conversation."
OWN = "Write down what is needed"
"""In a request for a summary: what the simulator asks a script for a compaction with, and Ullage's own words."""
THINKING = ("thinking", "redacted_thinking")


class Change(NamedTuple):
    """A compaction or prune: the blocks of thinking in view behind it, and those that the next request was sent."""

    call: int
    strategy: str
    in_view: int
    sent: int
    tokens: int


class Found(NamedTuple):
    """By request of the conversation, the blocks of thinking that were sent; and what was refused."""

    sent: tuple[int, ...]
    changes: tuple[Change, ...]
    refused: tuple[str, ...]
    reasons: tuple[str, ...]


async def had(model: str, *, turns: int, calls: int, window: int = WINDOW) -> Found:
    """A session of so many turns with so many calls in each."""
    author = Writer(7)
    thought = {"reasoning": author.prose(300)}
    call = {**thought, "calls": [{"name": "look", "arguments": {}}]}
    answers = [
        *({"when": {"contains": asked}, "text": SUMMARY} for asked in (CALLED, OWN)),
        {"when": {"after": "user"}, **call},
        {**thought, "text": "It is tight."},
    ]
    if calls > 1:
        answers.insert(2, {"times": calls - 1, **call})
    scenario = read({"answers": answers})

    def look() -> str:
        """Looks at the next valve."""
        return author.prose(CHARACTERS)

    with running(scenario) as server, tempfile.TemporaryDirectory() as place:
        agent = Agent(
            f"anthropic:{model}",
            tools=[look],
            store=Path(place) / "s.db",
            base_url=server.url("anthropic"),
            environment={"ANTHROPIC_API_KEY": "any", "ULLAGE_DATA": place},
            config=False,
            window=window,
            reserve=4_000,
            count="never",
            max_steps=10_000,
            max_repeats=10_000,
        )
        reasons: list[str] = []
        async with agent.session("s") as session:
            for n in range(turns):
                await session.send(f"Is valve {n} tight?")
                reasons.append((await session.wait(check=False)).reason)
            events = await session.history()
        return _found(server, events, reasons)


def _found(server: Server, events: Sequence[Event], reasons: Sequence[str]) -> Found:
    sent: list[int] = []
    refused: list[str] = []
    refused += ["dropped" for event in events if isinstance(event, ReasoningRefused)]
    for exchange in server.exchanges:
        if exchange.rule:
            refused.append(exchange.rule)
        is_main = exchange.number and not _is_summary(exchange.body)
        if is_main:
            sent.append(0 if exchange.rule else _thinking(exchange.body))
    return Found(tuple(sent), _changes(events, sent), tuple(refused), tuple(reasons))


def _is_summary(body: Any) -> bool:
    return "compaction" in body or OWN in json.dumps(body["messages"][-1:])


def _thinking(body: Any) -> int:
    count = 0
    for message in body["messages"]:
        blocks = message["content"]
        if isinstance(blocks, list):
            count += sum(block["type"] in THINKING for block in blocks)
    return count


def _changes(events: Sequence[Event], sent: Sequence[int]) -> tuple[Change, ...]:
    """Each change of the view, with the request that followed on it."""
    meter = Meter()
    calls = 0
    found: list[Change] = []
    for event in events:
        meter.apply(event)
        if isinstance(event, CallStarted) and event.purpose == "main":
            calls += 1
        if isinstance(event, EpochChanged):
            next_sent = sent[calls] if calls < len(sent) else 0
            in_view = _in_view(meter._fold)
            lost = event.reasoning_lost or 0
            found.append(Change(calls, event.reason, in_view, next_sent, lost))
    return tuple(found)


def _in_view(fold: Fold) -> int:
    return sum(1 for entry in fold.view for _ in entry.message.of_type(ReasoningPart))


def table(title: str, found: Found) -> Table:
    """A row for each compaction: what stayed in view, and what of it was sent on."""
    rows: list[tuple[str, ...]] = []
    for change in found.changes:
        kept = f"{change.sent / change.in_view:.0%}" if change.in_view else "-"
        lost = change.in_view - change.sent
        row = (change.strategy, change.call, change.in_view, change.sent, lost, kept)
        rows.append((*map(str, row), f"{change.tokens:,}"))
    columns = named(
        "strategy | before call | thinking in view | sent | lost | kept | tokens lost"
    )
    return Table(title, columns, tuple(rows))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", default=MODEL)
    options.add_argument("--turns", action="store_true", help="each request, too")
    chosen = options.parse_args()
    for turns, calls in ((TURNS, 1), (1, TURNS)):
        found = asyncio.run(had(chosen.model, turns=turns, calls=calls))
        title = f"{chosen.model}: {turns} turns, {calls} calls in each, {WINDOW:,} tokens"
        print(table(title, found).text())
        finished = found.reasons.count("finished")
        in_view = sum(change.in_view for change in found.changes)
        sent = sum(change.sent for change in found.changes)
        print(
            f"  {len(found.sent)} requests, {len(found.refused)} refused, {finished} of {turns} turns finished; "
            f"of {in_view} blocks of thinking in view behind a compaction {sent} were sent on"
        )
        if chosen.turns:
            print("  sent with each request:", *found.sent)


if __name__ == "__main__":
    main()
