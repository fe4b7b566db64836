"""The picture of a session as one SVG: a card that a README or a chat can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Final

from ullage.advice.lives import CallRow
from ullage.advice.sentences import (
    compaction_sentence,
    heading_of,
    saving_text,
    short,
)
from ullage.display.gauge_line import amount
from ullage.display.text import counted, number, percent
from ullage.meter.limit_texts import threshold_sentence
from ullage.meter.track import MARKS, Step
from ullage.picture.model import SessionPicture, TileGroups, groups_of
from ullage.picture.policy import (
    FAR_THRESHOLD,
    LETTER,
    MOST_TILES,
    NARROWEST_BAR,
    WIDEST_BAR,
)
from ullage.picture.shapes import blocks, flowed, words
from ullage.picture.style import Scheme, shade, style

MISSED: Final = "cache missed"
GLYPHS: Final = {"compacted": "▼", MISSED: '<tspan class="warn">●</tspan>', "pruned": "▽"}
"""What is marked below a bar, the most important first."""

UNKNOWN: Final = CallRow(number=0)
"""Of a call that the history does not have."""

KEY: Final = """\
<text class="dim small" y="12"><tspan class="bar">■</tspan> reported &#160; <tspan class="ink">━</tspan> estimate \
&#160; ▼ compacted &#160; ▽ pruned &#160; <tspan class="warn">●</tspan> cache missed</text>"""


def svg(picture: SessionPicture, *, scheme: Scheme = "auto") -> str:
    """The card, 1,000 x 620: how full the window is, what fills it, how it grew, what would make room.

    One self-contained file without scripts, links and fonts. Everything from a log is escaped and cut.

    Args:
        picture: What is drawn.
        scheme: Its colours. ``auto`` has both and follows the reader's own, also as an image of a page.
    """
    groups = groups_of(picture)
    title, about, share, used = head(picture)
    alarm = "bad" if picture.reading.should_compact() else "accent"
    told, columns = "", advised(picture, 3)
    room = 960 // max(1, len(columns))
    for place, (name, saving, text, _) in enumerate(columns):
        parts = [
            (name.replace("`", ""), "ink strong", 2),
            (saving, "accent", 2),
            (text.replace("`", ""), "dim", 4 if saving else 6),
        ]
        told += f'<svg x="{22 + place * room}" y="484" width="{room}" height="130">{flowed(parts, room - 14)}</svg>'
    card = f"""\
<style>{style(scheme)}</style><rect class="paper" width="1000" height="620"/>
<text class="serif ink" x="28" y="48" font-size="24">{words(title, 52)}</text>
<text class="dim" x="28" y="72">{words(about, 80)}</text>
<text class="serif end {alarm}" x="972" y="50" font-size="34">{words(share)}</text>
<text class="ink end" x="972" y="72">{used}</text>
<svg x="28" y="88" width="944" height="60">{gauge(picture, groups, 944)}</svg>
<text class="ink" x="28" y="162">{key(groups[:6])}</text>
<svg x="28" y="180" width="460" height="240">{treemap(groups, 460, 240)}</svg>
<svg x="512" y="172" width="460" height="250">{growth(picture, 460)}</svg>
<rect class="line" x="28" y="446" width="944" height="1"/>
<text class="dim" x="28" y="472">{words(heading_of(picture.advice))}</text>{told}"""
    return figure(card, 1000, 620, title, f"{share}: {used}")


