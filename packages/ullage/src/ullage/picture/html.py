"""The picture of a session as one HTML file: the drawings in two widths, and tables of what is behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ullage.advice.lives import ItemLife
from ullage.advice.sentences import heading_of, outcome_text, short
from ullage.advice.suggestion import name_of
from ullage.display.text import dollars, number, signed_percent
from ullage.meter.limit_texts import threshold_source, window_source
from ullage.picture.growth import growth, happened
from ullage.picture.model import SessionPicture, groups_of
from ullage.picture.policy import MOST_ROWS, PAGE, PHONE
from ullage.picture.shapes import Box, words
from ullage.picture.style import style
from ullage.picture.svg import advised, figure, gauge, head, shade, treemap

START: Final = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width,initial-scale=1">
"""

LAYOUT: Final = """\
:root{color-scheme:light dark}*{box-sizing:border-box}
body{margin:0;background:light-dark(#faf8f4,#181716);color:light-dark(#20241f,#e9e5dd);overflow-wrap:anywhere}
main{max-width:1112px;margin:0 auto;padding:28px 24px 60px;font-size:14px;line-height:1.5}
h1,h2,h3,p{font-weight:400;margin:4px 0}h1{font-size:30px;line-height:1.2}h2{font-size:20px;margin:36px 0 8px}
h3{font-size:15px;font-weight:600}main svg{display:block;width:100%;height:auto}
.used{font-size:18px;margin-top:14px}.used span{font-size:40px;line-height:1;margin-right:10px}
.key span{display:inline-block;margin-right:16px}details{margin-top:12px}summary{cursor:pointer}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}
th,td{text-align:right;padding:4px 8px;font-weight:400;vertical-align:top;border-bottom:1px solid light-dark(#ddd6c8,#3a3733)}
thead th{font-weight:600}:is(th,td):is(:first-child,:last-child){text-align:left;min-width:60px}
td:last-child{min-width:180px}code{background:light-dark(#efeae0,#2a2826);padding:0 3px;border-radius:3px}
ol{display:grid;grid-template-columns:repeat(auto-fit,minmax(260px,1fr));gap:24px;padding:0;margin:14px 0;list-style:none}
.w400{display:none}
@media(max-width:720px){.w1064{display:none}.w400{display:block}main{padding:20px 16px 40px}h1{font-size:24px}}
"""
"""Of the page. The drawings of two widths are in ``w1064`` and ``w400``."""


def html(picture: SessionPicture) -> str:
    """One self-contained page: the drawings, suggestions, and tables of items, calls, costs and compactions.

    It loads nothing and has no script; it is light or dark as the reader's system is. Everything from a log is escaped.

    Args:
        picture: What is drawn.
    """
    reading, advice = picture.reading, picture.advice
    groups = groups_of(picture)
    title, about, share, used = head(picture)
    limits = " · ".join(
        filter(None, (window_source(reading.window), threshold_source(reading.threshold)))
    )
    key = "".join(
        f'<span><b class="{shade(group)}">■</b> {words(group.name)} {number(group.tokens)}</span>'
        for group in groups
    )
    held = [
        (name, number(tokens), group.name)
        for group in groups
        for name, tokens in group.tiles
    ]
    bar = map_ = bars = ""
    for width in (PAGE, PHONE):
        start = f'<div class="w{width}">'
        drawn = gauge(picture, groups, width)
        bar += start + figure(drawn, width, 52, "Window used", used) + "</div>"
        drawn = treemap(groups, Box(0, 0, width, 340))
        map_ += (
            start
            + figure(
                drawn, width, 340, "What fills the window", re.sub("<.*?>", " ", key)
            )
            + "</div>"
        )
        bars += (
            start
            + figure(
                growth(picture, width, 300),
                width,
                300,
                "Growth",
                "The table of calls has the numbers.",
            )
            + "</div>"
        )
    told = ""
    for name, saving, what in advised(picture):
        told += (
            f'<li><h3>{words(name)}</h3><p class="accent">{words(saving)}</p>{_p(what)}'
        )
    return "".join(
        (
            f"{START}<title>{words(title)} · context window</title><style>{style('auto')}{LAYOUT}</style></head>",
            f'<body class="ullage"><main><h1 class="serif">{words(title)}</h1><p class="dim">{words(about)}</p>',
            f'<p class="used"><span class="serif accent">{share}</span>{used}</p><p class="dim">{words(limits)}</p>{bar}',
            f'<h2 class="serif">What fills the window</h2><p class="key">{key}</p>{map_}',
            _table("Largest items", "What|Tokens|Row", held),
            f'<h2 class="serif">Growth</h2>{bars}',
            _table(
                "Calls",
                "Call|Estimate|Reported|Error|From cache|Cost|What happened",
                _calls(picture),
            ),
            f'<h2 class="serif">Suggestions</h2>{_p(heading_of(advice))}<ol>{told}</ol>',
            *[_p(outcome_text(each)) for each in advice.outcomes],
            _table(
                "Cost most so far", "What|Tokens|Calls|So far|Dollars", _costs(picture)
            ),
            _table(
                "Compactions and what left",
                "After call|Items|Tokens|By|The largest",
                _left(picture),
            ),
            *[_p(note) for note in reading.notes],
            "</main></body></html>\n",
        )
    )


