"""What a reading costs after one more message, and what counting the same history costs others.

    uv run python -m bench.reading

Two meters are fed the same kind of history through events, one ten times as long as the other; then messages of about
100 characters are added one by one to both in turn, and ``apply`` and ``reading`` are timed. The messages are made
beforehand. The peers count the shorter history in environments of their own, in the same run.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.environments import PEERS, ClientFailed, NotInstalled, Peer, measured_by
from bench.history import (
    MODEL,
    Chat,
    chat_messages,
    declared_tools,
    events,
    system_blocks,
    write_history,
)
from bench.invented import Writer
from bench.results import Section, Table, ratio
from ullage.events import CallEnded, CallStarted, Event, MessageAdded
from ullage.messages import Message, TextPart
from ullage.meter.meter import Meter
from ullage.tokens import bpe
from ullage.usage import Usage

SHORT, LONG = 10_000, 100_000
TARGET_US = 50
BLOCK = 100
BLOCKS = 20
BODIES = 15


@dataclass(frozen=True, slots=True)
class Times:
    """CPU microseconds of one thing done many times."""

    values: tuple[float, ...]

    @property
    def middle(self) -> float:
        return median(self.values)

    @property
    def slowest(self) -> float:
        """Of a hundred, all but one are faster."""
        return quantiles(self.values, n=100)[-1]


@dataclass(frozen=True, slots=True)
class Counted:
    """One way to count the whole shorter history."""

    name: str
    tokens: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class PeerReport:
    """What a peer's own process said, or why there is nothing to say."""

    versions: str
    ways: tuple[Counted, ...]
    absent: str = ""


def filled_meter(history: list[Chat], estimator: str) -> Meter:
    """A meter with a history behind it."""
    meter = Meter(window=100_000_000, estimator=estimator)
    for event in events(history):
        meter.apply(event)
    return meter


def added_parts(count: int) -> list[Event]:
    """Messages of about 100 characters."""
    writer = Writer(23)
    return [
        MessageAdded(
            message=Message(
                id=f"added-{number}",
                role="user",
                parts=(TextPart(id=f"added-{number}/0", text=writer.prose(100)),),
            )
        )
        for number in range(count)
    ]


def reported_calls(count: int) -> list[tuple[Event, Event, Event]]:
    """Calls that end with usage, and their answers of about 100 characters."""
    writer = Writer(29)
    made: list[tuple[Event, Event, Event]] = []
    for number in range(count):
        call = f"step-{number}"
        usage = Usage(
            input=3_000_000 + 100 * number, output=30, reasoning=0, dialect="openai-chat"
        )
        part = TextPart(id=f"{call}/0", text=writer.prose(100))
        answer = Message(id=f"{call}.answer", role="assistant", parts=(part,), call=call)
        made.append(
            (
                CallStarted(call=call),
                CallEnded(call=call, usage=usage),
                MessageAdded(message=answer),
            )
        )
    return made


def timed_in_turn(
    meters: list[Meter], works: list[list[Callable[[Meter], object]]]
) -> list[Times]:
    """The works of each meter, in blocks, meter after meter, so that a drift of the machine meets all alike."""
    values: list[list[float]] = [[] for _ in meters]
    for start in range(0, len(works[0]), BLOCK):
        for place, meter in enumerate(meters):
            for work in works[place][start : start + BLOCK]:
                began = time.process_time_ns()
                work(meter)
                values[place].append((time.process_time_ns() - began) / 1e3)
    return [Times(tuple(each[BLOCK:])) for each in values]


def part_works(parts: list[Event]) -> list[Callable[[Meter], object]]:
    """Apply and read, for each part."""

    def work(event: Event) -> Callable[[Meter], object]:
        def run(meter: Meter) -> object:
            meter.apply(event)
            return meter.reading()

        return run

    return [work(event) for event in parts]


def step_works(
    calls: list[tuple[Event, Event, Event]],
) -> list[Callable[[Meter], object]]:
    """Apply a call from start to answer and read, for each call."""

    def work(call: tuple[Event, Event, Event]) -> Callable[[Meter], object]:
        def run(meter: Meter) -> object:
            for event in call:
                meter.apply(event)
            return meter.reading()

        return run

    return [work(call) for call in calls]


def counted_by_us(history: list[Chat], estimator: str) -> Counted:
    """Everything from nothing, as at the start of a process: all messages and one reading."""
    added = [event for event in events(history) if isinstance(event, MessageAdded)]
    times: list[float] = []
    tokens = 0
    for _ in range(3):
        meter = Meter(MODEL, wire="chat", window=100_000_000, estimator=estimator)
        start = time.process_time()
        for event in added:
            meter.apply(event)
        tokens = meter.reading().used.tokens
        times.append(1e3 * (time.process_time() - start))
    return Counted(
        f"ullage, everything from nothing ({estimator})", tokens, median(times)
    )


def whole_bodies(history: list[Chat]) -> Times:
    """``before`` with the whole request body at every call, which has to be compared with what is known."""
    system: Chat = {
        "role": "system",
        "content": "\n".join(block.text for block in system_blocks()),
    }
    writer = Writer(31)
    meter = Meter(MODEL, wire="chat", window=100_000_000, estimator="pretoken")
    messages: list[Chat] = [system, *history]
    meter.before({"model": MODEL, "messages": messages})
    values: list[float] = []
    for _ in range(BODIES):
        messages = [*messages, {"role": "user", "content": writer.prose(100)}]
        body: dict[str, Any] = {"model": MODEL, "messages": messages}
        start = time.process_time_ns()
        meter.before(body)
        values.append((time.process_time_ns() - start) / 1e3)
    return Times(tuple(values))