def figure(content: str, width: int, height: int, title: str, about: str) -> str:
    """A drawing as an element of its own that says what it shows. Its width is one of its classes."""
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" class="ullage w{width}" role="img" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}"><title>{words(title)}</title><desc>{words(about)}</desc>{content}</svg>"""


def head(picture: SessionPicture) -> tuple[str, str, str, str]:
    """The title, what it is of, the share of the window that is used, and that in tokens."""
    reading = picture.reading
    calls = counted(len(picture.history.main_calls), "call")
    about = " · ".join(filter(None, (reading.model, picture.program, f"after {calls}")))
    share, used = "", f"{amount(reading.used)} tokens, window unknown"
    if reading.window.tokens is not None:
        share = percent(reading.used.tokens, reading.window.tokens)
        used = f"{amount(reading.used)} of {number(reading.window.tokens)} tokens"
    return picture.title or picture.program or "Session", about, share, used


def advised(picture: SessionPicture, most: int) -> list[tuple[str, str, str, str]]:
    """The first suggestions, and the next compaction: a title, what it saves, a text, and what it is about."""
    told: list[tuple[str, str, str, str]] = []
    for each in picture.advice.suggestions[:most]:
        about = f"{each.text}: {each.quote}" if each.quote else each.text
        saving = saving_text(each.saving)
        told.append((each.title, saving, f"To do: {each.how}", f" ({about})"))
    coming = picture.advice.compaction
    if coming is not None:
        text = compaction_sentence(coming, picture.history)
        told.append(("Next compaction", "", text, ""))
    return told


def key(groups: TileGroups) -> str:
    """The categories with their colours and tokens, for a text of SVG or a paragraph of HTML."""
    drawn = ""
    for name, held in groups:
        drawn += f'<tspan class="{shade(name)}">■</tspan>&#160;{words(name)}&#160;{number(held.total())}&#160;&#160; '
    return drawn


def gauge(picture: SessionPicture, groups: TileGroups, width: int) -> str:
    """The window as a bar: what is used by what, its interval, and the compaction threshold."""
    reading = picture.reading
    used, window = reading.used, reading.window.tokens or 0
    point = reading.compaction_point or 0
    scale = width / max(window, used.high, point, 1)
    drawn = f'<rect class="sunk" y="8" width="{width}" height="18"/>'
    x = 0.0
    for name, held in groups:
        size = held.total() * scale
        title = words(f"{name} {number(held.total())}")
        at = f'class="{shade(name)}" x="{x:.1f}" width="{size:.1f}"'
        drawn += f'<rect {at} y="8" height="18"><title>{title}</title></rect>'
        x += size
    doubt = max(2, (used.high - used.low) * scale)
    drawn += f'<rect class="ink veil" x="{used.low * scale:.1f}" y="4" width="{doubt:.1f}" height="26"/>'
    if point:
        x, told = point * scale, words(threshold_sentence(reading.threshold))
        drawn += f'<rect class="ink" x="{x - 1:.1f}" y="2" width="2" height="30"/>'
        drawn += f'<text class="ink small end" x="{max(190, min(x, width - 60)):.1f}" y="46">{told}</text>'
    end = number(window) if window else "window unknown"
    if 0 < window < used.tokens:
        end = f"over {end}"
    return f'{drawn}<text class="dim small end" x="{width}" y="46">{end}</text>'


def treemap(groups: TileGroups, width: int, height: int) -> str:
    """What fills the window: an area for each name, in proportion to its tokens."""
    drawn = ""
    areas = blocks([held.total() for _, held in groups], (0, 0, width, height))
    for (category, held), area in zip(groups, areas, strict=True):
        tiles = _tiles(held)
        boxes = blocks(list(tiles.values()), area)
        for (name, tokens), (x, y, wide, tall) in zip(tiles.items(), boxes, strict=True):
            lines = int(tall / 16)
            parts = [
                (name, "on", max(1, lines - 1)),
                (number(tokens), "on small", lines - 1),
            ]
            room = wide - 10
            if room < LETTER * len(parts[1][0]):  # no number is cut
                parts = []
            label = flowed(parts[:lines], room)
            title = words(f"{category}: {name}, {number(tokens)} tokens", 400)
            drawn += f"""\
<svg x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"><title>{title}</title>\
<rect class="{shade(category)}" width="{max(0, wide - 1):.1f}" height="{max(0, tall - 1):.1f}"/>{label}</svg>"""
    return drawn


