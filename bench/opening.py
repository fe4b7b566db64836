"""What opening a long session costs: from a checkpoint and the ledger behind it, and from the ledger alone.

    uv run python -m bench.opening

A session of 100,000 messages, all of them still in view, under ids as a program draws them. Its ledger is a SQLite
file with a row of JSON an event, its checkpoint a file. Every way to open it runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.history import OUT, chat_messages, events
from bench.process import Cost, run_once
from bench.results import Section, Table, ratio
from ullage.checkpoint.checkpoint import MOST_EVENTS, Checkpoints
from ullage.checkpoint.contents import events_of, put_contents
from ullage.encoding import decode_event, encode
from ullage.events import CallEnded, CallStarted, Event, MessageAdded
from ullage.messages import ToolCallPart, ToolResultPart
from ullage.meter.meter import Meter
from ullage.store.rows import LEVEL

MESSAGES = 100_000
RUNS = 5
TARGET_S = 0.5
TARGET_MB = 200
ESTIMATOR = "pretoken"
LEDGER, CHECKPOINT, REPORT = "ledger.sqlite", "checkpoint", "report.json"


@dataclass(frozen=True, slots=True)
class Opened:
    """One way to open the session: the medians of its runs."""

    name: str
    seconds: dict[str, float]
    cost: Cost


@dataclass(frozen=True, slots=True)
class Saved:
    """What writing checkpoints cost, and how large they and the content are."""

    first_s: float
    next_s: float
    size_bytes: int
    content_bytes: int
    rows_bytes: int


def drawn(name: str, letters: int) -> str:
    """A name as if drawn at random."""
    return blake2b(name.encode(), digest_size=letters // 2).hexdigest()


def renamed(event: Event) -> Event:
    """The event under ids that don't follow each other, as those of programs and providers don't."""
    match event:
        case CallStarted() | CallEnded():
            return msgspec.structs.replace(event, call=drawn(event.call, 16))
        case MessageAdded():
            message = event.message
            name = drawn(message.id, 16)
            parts: list[Any] = []
            for place, part in enumerate(message.parts):
                fields: dict[str, Any] = {"id": f"{name}/{place}"}
                if isinstance(part, ToolCallPart | ToolResultPart):
                    fields["call_id"] = "call_" + drawn(part.call_id, 24)
                parts.append(msgspec.structs.replace(part, **fields))
            call = message.call and drawn(message.call, 16)
            return MessageAdded(
                message=msgspec.structs.replace(
                    message, id=name, parts=tuple(parts), call=call
                )
            )
        case _:
            return event


def ledger_events() -> Iterator[Event]:
    """The session, its events numbered and dated."""
    for seq, event in enumerate(events(chat_messages(MESSAGES)), 1):
        yield msgspec.structs.replace(
            renamed(event), seq=seq, id=drawn(str(seq), 16), at=1.75e9 + seq * 1.618
        )


def made(folder: Path) -> Saved:
    """Write ledger and checkpoint of the session; the checkpoint lacks the last events."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LEDGER).unlink(missing_ok=True)
    every = list(ledger_events())
    rows = [(event.seq, encode(event)) for event in every]
    with sqlite3.connect(folder / LEDGER) as database:
        database.execute(
            "CREATE TABLE events (seq INTEGER PRIMARY KEY, row BLOB NOT NULL)"
        )
        database.executemany("INSERT INTO events VALUES (?, ?)", rows)
    database.close()
    meter = Meter(window=100_000_000, estimator=ESTIMATOR)
    for event in every[: -2 * MOST_EVENTS]:
        meter.apply(event)
    checkpoints = Checkpoints()
    first_s, _ = timed(lambda: checkpoints.save(meter._fold))
    for event in every[-2 * MOST_EVENTS : -MOST_EVENTS]:
        meter.apply(event)
    next_s, data = timed(lambda: checkpoints.save(meter._fold))
    (folder / CHECKPOINT).write_bytes(data)
    content = sum(
        len(encode(event.message)) for event in every if isinstance(event, MessageAdded)
    )
    return Saved(
        first_s,
        next_s,
        len(zlib.compress(data, LEVEL)),
        content,
        sum(len(row) for _, row in rows),
    )


def timed(work: Callable[[], bytes]) -> tuple[float, bytes]:
    """CPU seconds of some work, and what it gave."""
    start = time.process_time()
    data = work()
    return time.process_time() - start, data


