"""The list of running sessions as lines of text: a table that fits a width. Pure: no terminal, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ullage.cli.sessions import ID_LENGTH
from ullage.display.gauge import gauge
from ullage.display.gauge_line import spelled
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Line,
    Span,
    cells,
    counted,
    number,
    padded,
    plain,
    printable,
    shortened,
    wrapped,
)
from ullage.meter.reading import Reading, Used
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

Cell = Span
"""The text of a cell, and its style."""


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
    fitted = [_cut(line, view.width) for line in lines]
    return [spelled(line, view.glyphs) for line in fitted]


def in_order(sessions: Sequence[RunningSession], sort: str) -> list[RunningSession]:
    """The sessions, the most active, fullest or dearest first; those of which that is unknown last."""
    if sort == "fullness":
        return sorted(sessions, key=_fullness, reverse=True)
    if sort == "cost":
        return sorted(sessions, key=_cost, reverse=True)
    return list(sessions)


def _fullness(session: RunningSession) -> float:
    if session.reading is None or session.reading.share is None:
        return -1.0
    return session.reading.share


def _cost(session: RunningSession) -> float:
    return session.today.money.usd


# -- around the table --


def _title(running: Running, view: TopView) -> Line:
    sessions = running.sessions
    active = 0
    for session in sessions:
        active += not _is_idle(session, running.at)
    said = f"  {counted(len(sessions), 'session')}, {number(active)} active"
    if running.unread:
        read = len(sessions) - running.unread
        said += f" · {number(read)} of {number(len(sessions))} read"
    if view.sort != SORTS[0]:
        said += f" · by {view.sort}"
    return (Span("ullage top", "title"), Span(said, "dim"))


def _below(running: Running, view: TopView) -> list[Line]:
    """The sums, what marks mean that are shown, places that can't be searched, and the keys."""
    money = _money(running.today, is_whole=_is_whole(running))
    tokens = f"{short_number(running.today.tokens)} tokens"
    total: Line = (
        Span("Today  ", "strong"),
        Span(money, "strong"),
        Span(" at list prices · "),
        Span(tokens, "strong"),
    )
    lines: list[Line] = [(), total]
    marks = _marks(running)
    if marks:
        lines.append((Span(" · ".join(marks), "dim"),))
    for problem in running.problems:
        lines += _problem_lines(printable(problem), view)
    if view.has_keys:
        keys = "q quit · s sort · arrows scroll"
        lines.append((Span(keys, "dim"),))
    return lines


def _problem_lines(problem: str, view: TopView) -> list[Line]:
    """A place that can't be searched: in full, but on a screen in one line, since sessions need the others."""
    said = [problem]
    if not view.height:
        said = wrapped(problem, view.width)
    return [(Span(each, "warn"),) for each in said]


def _marks(running: Running) -> list[str]:
    sessions = running.sessions
    marks: list[str] = []
    if any(session.reading and not session.is_whole for session in sessions):
        marks.append("~ of a large log only the two ends were read")
    money = [_money(each.today, is_whole=each.is_whole) for each in sessions]
    if any(said.endswith("+") for said in money):
        marks.append("+ at least")
    if "?" in money:
        marks.append("? price unknown")
    return marks


def _is_whole(running: Running) -> bool:
    if running.unread:
        return False
    return all(session.is_whole for session in running.sessions)


# -- the table --


def _table(sessions: Sequence[RunningSession], at: float, view: TopView) -> list[Line]:
    if not sessions:
        text = "No session was written to lately. --since 8h looks further back, --all shows all."
        return [(), (Span(text, "dim"),)]
    rows = [_cells(session, at, view) for session in sessions]
    widths = _widths(rows, view.width)
    shown = [column for column in COLUMNS if column.name in widths]
    head: list[Span] = []
    for column in shown:
        text = _aligned(column, column.heading, widths[column.name])
        head += [Span(text, "dim"), Span(" " * GAP)]
    lines: list[Line] = [tuple(head[:-1])]
    for session, row in zip(sessions, rows, strict=True):
        is_dim = _is_idle(session, at)
        if session.problem or session.reading is None:
            lines.append(_told(session, row, widths, view))
        else:
            lines.append(_row(session, row, widths, view, is_dim=is_dim))
    return lines


