"""``ullage demo``: a scripted agent at work on a small window, against a strict simulator of a provider over HTTP.

Everything but the model's words is real: requests go over HTTP to the simulator, which counts them with a tokenizer
and numbers of its own that nobody here knows; the session lives in a SQLite file; a message is sent while tools run,
and one answer is cancelled in the middle.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final, NamedTuple

import ullage_agent.cli.demo_script as script
from ullage.cli.drawing import WIDEST, Subject, draw
from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.listing import step_table
from ullage.cli.live import Live
from ullage.cli.screen import Screen
from ullage.cli.table import LARGEST_NAMED
from ullage.display.gauge_line import spelled
from ullage.display.text import Line, Span, counted, fine_percent, number, wrapped
from ullage.errors import UllageError
from ullage.events import DraftPiece, ToolStarted
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.track import Step
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.session import Session
from ullage_simulators import Server, running
from ullage_simulators.scenario import read


class Pace(NamedTuple):
    """Seconds before each piece of an answer, and those a tool takes at least."""

    piece_s: float
    tool_s: float


READABLE: Final = Pace(0.026, 0.15)
FAST: Final = Pace(0.002, 0.01)
"""Not nothing: what is cancelled in the middle needs one."""

STEER_AT: Final = 4
"""The tool call during which the second message is sent."""
CANCEL_AFTER: Final = 180
"""Characters of the answer that is cancelled."""

MOSTLY: Final = 0.75
"""Share of the estimates that have to be inside their intervals. Among forty calls are those of a cold start, and the
first ones after a prune, a compaction and a rule learnt, which miss more often than the 1 in 20 of a long session."""

ENDS: Final = 3
"""Calls at either end that the table shows whatever happened there."""


def run(args: argparse.Namespace) -> int:
    """Play the demonstration.

    0 when the provider accepted every request and the estimates were inside their intervals as they should be, else 2.
    """
    pace = FAST if args.fast else READABLE
    scenario = read(
        {
            "server": {"delay_s": pace.piece_s},
            "models": [
                {
                    "name": script.MODEL,
                    "like": "claude-opus-4-6",
                    "window": script.WINDOW,
                    "max_output": script.MAX_OUTPUT,
                }
            ],
            "answers": script.answers(),
        }
    )
    screen = Screen(sys.stdout)
    with (
        running(scenario, seed=args.seed) as server,
        tempfile.TemporaryDirectory(prefix="ullage-demo-") as place,
    ):
        return asyncio.run(_play(server, Path(place), screen, pace))


def opening(width: int) -> list[Line]:
    """What a stranger is going to see, and why it matters."""
    said = (
        f"A scripted agent, no key needed, on a context window of only {number(script.WINDOW)} tokens.",
        "The bar below is its window: known before each call, checked against the bill.",
    )
    lines = [line for each in said for line in wrapped(each, min(width, WIDEST))]
    return [*((Span(line, "strong"),) for line in lines), ()]


async def _play(server: Server, place: Path, screen: Screen, pace: Pace) -> int:
    agent = Agent(
        f"anthropic:{script.MODEL}",
        tools=script.tools_of(pause_s=pace.tool_s),
        system=script.SYSTEM,
        store=place / "sessions.db",
        environment={"ANTHROPIC_API_KEY": "any"},
        base_url=server.url("anthropic"),
        config=False,
        learns=False,
        window=script.WINDOW,
        max_output=script.MAX_OUTPUT,
        protect_tokens=500,  # the usual 40,000 would be all of so small a window
        params={"thinking": {"type": "adaptive"}},
        root=place,
    )
    screen.show(opening(screen.width))
    live = Live(screen)
    async with agent.session("demo") as session:
        try:
            await _turn(session, live, script.REQUEST, steer=script.STEER)
            await _turn(session, live, script.STORY, cancels=True)
            await _turn(session, live, script.SECOND)
        finally:
            live.end()
        screen.width = live.scroll.width
        meter, reading = await session._meter(), await session.context()
    refused = [exchange.said for exchange in server.exchanges if exchange.status != 200]
    screen.show(closing(meter, reading, len(server.exchanges), len(refused), screen))
    for said in refused:
        print(f"The simulator refused a request: {said}", file=sys.stderr)
    return DONE if not refused and is_mostly_inside(reading) else FAILED


async def _turn(
    session: Session, live: Live, request: str, *, steer: str = "", cancels: bool = False
) -> None:
    """One turn: say something more while its tools run, or cancel its answer in the middle."""
    await session.send(request)
    started = written = 0
    async with aclosing(session.events(after=live.seen, until_rest=True)) as events:
        async for event in events:
            live.show(event, session._reading)
            if isinstance(event, ToolStarted):
                started += 1
                if started == STEER_AT and steer:
                    await session.send(steer)
            if cancels and isinstance(event, DraftPiece) and event.kind == "text":
                written += len(event.text)
                if written > CANCEL_AFTER:
                    cancels = False
                    await session.cancel()
    result = await session.wait(check=False)
    if result.error is not None:
        raise result.error
    if cancels:
        raise UllageError(
            "The answer that was to be cancelled was over too soon: this machine was busy. Try again."
        )


def is_mostly_inside(reading: Reading) -> bool:
    """Whether as many estimates were inside their intervals as should be."""
    accuracy = reading.accuracy
    return accuracy.calls > 0 and accuracy.inside >= MOSTLY * accuracy.calls


def closing(
    meter: Meter, reading: Reading, requests: int, refused: int, screen: Screen
) -> list[Line]:
    """Estimates beside actuals where something happened, how they fared, and the window as it is now."""
    width, accuracy = min(screen.width, WIDEST), reading.accuracy
    subject = Subject(
        reading=reading,
        program="ullage demo",
        calls=len(meter.steps),
        steps=meter.steps,
        largest=meter.largest(LARGEST_NAMED + 1),
    )
    median = accuracy.median_error_percent
    said = (
        f"{counted(requests, 'request')} over HTTP, {number(refused) if refused else 'none'} refused · "
        f"{number(accuracy.inside)} of {number(accuracy.calls)} estimates inside their interval"
        + ("" if median is None else f" · median error {fine_percent(median)}")
    )
    summary = [(Span(line, "strong"),) for line in wrapped(said, width)]
    about = "What was estimated before a call, and what the provider billed for it"
    heading = [(Span(line, "title"),) for line in wrapped(about, width)]
    lines = [(), *heading, *shortened_table(meter.steps, width), *summary, ()]
    return [
        *(spelled(line, screen.glyphs) for line in lines),
        *draw(subject, screen.width, screen.glyphs),
    ]


def shortened_table(steps: Sequence[Step], width: int) -> list[Line]:
    """The table of calls with those at both ends, those around a change, and those that missed; dots for the others."""
    head, *rows = step_table(steps, width)
    lines, left_out = [head], 0
    for place, (step, row) in enumerate(zip(steps, rows, strict=True)):
        following = steps[place + 1].marks if place + 1 < len(steps) else ()
        missed = step.actual is not None and not step.low <= step.actual <= step.high
        if (
            place < ENDS
            or place >= len(steps) - ENDS
            or step.marks
            or following
            or missed
        ):
            if left_out:
                lines.append(
                    (
                        Span(
                            f"   … {counted(left_out, 'call')} inside their interval",
                            "dim",
                        ),
                    )
                )
            lines.append(row)
            left_out = 0
        else:
            left_out += 1
    return lines
