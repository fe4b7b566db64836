"""What a reading costs after one more message, and what counting the same history costs others.

    uv run python -m bench.reading

Two meters are fed the same kind of history through events, one ten times as long as the other; then messages of about
100 characters are added one by one to both in turn, and ``apply`` and ``reading`` are timed. The messages are made
beforehand. The peers count the messages of the shorter history in environments of their own, in the same run, and
their functions keep nothing between calls: after one more message they go through everything again,
pydantic-ai-harness less so where the history holds usage.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median, quantiles

from bench.environments import COUNTERS, ClientFailed, NotInstalled, Peer, measured_by
from bench.history import MODEL, Chat, chat_messages, events, write_history
from bench.invented import Writer
from bench.results import Table, ms, ratio, show
from ullage.events import Event, MessageAdded
from ullage.messages import Message, TextPart
from ullage.meter.meter import Meter
from ullage.tokens import bpe

SHORT, LONG = 10_000, 100_000
WINDOW = 100_000_000
BLOCK = 100
BLOCKS = 20


def filled_meter(history: list[Chat], estimator: str) -> Meter:
    meter = Meter(window=WINDOW, estimator=estimator)
    for event in events(history):
        meter.apply(event)
    return meter


def added_parts(count: int) -> list[Event]:
    """Messages of about 100 characters."""
    writer = Writer(23)
    made: list[Event] = []
    for number in range(count):
        name = f"added-{number}"
        part = TextPart(id=f"{name}/0", text=writer.prose(100))
        made.append(MessageAdded(message=Message(id=name, role="user", parts=(part,))))
    return made


def timed_in_turn(meters: list[Meter], added: list[Event]) -> list[list[float]]:
    """CPU seconds of each reading, in blocks, meter after meter, so that a drift of the machine meets all alike."""
    values: list[list[float]] = [[] for _ in meters]
    for start in range(0, len(added), BLOCK):
        for found, meter in zip(values, meters, strict=True):
            for event in added[start : start + BLOCK]:
                began = time.process_time_ns()
                meter.apply(event)
                meter.reading()
                found.append((time.process_time_ns() - began) / 1e9)
    return [each[BLOCK:] for each in values]


def counted_by_us(history: list[Chat], estimator: str) -> float:
    """CPU seconds of everything from nothing, as at the start of a process: all messages and one reading."""
    added = [event for event in events(history) if isinstance(event, MessageAdded)]
    times: list[float] = []
    for _ in range(3):
        meter = Meter(MODEL, wire="chat", window=WINDOW, estimator=estimator)
        start = time.process_time()
        for event in added:
            meter.apply(event)
        meter.reading()
        times.append(time.process_time() - start)
    return median(times)


def counted_by(peer: Peer, path: Path, notes: list[str]) -> dict[str, float]:
    """CPU seconds of each way that a peer's own process counts."""
    try:
        said = measured_by(peer, COUNTERS[peer][0], str(path))
    except (ClientFailed, NotInstalled) as why:
        notes.append(f"{peer.requirement} was not measured: {why}")
        return {}
    versions = (f"{name} {version}" for name, version in said["versions"].items())
    notes.append(f"Measured with {', '.join(versions)}.")
    ways = said["ways"].items()
    return {f"{peer.name} {name}": way["milliseconds"] / 1e3 for name, way in ways}


def main() -> None:
    """Feed, time, ask the peers, and print."""
    short, long = chat_messages(SHORT), chat_messages(LONG)
    notes: list[str] = []
    counts: dict[str, float] = {}
    path = write_history(SHORT)
    for peer in COUNTERS:
        counts |= counted_by(peer, path, notes)
    rows: list[tuple[str, ...]] = []
    middles: list[float] = []
    added = added_parts(BLOCK * BLOCKS)
    for estimator in ("pretoken", *(["bpe"] if bpe.is_available() else [])):
        counts[f"Ullage, from nothing ({estimator})"] = counted_by_us(short, estimator)
        meters = [filled_meter(short, estimator), filled_meter(long, estimator)]
        for size, times in zip((SHORT, LONG), timed_in_turn(meters, added), strict=True):
            middles.append(median(times))
            figures = (f"{each * 1e6:.1f} µs" for each in (middles[-1], _p99(times)))
            rows.append((f"{size:,} ({estimator})", *figures))
    counted = [(name, ms(cpu), ratio(cpu, middles[0])) for name, cpu in counts.items()]
    show(
        Table("A reading", ("one message after", "median", "p99"), tuple(rows)),
        Table(
            f"Counting {SHORT:,} messages anew",
            ("what", "CPU", "× a reading"),
            tuple(counted),
        ),
        notes=notes,
    )


def _p99(times: list[float]) -> float:
    return quantiles(times, n=100)[-1]


if __name__ == "__main__":
    main()
