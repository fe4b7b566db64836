"""``ullage demo``: a scripted agent at work on a small window, against a strict double of a provider over HTTP.

Everything but the model's words is real: requests go over HTTP to the simulator, which counts them with a tokenizer
and numbers of its own that nobody here knows; the session lives in a SQLite file; a message is sent while tools run,
and one answer is cancelled in the middle.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Final

from ullage.cli.demo_script import MODEL, REQUEST, SECOND, STEER, STORY, WINDOW, answers, tools_of
from ullage.cli.drawing import Subject, draw, spelled
from ullage.cli.listing import step_table
from ullage.cli.live import Live
from ullage.cli.screen import Screen
from ullage.cli.table import LARGEST_NAMED
from ullage.cli.text import Span
from ullage.events import ToolStarted
from ullage.runtime.agent import Agent
from ullage.runtime.session import Session
from ullage.simulators import Server, running
from ullage.simulators.scenario import read
from ullage.store.store import DraftPiece

PAUSE_S: Final = 0.03
"""Seconds before each piece of an answer, so that one can watch it being written."""

STEER_AT: Final = 9  # the tool call during which the second message is sent
CANCEL_AFTER: Final = 120  # characters of the answer that is cancelled


def run(args: argparse.Namespace) -> int:
    """Play the demonstration. 0 when every step went as it should; raises ``MissingExtra`` without the simulators."""
    scenario = read(
        {
            "server": {"delay_s": 0.0 if args.fast else PAUSE_S},
            "models": [{"name": MODEL, "like": "claude-opus-4-6", "window": WINDOW, "max_output": 2_000}],
            "answers": answers(),
        }
    )
    screen = Screen(sys.stdout)
    with running(scenario, seed=args.seed) as server, tempfile.TemporaryDirectory(prefix="ullage-demo-") as place:
        return asyncio.run(_play(server, Path(place), screen))


async def _play(server: Server, place: Path, screen: Screen) -> int:
    screen.show(
        [
            (
                Span("An agent looks through the logs of a cellar, on a window of ", "dim"),
                Span(f"{WINDOW:,}", "strong"),
            ),
            (Span(f"tokens. The provider is a double of Anthropic's API at {server.url('anthropic')}.", "dim"),),
            (),
        ]
    )
    agent = Agent(
        f"anthropic:{MODEL}",
        tools=tools_of(),
        system="You look after the logs of a wine cellar. Read before you answer, and keep to what the logs say.",
        store=place / "sessions.db",
        environment={"ANTHROPIC_API_KEY": "any"},
        base_url=server.url("anthropic"),
        config=False,
        window=WINDOW,
        root=place,
    )
    live = Live(screen)
    async with agent.session("demo") as session:
        await session.send(REQUEST)
        await _watch(session, live)
        await session.send(STORY)
        await _watch(session, live, cancels=True)
        await session.send(SECOND)
        await _watch(session, live)
        live.end()
        await _close(session, screen)
    refused = [exchange for exchange in server.exchanges if exchange.status != 200]
    for exchange in refused:
        print(f"The simulator refused a request: {exchange.said}", file=sys.stderr)
    return 2 if refused else 0


async def _watch(session: Session, live: Live, *, cancels: bool = False) -> None:
    """Show a turn; say something while its tools run, or cancel its answer in the middle."""
    started, written = 0, 0
    async with aclosing(session.events(after=live.seen, until_rest=True)) as events:  # type: ignore[type-var]
        async for event in events:
            live.show(event, session.reading)
            if isinstance(event, ToolStarted) and not cancels:
                started += 1
                if started == STEER_AT:
                    await session.send(STEER)
            if cancels and isinstance(event, DraftPiece) and event.kind == "text":
                written += len(event.text)
                if written > CANCEL_AFTER:
                    cancels = False
                    await session.cancel()


async def _close(session: Session, screen: Screen) -> None:
    """The window as it is now, and every estimate beside its actual."""
    meter = await session.meter()
    reading = await session.context()
    subject = Subject(
        reading=reading,
        program="ullage demo",
        calls=len(meter.steps),
        steps=meter.steps,
        largest=meter.largest(LARGEST_NAMED + 1),
    )
    table = [spelled(line, screen.glyphs) for line in step_table(meter.steps, screen.width)]
    screen.show([(), *table, (), *draw(subject, screen.width, screen.glyphs)])