def _calls(picture: SessionPicture) -> Iterable[Sequence[str]]:
    """The newest first."""
    rows = {row.call: row for row in picture.history.main_calls}
    for step in reversed(picture.steps):
        row = rows.get(step.call)
        yield (
            number(step.number),
            number(step.estimated),
            "–" if step.actual is None else number(step.actual),
            "" if step.error_percent is None else signed_percent(step.error_percent),
            number(row.cached) if row and row.cached is not None else "",
            dollars(row.usd) if row and row.usd is not None else "",
            "; ".join(happened(step, row)),
        )


def _costs(picture: SessionPicture) -> Iterable[Sequence[str]]:
    for cost in picture.advice.costs:
        usd = "" if cost.usd is None else dollars(cost.usd)
        yield cost.label, number(cost.tokens), number(cost.calls), short(cost.so_far), usd


def _left(picture: SessionPicture) -> Iterable[Sequence[str]]:
    """What left the window, by the call after which it left."""
    left: dict[tuple[int, str], list[ItemLife]] = {}
    for item in picture.history.items:
        if item.last_call is not None and item.why_left in ("compaction", "pruning"):
            left.setdefault((item.last_call, item.why_left), []).append(item)
    for (call, why), items in sorted(left.items(), reverse=True):
        items.sort(key=lambda item: -item.tokens)
        names = ", ".join(f"{name_of(item)} {number(item.tokens)}" for item in items[:3])
        yield (
            number(call),
            number(len(items)),
            number(sum(item.tokens for item in items)),
            why,
            names,
        )


def _table(name: str, heads: str, rows: Iterable[Sequence[str]]) -> str:
    """A table that opens, of the first rows; empty without any."""
    body = ""
    for place, (first, *cells) in enumerate(rows):
        if place == MOST_ROWS:
            name += f", the newest {number(MOST_ROWS)}"
            break
        body += f'<tr><th scope="row">{words(first)}' + "".join(
            f"<td>{words(cell)}" for cell in cells
        )
    if not body:
        return ""
    columns = "".join(f'<th scope="col">{each}' for each in heads.split("|"))
    region = f'<div class="table" role="region" aria-label="{name}" tabindex="0">'
    return f'<details><summary class="dim">{name}</summary>{region}<table><thead><tr>{columns}<tbody>{body}</table></div></details>'


def _p(shown: str) -> str:
    """A paragraph; what stands between backticks is code."""
    return "<p>" + re.sub("`([^`]+)`", r"<code>\1</code>", words(shown, 1_000)) + "</p>"