class SqliteLedger:
    """The session's events by number, from a file."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path)

    def __call__(self, seqs: Sequence[int]) -> list[Event]:
        """Those events."""
        rows = self.database.execute(
            "SELECT row FROM events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq",
            (json.dumps(seqs),),
        )
        return [decode_event(row) for (row,) in rows]

    def after(self, seq: int) -> Iterator[Event]:
        """All events behind that one."""
        for (row,) in self.database.execute(
            "SELECT row FROM events WHERE seq > ? ORDER BY seq", (seq,)
        ):
            yield decode_event(row)


def opened(folder: Path, way: str) -> None:
    """Open the session in this process and write how long each step took."""
    marks = [("", time.process_time())]
    ledger = SqliteLedger(folder / LEDGER)
    if way == "fold":
        meter = Meter(window=100_000_000, estimator=ESTIMATOR)
    else:
        meter = Meter._of(
            Checkpoints().load((folder / CHECKPOINT).read_bytes(), estimator=ESTIMATOR)
        )
        meter.reading()
        marks.append(("load", time.process_time()))
    if way != "load":
        for event in ledger.after(meter.reading().seq):
            meter.apply(event)
        meter.reading()
        marks.append(("events", time.process_time()))
    if way == "messages":
        entries = [entry for entry in meter._fold.view if entry.content is None]
        put_contents(entries, ledger(events_of(entries)))
        assert len(meter.messages) == MESSAGES
        marks.append(("messages", time.process_time()))
    took = {name: at - before for (_, before), (name, at) in pairwise(marks)}
    (folder / REPORT).write_text(json.dumps(took))


def measured(folder: Path, way: str, name: str, count: int) -> Opened:
    """A way to open the session, each time in a process of its own."""
    costs: list[Cost] = []
    reports: list[dict[str, float]] = []
    for _ in range(count):
        costs.append(
            run_once(
                [
                    sys.executable,
                    "-m",
                    "bench.opening",
                    "--open",
                    way,
                    "--folder",
                    str(folder),
                ]
            )
        )
        reports.append(json.loads((folder / REPORT).read_text()))
    seconds = {step: median(report[step] for report in reports) for step in reports[0]}
    cost = Cost(
        wall_s=median(cost.wall_s for cost in costs),
        cpu_s=median(cost.cpu_s for cost in costs),
        peak_bytes=max(cost.peak_bytes for cost in costs),
    )
    return Opened(name, seconds, cost)


def section() -> Section:
    """Make the session, then open it in each way."""
    folder = OUT / "opening"
    saved = made(folder)
    ways = (
        measured(folder, "load", "checkpoint and first reading", RUNS),
        measured(folder, "tail", f"the same and {MOST_EVENTS:,} events behind it", RUNS),
        measured(folder, "messages", "the same and all messages, for a request", 1),
        measured(folder, "fold", "the whole ledger, without a checkpoint", 1),
    )
    opening, tail, _, fold = ways
    figures = Table(
        "Opening, on this machine",
        ("what", "in the process", "whole process", "peak memory"),
        tuple(
            (
                way.name,
                " + ".join(f"{seconds:.3f}" for seconds in way.seconds.values()) + " s",
                f"{way.cost.wall_s:.2f} s",
                f"{way.cost.peak_mb:.0f} MB",
            )
            for way in ways
        ),
    )
    checkpoint = Table(
        "The checkpoint",
        ("what", "figure"),
        (
            ("size, as a store packs it", f"{saved.size_bytes / 1e6:.1f} MB"),
            ("a message", f"{saved.size_bytes / MESSAGES:.0f} bytes"),
            ("of the content", f"{100 * saved.size_bytes / saved.content_bytes:.1f} %"),
            (
                "the ledger's rows, of the content",
                f"{100 * saved.rows_bytes / saved.content_bytes:.0f} %",
            ),
            ("saving for the first time", f"{saved.first_s:.2f} s"),
            (f"saving {MOST_EVENTS:,} events later", f"{saved.next_s:.2f} s"),
        ),
    )
    return Section(
        name="opening",
        title="Opening a long session",
        command="uv run python -m bench.opening",
        about=(
            f"A session of {MESSAGES:,} messages, all in view, from its checkpoint and from its ledger in SQLite. "
            f"Target: at most {TARGET_S} s and {TARGET_MB} MB for the checkpoint and the first reading. At most "
            f"{MOST_EVENTS:,} events are ever left to fold behind it. Medians of CPU time, {RUNS} runs where "
            "it is short."
        ),
        ratios=Table(
            "Ratios",
            ("what", "ratio"),
            (
                (
                    "the whole ledger against the checkpoint",
                    ratio(sum(fold.seconds.values()), opening.seconds["load"]),
                ),
                (
                    "the whole ledger against checkpoint and events behind it",
                    ratio(sum(fold.seconds.values()), sum(tail.seconds.values())),
                ),
            ),
        ),
        figures=(figures, checkpoint),
    )


def main() -> None:
    """Print the section, or open the session once for it."""
    options = argparse.ArgumentParser(
        prog="bench.opening", description="What opening a long session costs."
    )
    options.add_argument(
        "--open",
        choices=("load", "tail", "messages", "fold"),
        help="open once, in this process",
    )
    options.add_argument("--folder", type=Path, default=OUT / "opening")
    chosen = options.parse_args()
    if chosen.open:
        opened(chosen.folder, chosen.open)
    else:
        print(section().text())


if __name__ == "__main__":
    main()
