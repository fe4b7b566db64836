"""What clearing costs and saves after a pause that the provider's cache did not survive: the setting ``clear_cold_at``.

    uv run python -m bench.cold_cache

An invented session of tool results, whose last call was an hour ago, goes on for some turns against the simulator of
Anthropic's wire. Nothing is timed: every figure is a count of the simulator.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from ullage_simulators import running
from ullage_simulators.scenario import read

from bench.invented import Writer
from ullage.context.clear import READ_PRICE, WRITE_PRICE
from ullage.events import CallEnded, CallStarted, Event, MessageAdded, SessionStarted
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.runtime.agent import Agent
from ullage.store.sqlite.store import SqliteStore

MODEL = "claude-opus-4-6"
WINDOW = 200_000
READS = 60
CHARACTERS = 7_000
TURNS = 6
PAUSE_S = 3_600.0


class Billed(NamedTuple):
    """Tokens of all calls after the pause. ``fresh``: their price in fresh input tokens."""

    first: int
    input: int
    uncached: int
    fresh: float


def history() -> list[Event]:
    """A session that read many files, as of an hour ago."""
    author, began = Writer(4), time.time() - PAUSE_S
    messages = [_message("u", "user", "Read the valves' records, one after the other.")]
    for n in range(READS):
        call = ToolCallPart(
            id=f"a{n}.1", call_id=f"c{n}", name="read", arguments=f'{{"file": {n}}}'
        )
        text = TextPart(id=f"r{n}.1.1", text=author.prose(CHARACTERS))
        result = ToolResultPart(id=f"r{n}.1", call_id=f"c{n}", content=(text,))
        messages += [
            Message(id=f"a{n}", role="assistant", parts=(call,)),
            Message(id=f"r{n}", role="tool", parts=(result,)),
        ]
    messages.append(_message("z", "assistant", "All of them were read."))
    started = SessionStarted(model=MODEL, wire="messages", provider="anthropic")
    events: list[Event] = [started]
    events += [MessageAdded(message=message) for message in messages]
    events += [CallStarted(call="c", at=began), CallEnded(call="c", at=began)]
    return events


def _message(name: str, role: str, text: str) -> Message:
    return Message(id=name, role=role, parts=(TextPart(id=f"{name}.1", text=text),))  # type: ignore[arg-type]


async def resumed(clear_cold_at: float | None) -> Billed:
    """What the calls after the pause are billed."""
    scenario = read({"answers": [{"text": "It is as it should be."}]})
    with running(scenario) as server, tempfile.TemporaryDirectory() as place:
        store = SqliteStore(Path(place) / "s.db")
        await store.create("s", history())
        agent = Agent(
            f"anthropic:{MODEL}",
            store=store,
            base_url=server.url("anthropic"),
            environment={"ANTHROPIC_API_KEY": "any", "ULLAGE_DATA": place},
            config=False,
            window=WINDOW,
            clear_cold_at=clear_cold_at,
        )
        async with agent.session("s") as session:
            for n in range(TURNS):
                await session.send(f"Is valve {n} tight?")
                await session.wait()
        await store.close()
        bills = server.truth().bills
    read_tokens = sum(bill.cache_read for bill in bills)
    written = sum(bill.cache_write for bill in bills)
    total = sum(bill.input for bill in bills)
    plain = total - read_tokens - written
    fresh = plain + WRITE_PRICE * written + READ_PRICE * read_tokens
    return Billed(bills[0].input, total, total - read_tokens, fresh)


def main() -> None:
    """Print both figures."""
    print(f"{READS} results, a pause of {PAUSE_S / 60:.0f} minutes, {TURNS} more turns")
    print(
        f"{'clear_cold_at':14} {'first call':>10} {'input':>10} {'uncached':>10} {'cost':>10}"
    )
    for share in (None, 0.5):
        billed = asyncio.run(resumed(share))
        row = f"{billed.first:>10,} {billed.input:>10,} {billed.uncached:>10,} {billed.fresh:>10,.0f}"
        print(f"{share or 'never'!s:14} {row}")


if __name__ == "__main__":
    main()