def _tiles(held: Counter[str]) -> Counter[str]:
    """The largest names. The tools of an MCP server are one, and so is what is left."""
    servers: dict[str, list[str]] = {}
    for name in held:
        if name.startswith("mcp__"):
            servers.setdefault(name.split("__")[1], []).append(name)
    tiles = held.copy()
    for server, names in servers.items():
        title = f"MCP {server}"
        if len(names) > 1:
            title += f" ({len(names)})"
        tiles[title] = sum(tiles.pop(name) for name in names)
    tiles = Counter(dict(tiles.most_common(MOST_TILES)))
    tiles["others"] += held.total() - tiles.total()
    return +tiles  # without what has no tokens


def growth(picture: SessionPicture, width: int) -> str:
    """All calls from left to right, 250 pixels high. Of neighbours that share a bar, the largest is drawn."""
    steps, point = picture.steps, picture.reading.compaction_point or 0
    if not steps:
        return '<text class="dim" y="40">No call has ended yet.</text>'
    most = max(max(step.high, step.actual or 1) for step in steps)
    if point <= FAR_THRESHOLD * most:
        most = max(most, point)
    scale, room, drawn = 176 / most, width - 44, KEY
    unit = 10 ** floor(log10(most / 2 + 1))
    for tokens in range(0, most + 1, unit * ceil(most / unit / 5)):
        y = 216 - tokens * scale
        drawn += f'<rect class="line" x="44" y="{y:.1f}" width="{room}" height="1"/>'
        drawn += (
            f'<text class="dim small end" x="36" y="{y + 4:.1f}">{short(tokens)}</text>'
        )
    rows = {row.call: row for row in picture.history.main_calls}
    count = min(len(steps), room // NARROWEST_BAR)
    pitch = min(room / count, WIDEST_BAR)
    for place in range(count):
        some = steps[place * len(steps) // count : (place + 1) * len(steps) // count]
        drawn += _bar(some, rows, 44 + place * pitch, pitch, scale)
    if 0 < point <= most:
        y = 216 - point * scale
        told = words(threshold_sentence(picture.reading.threshold))
        drawn += f'<rect class="ink" x="44" y="{y:.1f}" width="{room}" height="1"/>'
        drawn += f'<text class="ink small end" x="{width}" y="{y - 6:.1f}">{told}</text>'
    ends = f"calls {number(steps[0].number)} to {number(steps[-1].number)}"
    return f'{drawn}<text class="dim small" x="44" y="246">{ends}</text>'


def _bar(
    steps: Sequence[Step],
    rows: Mapping[str, CallRow],
    x: float,
    pitch: float,
    scale: float,
) -> str:
    """The calls that share a bar, with all that happened before one of them."""
    step = max(steps, key=lambda each: each.actual or each.estimated)
    told: list[str] = []
    for each in steps:
        told += happened(each, rows.get(each.call, UNKNOWN))
    mark = next((GLYPHS[word] for word in GLYPHS if word in told), "")
    actual = step.actual or 0
    estimate = f"{number(step.estimated)} ({number(step.low)} to {number(step.high)})"
    reported = number(actual) if actual else "nothing"
    title = f"Call {number(step.number)}: {estimate} estimated, {reported} reported"
    at = f'x="{x:.1f}" width="{0.9 * pitch:.1f}"'
    return f"""\
<g><title>{words("; ".join([title, *told]), 400)}</title><rect class="clear" {at} y="40" height="176"/>\
<rect class="bar" {at} y="{216 - actual * scale:.1f}" height="{actual * scale:.1f}"/>\
<rect class="ink veil" {at} y="{216 - step.high * scale:.1f}" height="{(step.high - step.low) * scale:.1f}"/>\
<rect class="ink" {at} y="{216 - step.estimated * scale:.1f}" height="1.5"/>\
<text class="ink mid" x="{x + pitch / 2:.1f}" y="229">{mark}</text></g>"""


def happened(step: Step, row: CallRow) -> list[str]:
    """What happened before a call, and why it paid again."""
    told = [MARKS.get(mark, mark) for mark in step.marks]
    if row.cause is not None:
        told += MISSED, row.cause.line
    return told
