"""The picture of a session as one HTML file: the drawings in two widths, and tables of what is behind them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final, TypeVar

from ullage.advice.sentences import heading_of, outcome_text, short
from ullage.advice.suggestion import name_of
from ullage.display.text import dollars, number, signed_percent
from ullage.meter.limit_texts import threshold_source, window_source
from ullage.picture.model import SessionPicture, TileGroups, groups_of
from ullage.picture.policy import MOST_ROWS, MOST_TILES
from ullage.picture.shapes import words
from ullage.picture.style import style
from ullage.picture.svg import (
    UNKNOWN,
    advised,
    figure,
    gauge,
    growth,
    happened,
    head,
    key,
    treemap,
)

T = TypeVar("T")

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
h3{font-size:15px;font-weight:600}main svg{display:block;width:100%;height:auto}main svg svg{overflow:hidden}
.used{font-size:18px;margin-top:14px}.used span{font-size:40px;line-height:1;margin-right:10px}
details{margin-top:12px}summary{cursor:pointer}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}
th,td{text-align:right;padding:4px 8px;font-weight:400;vertical-align:top;white-space:nowrap}
th,td{border-bottom:1px solid light-dark(#ddd6c8,#3a3733)}
thead th{font-weight:600}:is(th,td):is(:first-child,:last-child){text-align:left;white-space:normal}
th:first-child{min-width:80px}td:last-child{min-width:120px}
code{background:light-dark(#efeae0,#2a2826);padding:0 3px;border-radius:3px}
ol{display:grid;grid-template-columns:repeat(auto-fit,minmax(230px,1fr));gap:24px;padding:0;margin:14px 0}
li{list-style:none}main .w400{display:none}
@media(max-width:720px){main .w1064{display:none}main .w400{display:block}
main{padding:20px 16px 40px}h1{font-size:24px}}
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
    limits = window_source(reading.window), threshold_source(reading.threshold)
    colours = key(groups).replace("tspan", "span")
    bar = areas = bars = ""
    for width in (1064, 400):
        bar += figure(gauge(picture, groups, width), width, 52, "Window", used)
        areas += figure(treemap(groups, width, 340), width, 340, "Map", about)
        bars += figure(growth(picture, width), width, 250, "Growth", about)
    told = ""
    for name, saving, text, item in advised(picture, MOST_ROWS):
        told += f'<li><h3>{words(name).replace("`", "")}</h3><p class="accent">{words(saving)}</p>{_p(text + item)}'
    return f"""\
{START}<title>{words(title)} · context window</title><style>{style("auto")}{LAYOUT}</style></head>
<body class="ullage"><main><h1 class="serif">{words(title)}</h1><p class="dim">{words(about)}</p>
<p class="used"><span class="serif accent">{words(share)}</span>{used}</p>
<p class="dim">{words(" · ".join(filter(None, limits)))}</p>{bar}
<h2 class="serif">What fills the window</h2><p>{colours}</p>{areas}
{_table("Largest items", "What|Tokens|Category", _items(groups))}
<h2 class="serif">Growth</h2>{bars}
{_table("Calls", "Call|Estimate|Reported|Error|From cache|Cost|What happened", _calls(picture))}
<h2 class="serif">Suggestions</h2>{_p(heading_of(advice))}<ol>{told}</ol>
{"".join(_p(outcome_text(each)) for each in advice.outcomes)}
{_table("Cost most so far", "What|Tokens|Calls|So far|Dollars", _costs(picture))}
{_table("Compactions and what left", "After call|Tokens|By|The largest", _left(picture))}
{"".join(_p(note) for note in reading.notes)}
</main></body></html>
"""


def _items(groups: TileGroups) -> Iterable[Sequence[str]]:
    for category, held in groups:
        for name, tokens in held.most_common(MOST_TILES):
            yield name, number(tokens), category


def _calls(picture: SessionPicture) -> Iterable[Sequence[str]]:
    """The newest first."""
    rows = {row.call: row for row in picture.history.main_calls}
    for step in reversed(picture.steps):
        row = rows.get(step.call, UNKNOWN)
        yield (
            number(step.number),
            number(step.estimated),
            _known(step.actual, number),
            _known(step.error_percent, signed_percent),
            _known(row.cached, number),
            _known(row.usd, dollars),
            "; ".join(happened(step, row)),
        )


def _known(value: T | None, write: Callable[[T], str]) -> str:
    return "" if value is None else write(value)


def _costs(picture: SessionPicture) -> Iterable[Sequence[str]]:
    for cost in picture.advice.costs:
        usd = _known(cost.usd, dollars)
        yield cost.label, number(cost.tokens), number(cost.calls), short(cost.so_far), usd


def _left(picture: SessionPicture) -> Iterable[Sequence[str]]:
    """What left the window, by the call after which it left."""
    left: dict[tuple[int, str], Counter[str]] = {}
    for item in picture.history.items:
        if item.last_call is not None and item.why_left in ("compaction", "pruning"):
            held = left.setdefault((item.last_call, item.why_left), Counter())
            held[name_of(item)] += item.tokens
    for (call, why), held in sorted(left.items(), reverse=True):
        names = [f"{name} {number(tokens)}" for name, tokens in held.most_common(3)]
        yield number(call), number(held.total()), why, ", ".join(names)


def _table(name: str, heads: str, rows: Iterable[Sequence[str]]) -> str:
    """A table that opens, of the first rows; empty without any."""
    body = ""
    for first, *cells in islice(rows, MOST_ROWS):
        body += f'<tr><th scope="row">{words(first)}'
        body += "".join(f"<td>{words(cell)}" for cell in cells)
    columns = heads.replace("|", '<th scope="col">')
    return (
        body
        and f"""\
<details><summary class="dim">{name}</summary><div class="table" role="region" aria-label="{name}" tabindex="0">\
<table><thead><tr><th scope="col">{columns}<tbody>{body}</table></div></details>"""
    )


def _p(shown: str) -> str:
    """A paragraph; what stands between backticks is code."""
    return "<p>" + re.sub("`([^`]+)`", r"<code>\1</code>", words(shown, 1_000)) + "</p>"
