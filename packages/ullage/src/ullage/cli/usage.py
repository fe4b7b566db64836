"""``ullage usage``: what was spent by day, project or model, over the logs of all programs on this machine."""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
from collections import Counter
from collections.abc import (
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import (
    UTC,
    date,
    datetime,
    time,
    timedelta,
    tzinfo,
)
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from ullage.cli.drawing import WIDEST
from ullage.cli.footing import dollars
from ullage.cli.screen import Screen
from ullage.cli.sessions import no_session
from ullage.cli.usage_drawing import subagents_note, usage_lines
from ullage.display.gauge_line import spelled
from ullage.display.text import (
    Line,
    Span,
    counted,
    number,
    printable,
    quoted,
    shortened,
    wrapped,
)
from ullage.errors import InputError
from ullage.importers.places import Found
from ullage.meter.distinct_calls import (
    DistinctCalls,
    PlacedCall,
    distinct_calls,
)
from ullage.meter.spent_calls import CallsOfLog, PriceList
from ullage.meter.usage_table import (
    DayOf,
    SpentSum,
    UsageGrouping,
    UsageRow,
    UsageTable,
    usage_table,
)
from ullage.models.catalogue import in_use
from ullage.similar import did_you_mean
from ullage.watching.past_calls import (
    PastCalls,
    ReadProgress,
    past_calls,
)

DAYS: Final[Mapping[UsageGrouping, int]] = {"week": 56, "month": 365}
OTHER_DAYS: Final = 14
"""Days that are shown where ``--since`` does not say."""

EARLIEST: Final = datetime(
    2020,
    1,
    1,
    tzinfo=UTC,
).timestamp()
"""Calls before any such program was there have a time that is wrong."""

FUTURE_S: Final = 86_400.0
"""Seconds in the future from which on the time of a call is wrong; below, it may be another machine's clock."""

MOST_DAYS: Final = 3_660
NAMED: Final = 3
"""How many of a kind of problem are named."""

LONGEST_MODEL: Final = 60
"""Cells of a model's name in a note; a log may hold any text there."""

QUARTER_S: Final = 900
"""Changes of the local time fall on quarters of an hour."""


class BadDate(InputError):
    """A date or a time zone of the command line that can't be read."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days of a time zone; ``None`` is the zone of this machine."""

    zone: tzinfo | None = None

    def day(self, at: float) -> date:
        """The day that a moment is in."""
        return datetime.fromtimestamp(at, self.zone).date()

    def start(self, day: date) -> float:
        """The first moment of a day, which may have 23 or 25 hours."""
        return datetime.combine(
            day,
            time.min,
            tzinfo=self.zone,
        ).timestamp()

    def days(self) -> DayOf:
        """``day``, which looks each quarter of an hour up once."""
        known: dict[int, date] = {}

        def day_of(at: float) -> date:
            quarter = int(at // QUARTER_S)
            if quarter not in known:
                known[quarter] = self.day(quarter * QUARTER_S)
            return known[quarter]

        return day_of

    @property
    def name(self) -> str:
        """What the zone is called."""
        if isinstance(self.zone, ZoneInfo):
            return self.zone.key
        return datetime.now().astimezone().tzname() or "local time"


class Chosen(NamedTuple):
    """The calls that are shown, and how many have a time that can't be true."""

    calls: list[PlacedCall]
    timeless: int


class ShownUsage(NamedTuple):
    """Everything that is printed."""

    table: UsageTable
    since: date
    until: date
    zone: str
    notes: list[str]


def usage(options: argparse.Namespace) -> int:
    """Print the table; gives the exit code. Raises ``InputError``."""
    now = datetime.now(UTC).timestamp()
    calendar = Calendar(_zone(options.timezone))
    today = calendar.day(now)
    until = _date(options.until, today) if options.until else today
    by: UsageGrouping = options.by
    since = until - timedelta(days=DAYS.get(by, OTHER_DAYS) - 1)
    if options.since:
        since = _date(options.since, today)
    if since > until:
        raise BadDate(
            f"--since is {since} and --until {until}: no day is in between. Give an earlier --since."
        )
    with _progress() as report:
        past = past_calls(
            calendar.start(since),
            program=options.program,
            report=report,
        )
    if not past.logs and not past.unread and not any(each.found for each in past.looked):
        raise no_session(Found((), past.looked))
    if options.program and not past.logs:
        _check_program(options.program, past)
    distinct = distinct_calls(past.logs)
    days = calendar.days()
    chosen = _chosen(
        distinct.calls,
        options,
        now,
    )
    wanted: list[PlacedCall] = []
    for placed in chosen.calls:
        if since <= days(placed.call.at) <= until:
            wanted.append(placed)
    table = usage_table(
        wanted,
        by,
        days,
        PriceList(),
        _days(
            since,
            until,
            wanted,
            days,
        ),
    )
    notes = notes_on(
        table,
        past,
        distinct,
        chosen.timeless,
    )
    _show(
        ShownUsage(
            table,
            since,
            until,
            calendar.name,
            notes,
        ),
        options,
    )
    return 0


# -- options --


def _check_program(name: str, past: PastCalls) -> None:
    """Raises ``InputError`` for a program that writes no log that is read here."""
    known = list(dict.fromkeys(each.format for each in past.looked))
    if name not in known:
        meant = did_you_mean(name, known)
        raise InputError(
            f"There are no calls of a program {quoted(name)}.{meant} Give one of {', '.join(known)}."
        )


_BACK: Final = re.compile(r"(\d{1,4})([dwmy])")
_UNIT_DAYS: Final = {"d": 1, "w": 7, "m": 30, "y": 365}


def _date(
    text: str,
    today: date,
) -> date:
    """A date, or how far back from today: ``7d`` are the last seven days."""
    if text in ("today", "yesterday"):
        return today - timedelta(days=text == "yesterday")
    back = _BACK.fullmatch(text)
    if back is not None:
        days = int(back[1]) * _UNIT_DAYS[back[2]]
        return today - timedelta(days=max(0, min(days, MOST_DAYS) - 1))
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadDate(
            f"{quoted(text)} is no date. Write it as 2026-11-20, or as 7d for the last seven days."
        ) from None


def _zone(name: str) -> tzinfo | None:
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadDate(
            f"{quoted(name)} is no time zone that this machine knows. Write it as Europe/Paris or UTC."
        ) from None


def _chosen(
    calls: Sequence[PlacedCall], options: argparse.Namespace, now: float
) -> Chosen:
    """The calls of the program and the project that were asked for."""
    project = os.path.abspath(options.project) if options.project else ""
    kept: list[PlacedCall] = []
    timeless = 0
    for placed in calls:
        program = placed.log.program.partition(" ")[0]
        if options.program not in ("", program) or not _is_in(placed.log, project):
            continue
        if EARLIEST <= placed.call.at <= now + FUTURE_S:
            kept.append(placed)
        else:
            timeless += 1
    return Chosen(kept, timeless)


def _is_in(
    log: CallsOfLog,
    project: str,
) -> bool:
    """Whether the log is of the directory, or of one below it."""
    own = os.path.normpath(log.project) if log.project else ""
    return not project or own == project or own.startswith(project.rstrip("/") + "/")


def _days(
    since: date, until: date, calls: Sequence[PlacedCall], day_of: DayOf
) -> list[date]:
    """The days that have a row, from the first call's on: one without calls is seen as such."""
    if not calls:
        return []
    first = min(day_of(placed.call.at) for placed in calls)
    start = max(since, first)
    number_of_days = min((until - start).days + 1, MOST_DAYS)
    return [start + timedelta(days=each) for each in range(number_of_days)]


@contextmanager
def _progress() -> Iterator[ReadProgress]:
    """Says on a terminal how many logs were read, once this takes long."""
    stream = sys.stderr
    is_seen = stream.isatty()
    started = datetime.now(UTC)
    drawn = ""

    def report(
        done: int,
        all_: int,
    ) -> None:
        nonlocal drawn
        waited = (datetime.now(UTC) - started).total_seconds()
        if is_seen and waited > 1.0:
            drawn = f"Reading logs: {done:,} of {all_:,}, {waited:.0f} s"
            stream.write(f"\r{drawn}")
            stream.flush()

    yield report
    if drawn:
        stream.write("\r" + " " * len(drawn) + "\r")
        stream.flush()


# -- notes --


def notes_on(
    table: UsageTable, past: PastCalls, distinct: DistinctCalls, timeless: int
) -> list[str]:
    """What a person should know of the sums."""
    total = table.total
    notes: list[str] = []
    if total.subagents.calls:
        notes.append(subagents_note(total))
    if total.all.cut:
        of = counted(total.all.cut, "call")
        notes.append(
            f"Of {of} the log has only the first tokens of the output: more was spent."
        )
    notes += _money_notes(total.all)
    if distinct.also_proxied:
        calls = counted(
            distinct.also_proxied,
            "call is",
            "calls are",
        )
        notes.append(f"{calls} in a log and in the proxy's database: counted once.")
    if distinct.copies:
        copies = counted(
            distinct.copies,
            "copy",
            "copies",
        )
        notes.append(f"{copies} of calls, in resumed or forked sessions: not counted.")
    unreported = sum(log.unreported for log in past.logs)
    if unreported:
        calls = counted(
            unreported,
            "call has",
            "calls have",
        )
        notes.append(f"{calls} no usage in the log: not counted.")
    implausible = sum(log.implausible for log in past.logs)
    if implausible:
        where = counted(implausible, "call")
        notes.append(f"Counts that can't be true, in {where}: left out of the sums.")
    if timeless:
        calls = counted(
            timeless,
            "call has",
            "calls have",
        )
        notes.append(f"{calls} no time, or one that can't be true: not counted.")
    skipped = sum(log.skipped for log in past.logs)
    if skipped:
        notes.append(f"{counted(skipped, 'line')} of logs could not be read: left out.")
    notes.append(_sources(past))
    return notes + _unread_notes(past)


def _sources(past: PastCalls) -> str:
    """Which programs' logs were read: what is missing here is not in the sums."""
    numbers: Counter[str] = Counter()
    for log in past.logs:
        program = log.program.partition(" ")[0]
        if log.is_proxied:
            program = "proxy"
        numbers[program] += 1
    read = [f"{name} {number(each)}" for name, each in numbers.most_common()]
    return f"Logs read: {', '.join(read) or 'none'}."


def _money_notes(sums: SpentSum) -> list[str]:
    notes: list[str] = []
    for model, calls in sums.unpriced.most_common(NAMED):
        name = shortened(printable(model), LONGEST_MODEL)
        notes.append(f"Price of {name} unknown: {counted(calls, 'call')} not in the sum.")
    others = len(sums.unpriced) - NAMED
    if others > 0:
        notes.append(f"{counted(others, 'more model')} of unknown price.")
    if sums.logged_usd:
        logged = dollars(sums.logged_usd)
        notes.append(f"{logged} is what logs say themselves, where a price is unknown.")
    if sums.inexact:
        inexact = counted(sums.inexact, "call")
        notes.append(
            f"{inexact} priced roughly: a kind of token has no count or no price."
        )
    if sums.usd:
        day = in_use().date
        notes.append(f"Cost: list prices of {day}, also where a subscription paid.")
    return notes


def _unread_notes(past: PastCalls) -> list[str]:
    notes: list[str] = []
    for log in past.unread[:NAMED]:
        notes.append(f"Not read: {printable(log.problem)}")
    if len(past.unread) > NAMED:
        others = counted(len(past.unread) - NAMED, "more log")
        notes.append(f"Not read: {others}.")
    for looked in past.looked:
        if looked.problem:
            notes.append(f"Not read: {printable(looked.problem)}")
    return notes


# -- output --


def _show(
    shown: ShownUsage,
    options: argparse.Namespace,
) -> None:
    screen = Screen()
    if options.json:
        screen.show_json(as_json(shown))
    elif options.csv:
        _show_csv(shown)
    else:
        width = min(screen.width, WIDEST)
        lines: list[Line] = []
        for line in drawn(
            shown,
            width,
            screen,
        ):
            lines.append(spelled(line, screen.glyphs))
        screen.show(lines)


def drawn(
    shown: ShownUsage,
    width: int,
    screen: Screen,
) -> list[Line]:
    """Heading, table and notes."""
    period = f"{shown.since} to {shown.until}"
    lines: list[Line] = [
        (Span("Usage ", "title"), Span(f"{period} · {shown.zone}", "dim")),
        (),
    ]
    if shown.table.total.all.calls:
        lines += usage_lines(
            shown.table,
            width,
            screen.glyphs,
            os.environ.get("HOME", ""),
        )
    else:
        lines.append(
            (Span("No such calls in this time. --since 90d looks further back."),)
        )
    lines.append(())
    for note in shown.notes:
        style = "warn" if note.startswith(("Price", "Not read")) else "dim"
        for line in wrapped(note, width):
            lines.append((Span(line, style),))
    return lines


_KINDS: Final = ("input", "cache_write", "cache_read", "output", "reasoning", "total")


def as_json(shown: ShownUsage) -> bytes:
    """The same as one JSON object."""
    table = shown.table
    document = {
        "since": str(shown.since),
        "until": str(shown.until),
        "timezone": shown.zone,
        "by": table.by,
        "rows": [_row_json(row) for row in table.rows],
        "models": [_row_json(row) for row in table.models],
        "total": _row_json(table.total),
        "notes": shown.notes,
    }
    return msgspec.json.encode(document)


def _row_json(row: UsageRow) -> dict[str, object]:
    return {
        "key": row.key,
        **_sums_json(row.all),
        "subagents": _sums_json(row.subagents),
    }


def _sums_json(sums: SpentSum) -> dict[str, object]:
    """The cost is ``null`` where no price is known."""
    found: dict[str, object] = {"calls": sums.calls}
    for kind in _KINDS:
        found[kind] = getattr(sums, kind)
    found["usd"] = round(sums.usd, 6) if sums.has_price or not sums.calls else None
    found["usd_as_logged"] = round(sums.logged_usd, 6)
    found["unpriced"] = dict(sums.unpriced)
    return found


def _show_csv(shown: ShownUsage) -> None:
    """A line for each row and kind; the cost is empty where no price is known."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    names = [shown.table.by, "whose", "calls", *_KINDS, "usd", "unpriced_calls"]
    writer.writerow(names)
    for row in shown.table.rows:
        for whose, sums in (("all", row.all), ("subagents", row.subagents)):
            cells: list[object] = [_safe_cell(row.key), whose, sums.calls]
            for kind in _KINDS:
                cells.append(getattr(sums, kind))
            cells.append(f"{sums.usd:.6f}" if sums.has_price else "")
            cells.append(sum(sums.unpriced.values()))
            writer.writerow(cells)


def _safe_cell(text: str) -> str:
    """A name from a log must not become a formula of a spreadsheet."""
    name = printable(text)
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name
