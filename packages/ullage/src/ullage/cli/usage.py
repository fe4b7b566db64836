"""``ullage usage``: what was spent by day, project or model, over the logs of all programs on this machine."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from pathlib import PurePath
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from ullage.cli.drawing import WIDEST
from ullage.cli.screen import Screen, progress
from ullage.cli.sessions import no_session
from ullage.cli.usage_drawing import usage_lines
from ullage.display.gauge_line import spelled
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Line,
    Span,
    counted,
    dollars,
    number,
    percent,
    printable,
    quoted,
    shortened,
    wrapped,
)
from ullage.errors import InputError
from ullage.importers.places import Found
from ullage.meter.distinct_calls import DistinctCalls, PlacedCall, distinct_calls
from ullage.meter.spent_calls import CallsOfLog, PriceList
from ullage.meter.usage_table import (
    SpentSum,
    UsageGrouping,
    UsageRow,
    UsageTable,
    usage_table,
)
from ullage.models.catalogue import in_use
from ullage.similar import did_you_mean
from ullage.watching.past_calls import PastCalls, past_calls

DAYS: Final[Mapping[UsageGrouping, int]] = {"week": 56, "month": 365}
OTHER_DAYS: Final = 14
"""Days that are shown where ``--since`` does not say."""

EARLIEST: Final = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
"""Calls before any such program was there have a time that is wrong."""

FUTURE_S: Final = 86_400.0
"""Seconds in the future from which on the time of a call is wrong; below, it may be another machine's clock."""

MOST_DAYS: Final = 3_660
NAMED: Final = 3
"""How many of a kind of problem are named."""

LONGEST_MODEL: Final = 60
"""Cells of a model's name in a note; a log may hold any text there."""


class BadDate(InputError):
    """A date or a time zone of the command line that can't be read."""


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
    zone = _zone(options.timezone)

    @cache
    def day_of_quarter(quarter: int) -> date:
        return datetime.fromtimestamp(900 * quarter, zone).date()

    def day_of(at: float) -> date:
        """Changes of the local time fall on quarters of an hour."""
        return day_of_quarter(int(at // 900))

    today = day_of(now)
    until = _date(options.until, today) if options.until else today
    by: UsageGrouping = options.by
    since = until - timedelta(days=DAYS.get(by, OTHER_DAYS) - 1)
    if options.since:
        since = _date(options.since, today)
    if since > until:
        raise BadDate(
            f"--since is {since} and --until {until}: no day is in between. Give an earlier --since."
        )
    start = datetime.combine(since, time.min, tzinfo=zone).timestamp()
    with progress("Reading logs"):
        past = past_calls(start, program=options.program)
    if not past.logs and not past.unread and not any(each.found for each in past.looked):
        raise no_session(Found((), past.looked))
    if options.program and not past.logs:
        _check_program(options.program, past)
    distinct = distinct_calls(past.logs)
    project = os.path.abspath(options.project) if options.project else ""
    wanted: list[PlacedCall] = []
    timeless = 0
    for placed in distinct.calls:
        program = placed.log.program.partition(" ")[0]
        if options.program not in ("", program) or not _is_in(placed.log, project):
            continue
        if not EARLIEST <= placed.call.at <= now + FUTURE_S:
            timeless += 1
        elif since <= day_of(placed.call.at) <= until:
            wanted.append(placed)
    table = usage_table(wanted, by, day_of, PriceList())
    notes = notes_on(table, past, distinct, timeless)
    _show(ShownUsage(table, since, until, _zone_name(zone), notes), options)
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
    """The time zone of that name; ``None`` is the one of this machine."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadDate(
            f"{quoted(name)} is no time zone that this machine knows. Write it as Europe/Paris or UTC."
        ) from None


def _zone_name(zone: tzinfo | None) -> str:
    if isinstance(zone, ZoneInfo):
        return zone.key
    return datetime.now().astimezone().tzname() or "local time"


def _is_in(
    log: CallsOfLog,
    project: str,
) -> bool:
    """Whether the log is of the directory, or of one below it."""
    own = PurePath(os.path.normpath(log.project))
    return not project or own.is_relative_to(project)


# -- notes --


def notes_on(
    table: UsageTable, past: PastCalls, distinct: DistinctCalls, timeless: int
) -> list[str]:
    """What a person should know of the sums."""
    total = table.total
    notes: list[str] = []
    if total.subagents.calls:
        said = (
            f"Subagents: {percent(total.subagents.total, total.all.total)} of all tokens"
        )
        if total.all.usd:
            said += f", {percent(total.subagents.usd, total.all.usd)} of the cost"
        notes.append(f"{said}.")
    if total.all.cut:
        of = counted(total.all.cut, "call")
        notes.append(
            f"Of {of} the log has only the first tokens of the output: more was spent."
        )
    notes += _money_notes(total.all)
    unreported = sum(log.unreported for log in past.logs)
    implausible = sum(log.implausible for log in past.logs)
    skipped = sum(log.skipped for log in past.logs)
    for count, text in (
        (
            distinct.also_proxied,
            f"{counted(distinct.also_proxied, 'call is', 'calls are')} in a log and in the proxy's database: "
            "counted once.",
        ),
        (
            distinct.copies,
            f"{counted(distinct.copies, 'copy', 'copies')} of calls, in resumed or forked sessions: not counted.",
        ),
        (
            unreported,
            f"{counted(unreported, 'call has', 'calls have')} no usage in the log: not counted.",
        ),
        (
            implausible,
            f"Counts that can't be true, in {counted(implausible, 'call')}: left out of the sums.",
        ),
        (
            timeless,
            f"{counted(timeless, 'call has', 'calls have')} no time, or one that can't be true: not counted.",
        ),
        (skipped, f"{counted(skipped, 'line')} of logs could not be read: left out."),
    ):
        if count:
            notes.append(text)
    numbers: Counter[str] = Counter()
    for log in past.logs:
        numbers["proxy" if log.is_proxied else log.program.partition(" ")[0]] += 1
    read = [f"{name} {number(each)}" for name, each in numbers.most_common()]
    notes.append(f"Logs read: {', '.join(read) or 'none'}.")
    return notes + _unread_notes(past)


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


def _show(shown: ShownUsage, options: argparse.Namespace) -> None:
    screen = Screen()
    if options.json:
        screen.show_json(as_json(shown))
    else:
        lines = drawn(shown, min(screen.width, WIDEST), screen.glyphs)
        screen.show(spelled(line, screen.glyphs) for line in lines)


def drawn(shown: ShownUsage, width: int, glyphs: Glyphs) -> list[Line]:
    """Heading, table and notes."""
    period = f"{shown.since} to {shown.until}"
    lines: list[Line] = [
        (Span("Usage ", "title"), Span(f"{period} · {shown.zone}", "dim")),
        (),
    ]
    if shown.table.total.all.calls:
        lines += usage_lines(shown.table, width, glyphs, os.environ.get("HOME", ""))
    else:
        lines.append(
            (Span("No model calls in these days. --since 1y looks further back."),)
        )
    lines.append(())
    for note in shown.notes:
        style = "warn" if note.startswith(("Price", "Not read")) else "dim"
        lines += [(Span(line, style),) for line in wrapped(note, width)]
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