def counted_by(peer: Peer, path: Path) -> PeerReport:
    """The peer's own process."""
    try:
        said = measured_by(peer, peer.script, str(path))
    except NotInstalled as why:
        return PeerReport(
            "", (), f"{peer.requirement} could not be installed here: {why}"
        )
    except ClientFailed as why:
        return PeerReport("", (), f"{peer.requirement} failed: {why}")
    ways = tuple(
        Counted(f"{peer.name} {name}", way["tokens"], way["milliseconds"])
        for name, way in said["ways"].items()
    )
    return PeerReport(
        ", ".join(f"{name} {version}" for name, version in said["versions"].items()), ways
    )


def section() -> Section:
    """Feed, time, and ask the peers."""
    short, long = chat_messages(SHORT), chat_messages(LONG)
    characters = sum(len(each["content"]) for each in short)
    path = write_history(SHORT)
    reports = [counted_by(peer, path) for peer in PEERS]
    estimators = ["pretoken", *(["bpe"] if bpe.is_available() else [])]
    ours = [counted_by_us(short, estimator) for estimator in estimators]
    bodies = whole_bodies(short)
    parts, steps = _readings(short, long, estimators)
    gc.collect()
    return Section(
        name="reading",
        title="A reading after one more message",
        command="uv run python -m bench.reading",
        about=(
            f"A history of {SHORT:,} messages ({characters / 1e6:.1f} million characters: prose, code, JSON, logs) "
            f"and one of {LONG:,}, behind a system prompt and {len(declared_tools())} tools, fed to a `Meter` as "
            "events; then one message of about 100 characters at a time: `meter.apply(event); "
            f"meter.reading()`. Medians of {BLOCK * (BLOCKS - 1):,}. Target: at most {TARGET_US} µs with {SHORT:,} "
            f"messages, and no more with {LONG:,}. The peers count the messages alone, and their functions keep "
            "nothing between calls: "
            "after one more message they go through everything again, pydantic-ai-harness less so where the history "
            "holds usage. A program that keeps a running sum of its own around them would not."
        ),
        ratios=_ratios(parts, ours, reports),
        figures=(_figures(parts, steps, bodies), _counts(ours, reports)),
        notes=(
            *(
                f"Measured with {report.versions}."
                for report in reports
                if report.versions
            ),
            *(report.absent for report in reports if report.absent),
        ),
    )


def _readings(
    short: list[Chat], long: list[Chat], estimators: list[str]
) -> tuple[dict[str, list[Times]], dict[str, list[Times]]]:
    parts: dict[str, list[Times]] = {}
    steps: dict[str, list[Times]] = {}
    added, calls = (
        part_works(added_parts(BLOCK * BLOCKS)),
        step_works(reported_calls(BLOCK * BLOCKS)),
    )
    for estimator in estimators:
        meters = [filled_meter(short, estimator), filled_meter(long, estimator)]
        parts[estimator] = timed_in_turn(meters, [added, added])
        steps[estimator] = timed_in_turn(meters, [calls, calls])
    return parts, steps


def _ratios(
    parts: dict[str, list[Times]], ours: list[Counted], reports: list[PeerReport]
) -> Table:
    ours_us = parts["pretoken"][0].middle
    rows = [
        (
            f"ullage ({estimator}), {LONG:,} messages against {SHORT:,}",
            ratio(times[1].middle, times[0].middle),
        )
        for estimator, times in parts.items()
    ]
    rows += [
        (
            f"{way.name} against a reading of ullage",
            ratio(1e3 * way.milliseconds, ours_us),
        )
        for report in reports
        for way in report.ways
    ]
    rows += [
        (f"{way.name} against a reading of it", ratio(1e3 * way.milliseconds, ours_us))
        for way in ours
    ]
    return Table(f"Ratios, {SHORT:,} messages", ("what", "ratio"), tuple(rows))


def _figures(
    parts: dict[str, list[Times]], steps: dict[str, list[Times]], bodies: Times
) -> Table:
    rows: list[tuple[str, ...]] = []
    for said, table in (
        ("one message added", parts),
        ("a whole call with its answer and usage", steps),
    ):
        for estimator, times in table.items():
            rows += [
                (
                    f"{said} ({estimator})",
                    f"{size:,}",
                    f"{each.middle:.1f} µs",
                    f"{each.slowest:.1f} µs",
                )
                for size, each in zip((SHORT, LONG), times, strict=True)
            ]
    rows.append(
        (
            "`meter.before(body)` with the whole body",
            f"{SHORT:,}",
            f"{bodies.middle:,.0f} µs",
            f"{max(bodies.values):,.0f} µs",
        )
    )
    return Table(
        "A reading, on this machine",
        ("what", "messages behind it", "median", "99 of 100 below"),
        tuple(rows),
    )


def _counts(ours: list[Counted], reports: list[PeerReport]) -> Table:
    ways = [*ours, *(way for report in reports for way in report.ways)]
    rows = tuple(
        (way.name, f"{way.milliseconds:,.1f} ms", f"{way.tokens:,}") for way in ways
    )
    return Table(
        f"Counting the {SHORT:,} messages, on this machine",
        ("what", "CPU", "tokens it says"),
        rows,
    )


if __name__ == "__main__":
    print(section().text())
