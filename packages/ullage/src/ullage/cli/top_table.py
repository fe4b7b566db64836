"""The list of running sessions as lines of text: a table that fits a width. Pure: no terminal, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ullage.cli.sessions import ID_LENGTH
from ullage.cli.usage_drawing import compact
from ullage.display.gauge import gauge
from ullage.display.gauge_line import amount, spelled
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Line,
    Span,
    cells,
    counted,
    cut,
    number,
    padded,
    printable,
    shortened,
    wrapped,
)
from ullage.meter.reading import Reading
from ullage.meter.spend import Spent
from ullage.watching.running import Running, RunningSession
from ullage_programs.limits import name_and_version

IDLE_S: Final = 300.0
"""A session that was not written to for so many seconds is idle."""

SORTS: Final = ("activity", "fullness", "cost")

GAP: Final = 2
GAUGE_WIDEST: Final = 24

UNREAD: Final = "not read yet"

PROXIED: Final = " (proxy)"
"""Behind the name of a program that the proxy has metered, where there is room."""


class TopColumn(NamedTuple):
    """A column: its heading, and how wide it is at least and at most. ``drop`` tells when it goes: 1 goes first."""

    name: str
    heading: str
    least: int
    most: int
    right: bool = False
    drop: int = 0


COLUMNS: Final = (
    TopColumn("program", "Program", 11, 20, drop=6),
    TopColumn("project", "Project", 8, 24),
    TopColumn("model", "Model", 14, 28, drop=2),
    TopColumn("gauge", "Window", 6, GAUGE_WIDEST, drop=3),
    TopColumn("next", "Next call", 14, 30, right=True),
    TopColumn("room", "Compacts in", 11, 13, right=True, drop=5),
    TopColumn("change", "Change", 6, 12, right=True, drop=1),
    TopColumn("today", "Today", 5, 12, right=True, drop=4),
    TopColumn("active", "Active", 11, 12, right=True),
)

SHRINKING: Final = ("gauge", "model", "project", "program")
"""Columns that become narrower before one is left out, in this order."""


class TopView(NamedTuple):
    """What is drawn of a list, and how. ``height`` is how many lines there are; 0 for as many as are needed."""

    width: int
    glyphs: Glyphs
    height: int = 0
    first: int = 0
    """How many sessions are scrolled past."""
    sort: str = SORTS[0]
    with_content: bool = True
    has_keys: bool = False


def top_lines(running: Running, view: TopView) -> list[Line]:
    """The heading, a line for each session, the sums, and what the marks mean."""
    sessions = in_order(running.sessions, view.sort)
    below = _below(running, view)
    room = len(sessions)
    if view.height:
        room = max(1, view.height - len(below) - 2)
    first = min(view.first, max(0, len(sessions) - room))
    shown = sessions[first : first + room]
    lines = [_title(running, view), *_table(shown, running.at, view)]
    if view.height:
        missing = room + 2 - len(lines)
        lines += [()] * missing
    lines += below
    fitted = [cut(line, view.width) for line in lines]
    return [spelled(line, view.glyphs) for line in fitted]


def in_order(sessions: Sequence[RunningSession], sort: str) -> list[RunningSession]:
    """The sessions, the most active, fullest or dearest first; those of which that is unknown last."""

    def fullness(session: RunningSession) -> float:
        if session.reading is None or session.reading.share is None:
            return -1.0
        return session.reading.share

    def cost(session: RunningSession) -> float:
        return session.today.money.usd

    if sort == "activity":
        return list(sessions)
    return sorted(sessions, key=fullness if sort == "fullness" else cost, reverse=True)


# -- around the table --


def _title(running: Running, view: TopView) -> Line:
    sessions = running.sessions
    active = sum(not _is_idle(session, running.at) for session in sessions)
    said = f"  {counted(len(sessions), 'session')}, {number(active)} active"
    if running.unread:
        read = len(sessions) - running.unread
        said += f" · {number(read)} of {number(len(sessions))} read"
    if view.sort != SORTS[0]:
        said += f" · by {view.sort}"
    return (Span("ullage top", "title"), Span(said, "dim"))


def _below(running: Running, view: TopView) -> list[Line]:
    """The sums, what marks mean that are shown, places that can't be searched, and the keys."""
    sessions = running.sessions
    is_whole = not running.unread and all(session.is_whole for session in sessions)
    lines: list[Line] = [
        (),
        (
            Span(f"Today  {_money(running.today, is_whole=is_whole)}", "strong"),
            Span(" at list prices · "),
            Span(f"{compact(running.today.tokens)} tokens", "strong"),
        ),
    ]
    marks: list[str] = []
    if any(session.reading and not session.is_whole for session in sessions):
        marks.append("~ of a large log only the two ends were read")
    money = "".join(_money(each.today, is_whole=each.is_whole) for each in sessions)
    if "+" in money:
        marks.append("+ at least")
    if "?" in money:
        marks.append("? price unknown")
    if any(each.reading and _room(each.reading).text == "?" for each in sessions):
        marks.append("? compaction threshold unknown")
    if marks:
        lines.append((Span(" · ".join(marks), "dim"),))
    for problem in running.problems:
        said = printable(problem)
        # on a screen in one line, since sessions need the others
        rows = [said] if view.height else wrapped(said, view.width)
        lines += [(Span(each, "warn"),) for each in rows]
    if view.has_keys:
        lines.append((Span("q quit · s sort · arrows scroll", "dim"),))
    return lines


# -- the table --