def _cells(session: RunningSession, at: float, view: TopView) -> dict[str, Cell]:
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
        "program": Cell(name),
        "project": Cell(project, "strong"),
        "model": Cell(session.model),
        "gauge": Cell(""),
        "next": Cell(""),
        "room": Cell(""),
        "change": Cell(""),
        "today": Cell(_money(session.today, is_whole=session.is_whole)),
        "active": Cell(_age(session, at)),
    }
    if reading is not None:
        mark = "" if session.is_whole else "~"
        found["next"] = Cell(mark + _amount(reading.used), _warning(reading))
        found["room"] = _room(reading)
    if session.grown:
        found["change"] = Cell(f"{session.grown:+,}")
    return found


def _amount(used: Used) -> str:
    """Tokens with the wider side of their interval."""
    beside = max(used.high - used.tokens, used.tokens - used.low)
    said = number(used.tokens)
    return f"{said} ± {number(beside)}" if beside else said


def _warning(reading: Reading) -> str:
    window = reading.window.tokens
    if window is not None and reading.used.tokens > window:
        return "bad"
    return "warn" if reading.should_compact() else ""


def _room(reading: Reading) -> Cell:
    """Tokens to the compaction of the program that wrote the session; ``?`` where that is not known."""
    until = reading.until_compaction
    if until is None or not reading.threshold.by:
        return Cell("?")
    if until <= 0:
        return Cell("due", "warn")
    return Cell(number(until))


def _widths(rows: Sequence[dict[str, Cell]], width: int) -> dict[str, int]:
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
        if excess <= 0 or not droppable:
            return widths
        del widths[droppable.pop(0).name]
        if "gauge" in widths:
            widths["gauge"] = GAUGE_WIDEST


def _aligned(column: TopColumn, text: str, width: int) -> str:
    whole = printable(text)
    if cells(whole) > width:
        whole = whole.removesuffix(PROXIED)
    cut = shortened(whole, width)
    return padded(cut, width, right=column.right)


def _row(
    session: RunningSession,
    row: dict[str, Cell],
    widths: dict[str, int],
    view: TopView,
    *,
    is_dim: bool,
) -> Line:
    spans: list[Span] = []
    for column in COLUMNS:
        width = widths.get(column.name, 0)
        if not width:
            continue
        if column.name == "gauge":
            spans += _gauge(session.reading, width, view.glyphs, is_dim=is_dim)
        else:
            cell = row[column.name]
            style = "dim" if is_dim else cell.style
            spans.append(Span(_aligned(column, cell.text, width), style))
        spans.append(Span(" " * GAP))
    return tuple(spans[:-1])


def _gauge(
    reading: Reading | None, width: int, glyphs: Glyphs, *, is_dim: bool
) -> list[Span]:
    bar = gauge(reading, width, glyphs) if reading is not None else ()
    if not bar:
        return [Span(padded("?", width), "dim")]
    if is_dim:
        return [Span(span.text, "dim") for span in bar]
    return list(bar)


def _told(
    session: RunningSession,
    row: dict[str, Cell],
    widths: dict[str, int],
    view: TopView,
) -> Line:
    """A session without numbers: which it is, and why."""
    spans: list[Span] = []
    for column in COLUMNS[:2]:
        width = widths.get(column.name, 0)
        if width:
            text = _aligned(column, row[column.name].text, width)
            spans.append(Span(text + " " * GAP, "dim"))
    if session.problem:
        why = session.problem
        if not view.with_content:
            why = why.replace(Path(session.path).name, "The log")
        spans.append(Span(printable(why), "warn"))
    else:
        spans.append(Span(UNREAD, "dim"))
    return tuple(spans)


def _cut(line: Line, width: int) -> Line:
    """The line without what does not fit."""
    kept: list[Span] = []
    left = width
    for span in line:
        text = shortened(span.text, left)
        kept.append(Span(text, span.style))
        left -= cells(text)
        if left <= 0:
            break
    return tuple(kept)


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


def short_number(value: int) -> str:
    """A number as ``812``, ``41.2k`` or ``12.4M``."""
    if value < 1_000:
        return str(value)
    if value < 999_950:
        return f"{value / 1_000:.1f}k"
    return f"{value / 1_000_000:.1f}M"


def text_of(lines: Sequence[Line]) -> str:
    """The lines as text, for tests and pictures."""
    return "\n".join(plain(line) for line in lines)
