"""The picture of a session as one HTML file: the drawings of the card in two widths, and tables of what is behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Final

from ullage.advice.lives import CallRow, ItemLife
from ullage.advice.sentences import (
    compaction_sentence,
    heading_of,
    outcome_text,
    saving_text,
    short,
)
from ullage.advice.suggestion import Suggestion, name_of
from ullage.display.text import counted, dollars, number, percent, signed_percent
from ullage.meter.limit_texts import (
    threshold_sentence,
    threshold_source,
    window_source,
)
from ullage.meter.reading import Row
from ullage.meter.track import MARKS, Step
from ullage.picture.growth import growth
from ullage.picture.model import Picture, TileGroup, groups_of, words
from ullage.picture.policy import (
    GAUGE_HEIGHT,
    MOST_CALLS,
    MOST_ROWS,
    NARROW_BELOW,
    PAGE,
    PHONE,
)
from ullage.picture.style import FONTS, rules
from ullage.picture.svg import (
    about_text,
    figure,
    gauge,
    legend,
    summary,
    treemap,
    used_text,
)

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing is loaded and nothing runs (Content Security Policy)."""

LAYOUT: Final = f"""\
:root{{color-scheme:light dark}}*{{box-sizing:border-box}}
body{{margin:0;font-size:14px;line-height:1.5;overflow-wrap:anywhere}}
main{{max-width:{PAGE + 48}px;margin:0 auto;padding:28px 24px 60px}}
h1{{font-size:30px;line-height:1.2;font-weight:400;margin:0}}h2{{font-size:20px;font-weight:400;margin:40px 0 10px}}
h3{{font-size:15px;margin:0}}p{{margin:4px 0}}svg{{display:block;width:100%;height:auto}}
.used{{font-size:18px;margin-top:14px}}.used strong{{font-size:40px;font-weight:400;line-height:1;margin-right:10px}}
.phone{{display:none}}details{{margin-top:12px}}summary{{cursor:pointer}}
.table{{overflow-x:auto;margin-top:8px}}table{{border-collapse:collapse;width:100%;font-size:13px}}
th,td{{text-align:right;padding:4px 8px;font-weight:400;vertical-align:top;white-space:nowrap}}
thead th{{font-weight:600}}:is(th,td):first-child{{text-align:left;padding-left:0}}:is(th,td).text{{text-align:left;white-space:normal;min-width:180px}}
ol{{display:grid;grid-template-columns:repeat(auto-fit,minmax(280px,1fr));gap:24px;padding:0;margin:14px 0;list-style:none}}
@media (max-width:{NARROW_BELOW}px){{.wide{{display:none}}.phone{{display:block}}main{{padding:20px 16px 40px}}h1{{font-size:24px}}}}
"""
COLOURS: Final = Template("""\
body{background:$paper;color:$ink}.quiet{color:$dim}.saving,.used strong{color:$accent}.alarm{color:$bad}
td,th{border-bottom:1px solid $line}code{background:$sunk;padding:0 3px;border-radius:3px}
summary{color:$dim}summary:hover{color:$ink}:focus-visible{outline:2px solid $accent;outline-offset:2px}
""")


def html(picture: Picture) -> str:
    """One self-contained page: the drawings, suggestions, and tables of calls, rows, costs and compactions.

    It loads nothing and has no script; it is light or dark as the reader's system is. Everything from a log is escaped.

    Args:
        picture: What is drawn.
    """
    groups = groups_of(picture)
    title = words(picture.title or picture.program or "Session")
    body = [
        _head(picture, title),
        _drawings(picture, groups),
        _suggestions(picture),
        _costs(picture),
        _compactions(picture),
        _notes(picture),
    ]
    style = FONTS + rules("auto") + LAYOUT + rules("auto", COLOURS)
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(title)} · context window</title><style>{style}</style></head>",
            f'<body class="ullage"><main>{"".join(body)}</main></body></html>\n',
        )
    )


def _head(picture: Picture, title: str) -> str:
    reading = picture.reading
    share, beside = "", used_text(reading)
    if reading.window.tokens is not None:
        share = percent(reading.used.tokens, reading.window.tokens)
        beside = beside.rpartition(", ")[0]
    limits = (
        threshold_sentence(reading.threshold),
        window_source(reading.window),
        threshold_source(reading.threshold),
    )
    lines = [
        f'<h1 class="serif">{escape(title)}</h1>',
        _p(about_text(picture), "quiet"),
        f'<p class="used"><strong class="serif">{share}</strong>{escape(beside)}</p>',
        _p(" · ".join(each for each in limits if each), "quiet"),
    ]
    return f"<header>{''.join(lines)}</header>"


def _drawings(picture: Picture, groups: Sequence[TileGroup]) -> str:
    known = ", ".join(f"{group.name} {number(group.tokens)}" for group in groups)
    calls = f"{counted(len(picture.steps), 'call')}, estimated and reported; the table below has them"
    wide, phone = [], []
    for width, drawn in ((PAGE, wide), (PHONE, phone)):
        tall = GAUGE_HEIGHT
        drawn.append(
            figure(
                gauge(picture, groups, width),
                width,
                tall,
                "Window used",
                summary(picture),
            )
        )
        drawn.append(
            figure(
                legend(groups, width)
                + f'<svg y="28">{treemap(groups, width, 340)}</svg>',
                width,
                368,
                "What fills the window",
                known,
            )
        )
        drawn.append(figure(growth(picture, width, 300), width, 300, "Growth", calls))
    parts = [
        f'<div class="wide">{a}</div><div class="phone">{b}</div>'
        for a, b in zip(wide, phone, strict=True)
    ]
    whole = picture.reading.window.tokens or picture.reading.used.tokens
    return "".join(
        (
            parts[0],
            _h2("What fills the window"),
            parts[1],
            _table(
                "All rows",
                ("What", "Tokens", "Share"),
                _rows(picture.reading.rows, whole),
            ),
            _h2("Growth"),
            parts[2],
            _table(
                _of_all("Calls", len(picture.steps), MOST_CALLS),
                (
                    "Call",
                    "Estimate",
                    "Reported",
                    "Error",
                    "From cache",
                    "Cost",
                    "What happened",
                ),
                _calls(picture),
            ),
        )
    )