def _table(sessions: Sequence[RunningSession], at: float, view: TopView) -> list[Line]:
    if not sessions:
        text = "No session was written to lately. --since 8h looks further back, --all shows all."
        return [(), (Span(text, "dim"),)]
    rows = [_cells(session, at, view) for session in sessions]
    widths = _widths(rows, view.width)
    head: list[Span] = []
    for column in COLUMNS:
        if column.name in widths:
            text = _aligned(column, column.heading, widths[column.name])
            head += [Span(text, "dim"), Span(" " * GAP)]
    lines: list[Line] = [tuple(head[:-1])]
    for session, row in zip(sessions, rows, strict=True):
        lines.append(_row(session, row, widths, view, is_dim=_is_idle(session, at)))
    return lines


def _cells(session: RunningSession, at: float, view: TopView) -> dict[str, Span]:
    """What stands in each column, but the gauge."""
    reading = session.reading
    name = name_and_version(session.program)[0]
    if session.is_proxied:
        name += PROXIED
    project = session.project
    if not view.with_content or not project:
        project = session.id[-ID_LENGTH:]
    if session.subagents:
        project += f" +{session.subagents}"
    found = {
        "program": Span(name),
        "project": Span(project, "strong"),
        "model": Span(session.model),
        "gauge": Span(""),
        "next": Span(""),
        "room": Span(""),
        "change": Span(""),
        "today": Span(_money(session.today, is_whole=session.is_whole)),
        "active": Span(_age(session, at)),
    }
    if reading is not None:
        mark = "" if session.is_whole else "~"
        found["next"] = Span(mark + amount(reading.used), _warning(reading))
        found["room"] = _room(reading)
    if session.grown:
        found["change"] = Span(f"{session.grown:+,}")
    return found


def _warning(reading: Reading) -> str:
    window = reading.window.tokens
    if window is not None and reading.used.tokens > window:
        return "bad"
    return "warn" if reading.should_compact() else ""


def _room(reading: Reading) -> Span:
    """Tokens to the compaction of the program that wrote the session; ``?`` where that is not known."""
    until = reading.until_compaction
    if until is None or not reading.threshold.by:
        return Span("?")
    if until <= 0:
        return Span("due", "warn")
    return Span(number(until))


def _widths(rows: Sequence[dict[str, Span]], width: int) -> dict[str, int]:
    """The columns that fit, and how wide each is."""
    widths: dict[str, int] = {}
    for column in COLUMNS:
        widest = cells(column.heading)
        for row in rows:
            widest = max(widest, cells(printable(row[column.name].text)))
        widths[column.name] = max(column.least, min(column.most, widest))
    widths["gauge"] = GAUGE_WIDEST
    least = {column.name: column.least for column in COLUMNS}
    droppable = [column for column in COLUMNS if column.drop]
    droppable.sort(key=lambda column: column.drop)
    while True:
        excess = sum(widths.values()) + GAP * (len(widths) - 1) - width
        for name in SHRINKING:
            if excess > 0 and name in widths:
                less = min(excess, widths[name] - least[name])
                widths[name] -= less
                excess -= less
        if excess <= 0:
            return widths
        if not droppable:
            widths["next"] = max(least["next"], widths["next"] - excess)
            return widths
        del widths[droppable.pop(0).name]
        if "gauge" in widths:
            widths["gauge"] = GAUGE_WIDEST


def _aligned(column: TopColumn, text: str, width: int) -> str:
    whole = printable(text)
    for beside in (" (", " ±"):
        if cells(whole) > width and column.name != "project":
            whole = whole.partition(beside)[0]
    cut = shortened(whole, width)
    return padded(cut, width, right=column.right)


def _row(
    session: RunningSession,
    row: dict[str, Span],
    widths: dict[str, int],
    view: TopView,
    *,
    is_dim: bool,
) -> Line:
    """A session; of one without numbers, which it is and why."""
    is_read = session.reading is not None and not session.problem
    spans: list[Span] = []
    for column in COLUMNS if is_read else COLUMNS[:2]:
        width = widths.get(column.name, 0)
        if not width:
            continue
        cell = row[column.name]
        shown = [Span(_aligned(column, cell.text, width), cell.style)]
        if column.name == "gauge" and session.reading is not None:
            bar = gauge(session.reading, width, view.glyphs)
            shown = list(bar) or [Span(padded("?", width), "dim")]
        if is_dim or not is_read:
            shown = [Span(span.text, "dim") for span in shown]
        spans += [*shown, Span(" " * GAP)]
    if is_read:
        return tuple(spans[:-1])
    why = session.problem
    if not view.with_content:
        why = why.replace(Path(session.path).name, "The log")
    return (*spans, Span(printable(why), "warn") if why else Span(UNREAD, "dim"))


# -- words --


def _is_idle(session: RunningSession, at: float) -> bool:
    return at - session.active_at > IDLE_S


def _age(session: RunningSession, at: float) -> str:
    age = ago(at - session.active_at)
    return f"idle {age}" if _is_idle(session, at) else age


def ago(seconds: float) -> str:
    """A time as ``3 s``, ``12 min``, ``5 h`` or ``3 d``."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s"
    if seconds < 3_600:
        return f"{int(seconds / 60)} min"
    if seconds < 172_800:
        return f"{int(seconds / 3_600)} h"
    return f"{int(seconds / 86_400)} d"


def _money(spent: Spent, *, is_whole: bool) -> str:
    """Money as ``$1.20``; with ``+`` where calls are left out, ``?`` where no price is known."""
    money = spent.money
    if money.unpriced and not money.priced:
        return "?"
    said = f"${money.usd:,.2f}"
    if 0 < money.usd < 0.01:
        said = "<$0.01"
    is_part = money.unpriced > 0 or not is_whole
    return f"{said}+" if is_part else said
