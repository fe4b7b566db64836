"""How exact "compacts in about N calls" is: sessions that compacted, and what would have been said on the way.

    uv run python -m bench.forecasts LOG...

A log is any that ``ullage context`` reads, also with ``.gz`` behind its name. Each stretch up to a compaction that the
program made by itself is one trial: the session is cut after 50, 70 and 90 % of the stretch's calls and where ten are
left, and the forecast made of what came before. Constants were chosen with the sessions of one half (``crc32`` of the
id is odd); the other is held out. Beside: the plain mean of the last 20 calls, and what a prophet would say who knows
both the mean growth of the whole stretch and the number of tokens at which it will end.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench.results import Table, named, show
from ullage.advice.history import history_of
from ullage.advice.next_compaction import calls_left
from ullage.cli.session import main_calls
from ullage.errors import UllageError
from ullage.events import CompactionCommitted, Event
from ullage.importers import read
from ullage.meter.meter import Meter

SHARES: Final = {"50 % of the way": 0.5, "70 % of the way": 0.7, "90 % of the way": 0.9}
TEN: Final = "10 calls left"
AT_LEAST: Final = 14
"""Calls of a stretch."""

BY_ITSELF: Final = (0.88, 1.1)
"""Of its threshold: where a program compacts by itself, if its log doesn't say whether a person asked for it."""

CLOSE: Final = 2
NEWEST: Final = 20


class Trial(NamedTuple):
    """What was said when ``left`` calls were left."""

    program: str
    place: str
    is_held_out: bool
    left: int
    said: int
    low: int
    high: int
    plain: float
    prophet: float


class Tried(NamedTuple):
    """The trials of some logs, and the compactions that a person asked for or that came far from the threshold."""

    trials: list[Trial]
    others: int


class Stretch(NamedTuple):
    """What led to a compaction: all events before it, where the main calls since the last one began, and tokens."""

    events: Sequence[Event]
    starts: list[int]
    first: int
    end: int
    threshold: int
    is_automatic: bool


def trials(paths: Sequence[Path]) -> Tried:
    """All trials; a stretch that several logs hold, as forks do, counts once."""
    found: list[Trial] = []
    seen: set[object] = set()
    others = 0
    for path in paths:
        try:
            imported = read(_plain(path))
        except UllageError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        program = imported.program.split()[0]
        is_held_out = zlib.crc32(imported.session.encode()) % 2 == 0
        for stretch in stretches(imported.events):
            key = getattr(stretch.events[stretch.starts[-1]], "call", "")
            if len(stretch.starts) < AT_LEAST or key in seen:
                continue
            seen.add(key)
            if not _is_by_itself(program, stretch):
                others += 1
                continue
            for place, at in _places(len(stretch.starts)):
                said = _said(stretch, at)
                if said is not None:
                    found.append(Trial(program, place, is_held_out, *said))
    return Tried(found, others)


def stretches(events: Sequence[Event]) -> Iterator[Stretch]:
    """One for each compaction behind a call."""
    calls = set(main_calls(events))
    meter = Meter()
    starts: list[int] = []
    first = 0
    for place, event in enumerate(events):
        if isinstance(event, CompactionCommitted) and starts:
            now = meter.reading()
            threshold = now.compaction_point or 0
            before = events[:place]
            yield Stretch(
                before, starts, first, now.used.tokens, threshold, event.is_automatic
            )
            starts = []
        if place in calls:
            if not starts:
                first = meter.reading().used.tokens
            starts.append(place)
        meter.apply(event)


def _places(calls: int) -> Iterator[tuple[str, int]]:
    for name, share in SHARES.items():
        yield name, int(share * calls)
    yield TEN, calls - 10


def _said(stretch: Stretch, at: int) -> tuple[int, int, int, int, float, float] | None:
    """The calls that were left at one of them, the forecast with its ends, and those of the two others."""
    meter = Meter()
    history = history_of(stretch.events[: stretch.starts[at]], meter)
    reading = meter.reading()
    forecast = calls_left(history, reading)
    if forecast is None or reading.compaction_point is None:
        return None
    now = reading.used.tokens
    rows = [row.used for row in history.main_calls[-min(NEWEST, at) - 1 :]]
    mean = (rows[-1] - rows[0]) / max(1, len(rows) - 1)
    whole = (stretch.end - stretch.first) / len(stretch.starts)
    return (
        len(stretch.starts) - at,
        forecast.calls,
        forecast.low,
        forecast.high,
        max(0, reading.compaction_point - now) / max(1, mean),
        max(0, stretch.end - now) / max(1, whole),
    )


def _is_by_itself(program: str, stretch: Stretch) -> bool:
    says_so = stretch.is_automatic or program != "claude-code"
    share = stretch.end / max(1, stretch.threshold)
    return says_so and BY_ITSELF[0] <= share <= BY_ITSELF[1]


def table(title: str, found: Sequence[Trial]) -> Table:
    """A row for each program and place."""
    rows: list[tuple[str, ...]] = []
    for program in sorted({trial.program for trial in found}):
        for place in (*SHARES, TEN):
            some = [t for t in found if (t.program, t.place) == (program, place)]
            if some:
                rows.append((f"{program}, {place}", *_cells(some)))
    columns = named(
        "forecast|n|off by, median|within ±2 %|inside %|width|plain ±2 %|prophet ±2 %"
    )
    return Table(title, columns, tuple(rows))


def _cells(some: Sequence[Trial]) -> tuple[str, ...]:
    def share(errors: list[float]) -> str:
        return (
            f"{100 * sum(abs(error) < CLOSE + 0.5 for error in errors) / len(errors):.0f}"
        )

    inside = sum(trial.low <= trial.left <= trial.high for trial in some)
    return (
        str(len(some)),
        f"{median(abs(trial.said - trial.left) for trial in some):.0f}",
        share([float(trial.said - trial.left) for trial in some]),
        f"{100 * inside / len(some):.0f}",
        f"{median(trial.high - trial.low for trial in some):.0f}",
        share([trial.plain - trial.left for trial in some]),
        share([trial.prophet - trial.left for trial in some]),
    )


def _plain(path: Path) -> Path:
    if path.suffix != ".gz":
        return path
    plain = Path(tempfile.mkdtemp(prefix="forecasts-")) / path.stem
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    return plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the logs and print a table for each half."""
    names = sys.argv[1:] if arguments is None else arguments
    found = trials([Path(name) for name in names])
    tables: list[Table] = []
    for title, is_held_out in (("Held out", True), ("Fitted on", False)):
        half = [trial for trial in found.trials if trial.is_held_out is is_held_out]
        if half:
            tables.append(table(title, half))
    note = f"{found.others} compactions that a person asked for, or far from the known threshold, are left out."
    show(*tables, notes=[note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