def _rows(rows: Iterable[Row], whole: int, depth: int = 0) -> Iterable[Sequence[str]]:
    for row in rows:
        share = percent(row.tokens, whole) if row.summed else "not in the total"
        yield "  " * depth + words(row.name), number(row.tokens), share
        if depth < 1:
            yield from _rows(row.children[:MOST_ROWS], whole, depth + 1)


def _calls(picture: Picture) -> Iterable[Sequence[str]]:
    """The newest first."""
    rows = {row.call: row for row in picture.history.main_calls}
    for step in reversed(picture.steps[-MOST_CALLS:]):
        yield _call(step, rows.get(step.call))


def _call(step: Step, row: CallRow | None) -> Sequence[str]:
    happened = [MARKS.get(mark, mark) for mark in dict.fromkeys(step.marks)]
    cached = cost = ""
    if row is not None:
        if row.cached is not None:
            cached = number(row.cached)
        if row.usd is not None:
            cost = dollars(row.usd)
        if row.cause is not None:
            happened.append(row.cause.line)
    if step.first:
        happened.append("first estimate")
    reported = "–" if step.actual is None else number(step.actual)
    error = "" if step.error_percent is None else signed_percent(step.error_percent)
    return (
        number(step.number),
        number(step.estimated),
        reported,
        error,
        cached,
        cost,
        "; ".join(happened),
    )


def _suggestions(picture: Picture) -> str:
    advice = picture.advice
    entries = "".join(f"<li>{_suggestion(each)}</li>" for each in advice.suggestions)
    drawn = [
        _h2("Suggestions"),
        _p(heading_of(advice)),
        f"<ol>{entries}</ol>" if entries else "",
    ]
    if advice.outcomes:
        drawn.append(_h2("Followed since"))
        drawn += [_p(outcome_text(each)) for each in advice.outcomes]
    if advice.compaction is not None:
        drawn.append(_h2("Next compaction"))
        drawn.append(_p(compaction_sentence(advice.compaction, picture.history)))
    return "".join(drawn)


def _suggestion(one: Suggestion) -> str:
    about = f"{one.text}: {one.quote}" if one.quote else one.text
    return "".join(
        (
            f"<h3>{escape(words(one.title))}</h3>",
            _p(saving_text(one.saving), "saving"),
            _p(about),
            _p(f"To do: {one.how}", "quiet"),
        )
    )


def _costs(picture: Picture) -> str:
    rows: list[Sequence[str]] = []
    for cost in picture.advice.costs:
        usd = "" if cost.usd is None else dollars(cost.usd)
        rows.append(
            (cost.label, number(cost.tokens), number(cost.calls), short(cost.so_far), usd)
        )
    return _table(
        "Cost most so far", ("What", "Tokens", "Calls", "So far", "Dollars"), rows
    )


def _compactions(picture: Picture) -> str:
    """What left the window, by the call before which it left."""
    left: dict[tuple[int, str], list[ItemLife]] = {}
    for item in picture.history.items:
        if item.last_call is not None and item.why_left in ("compaction", "pruning"):
            left.setdefault((item.last_call, item.why_left), []).append(item)
    rows: list[Sequence[str]] = []
    for (call, why), items in sorted(left.items(), reverse=True)[:MOST_ROWS]:
        items.sort(key=lambda item: -item.tokens)
        names = ", ".join(
            f"{words(name_of(item), 60)} {number(item.tokens)}" for item in items[:3]
        )
        tokens = sum(item.tokens for item in items)
        rows.append(
            (f"call {number(call)}", why, number(len(items)), number(tokens), names)
        )
    return _table(
        "Compactions and what left",
        ("After", "By", "Items", "Tokens", "The largest"),
        rows,
    )


def _notes(picture: Picture) -> str:
    return "".join(_p(note, "quiet") for note in picture.reading.notes)


def _of_all(name: str, count: int, most: int) -> str:
    return (
        name if count <= most else f"{name}: the newest {number(most)} of {number(count)}"
    )


def _table(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that opens; empty without rows. A wide last column is text."""
    body = ""
    for row in rows:
        first, *middle, last = (escape(words(cell)) for cell in row)
        between = "".join(f"<td>{cell}</td>" for cell in middle)
        body += f'<tr><th scope="row">{first}</th>{between}<td>{last}</td></tr>'
    if not body:
        return ""
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    label = escape(name)
    return f'<details><summary>{label}</summary><div class="table" role="region" aria-label="{label}" tabindex="0">{table}</div></details>'


def _h2(text: str) -> str:
    return f'<h2 class="serif">{text}</h2>'


def _p(text: str, style: str = "") -> str:
    """A paragraph; what stands between backticks is code."""
    shown = re.sub("`([^`]+)`", r"<code>\1</code>", escape(words(text, 1_000)))
    return f'<p class="{style}">{shown}</p>' if shown else ""
