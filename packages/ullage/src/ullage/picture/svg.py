"""The picture of a session as one SVG: a card that a README or a chat can show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ullage.advice.sentences import compaction_sentence, heading_of, saving_text
from ullage.display.gauge_line import amount
from ullage.display.text import counted, number, percent
from ullage.meter.limit_texts import threshold_sentence
from ullage.meter.reading import Reading
from ullage.picture.growth import growth
from ullage.picture.model import Picture, TileGroup, groups_of, words
from ullage.picture.policy import CARD, GAP, GAUGE_HEIGHT, MARGIN, TILE_TEXT
from ullage.picture.shapes import (
    Box,
    blocks,
    hover,
    label,
    paragraph,
    placed,
    rectangle,
    width_of,
)
from ullage.picture.style import FONTS, Scheme, rules


def svg(picture: Picture, *, scheme: Scheme = "auto") -> str:
    """The card: how full the window is, what fills it, how it grew, what would make room, the next compaction.

    One self-contained file without scripts, links and fonts. Everything from a log is escaped and cut.

    Args:
        picture: What is drawn.
        scheme: Its colours. ``auto`` has both and follows the reader's own, also as an image of a page.
    """
    width, height = CARD
    inner = width - 2 * MARGIN
    half = (inner - GAP) / 2
    groups = groups_of(picture)
    drawn = [
        rectangle(Box(0, 0, width, height), "paper"),
        _head(picture, inner),
        placed(MARGIN, 92, inner, GAUGE_HEIGHT, gauge(picture, groups, inner)),
        placed(MARGIN, 150, inner, 20, legend(groups, inner)),
        placed(MARGIN, 182, half, 236, treemap(groups, half, 236)),
        placed(MARGIN + half + GAP, 176, half, 250, growth(picture, half, 250)),
        _advice(picture, 452, inner),
    ]
    style = f"<style>{FONTS}{rules(scheme)}</style>"
    return figure(
        style + "".join(drawn), width, height, "Context window", summary(picture)
    )


def figure(content: str, width: float, height: float, name: str, about: str) -> str:
    """A drawing as an element of its own that says what it shows."""
    told = f"<title>{escape(name)}</title><desc>{escape(about)}</desc>"
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="ullage" role="img" {size}>{told}{content}</svg>'


def summary(picture: Picture) -> str:
    """The picture in a sentence."""
    parts = [used_text(picture.reading), threshold_sentence(picture.reading.threshold)]
    return ". ".join(part for part in parts if part)


def used_text(reading: Reading) -> str:
    """``35,462 (35,433 to 36,610) of 200,000 tokens, 18 %``."""
    window = reading.window.tokens
    if window is None:
        return f"{amount(reading.used)} tokens, window unknown"
    share = percent(reading.used.tokens, window)
    return f"{amount(reading.used)} of {number(window)} tokens, {share}"


def about_text(picture: Picture) -> str:
    """The model, the program and the calls so far."""
    calls = counted(len(picture.history.main_calls), "call")
    parts = [picture.reading.model, picture.program, f"after {calls}"]
    return " · ".join(words(part) for part in parts if part)


def _head(picture: Picture, inner: float) -> str:
    reading = picture.reading
    window = reading.window.tokens
    figures, beside = number(reading.used.tokens), "tokens, window unknown"
    if window is not None:
        figures = percent(reading.used.tokens, window)
        beside = used_text(reading).rpartition(", ")[0]
    right = MARGIN + inner
    style = "bad" if reading.should_compact() else "accent"
    room = inner - 330
    return "".join(
        (
            label(
                MARGIN,
                48,
                picture.title or picture.program,
                size=23,
                style="serif ink",
                room=room,
            ),
            label(MARGIN, 72, about_text(picture), size=13, style="dim", room=room),
            label(right, 50, figures, size=34, style=f"serif {style}", anchor="end"),
            label(right, 72, beside, size=13, anchor="end"),
        )
    )


def gauge(picture: Picture, groups: Sequence[TileGroup], width: float) -> str:
    """The window as a bar: what is used by what, the interval, the compaction threshold, what is kept for the answer."""
    reading = picture.reading
    used, window, point = reading.used, reading.window.tokens, reading.compaction_point
    scale = width / max(window or 0, used.high, point or 0, 1)
    drawn = [rectangle(Box(0, 8, width, 18), "sunk")]
    if window is not None and reading.reserve:
        kept = Box((window - reading.reserve) * scale, 8, reading.reserve * scale, 18)
        drawn.append(
            hover(
                f"{number(reading.reserve)} kept for the answer", rectangle(kept, "line")
            )
        )
    x = 0.0
    for group in groups:
        part = rectangle(Box(x, 8, group.tokens * scale, 18), f"s{group.shade}")
        drawn.append(hover(f"{group.name} {number(group.tokens)}", part))
        x += group.tokens * scale
    doubt = Box(used.low * scale, 4, max(2, (used.high - used.low) * scale), 26)
    drawn.append(
        hover(
            f"95 times in 100 between {number(used.low)} and {number(used.high)}",
            rectangle(doubt, "interval"),
        )
    )
    end = number(window) if window is not None else ""
    drawn.append(label(width, 46, end, size=11, style="dim", anchor="end"))
    if point is not None:
        at = point * scale
        drawn.append(f'<path class="point" stroke-width="2" d="M{at:.1f} 2v30"/>')
        sentence = threshold_sentence(reading.threshold)
        half = width_of(sentence, 11) / 2
        at = min(max(at, half), width - half - width_of(end, 11) - 10)
        drawn.append(label(at, 46, sentence, size=11, anchor="middle"))
    return "".join(drawn)


def legend(groups: Sequence[TileGroup], width: float) -> str:
    """The categories with their colours and tokens, as far as there is room in a line."""
    drawn: list[str] = []
    x = 0.0
    for group in groups:
        text = f"{words(group.name)} {number(group.tokens)}"
        needed = 15 + width_of(text)
        if x + needed > width:
            break
        drawn.append(rectangle(Box(x, 3, 10, 10), f"s{group.shade}"))
        drawn.append(label(x + 15, 12, text))
        x += needed + 14
    return "".join(drawn)


def treemap(groups: Sequence[TileGroup], width: float, height: float) -> str:
    """What fills the window: an area for each item, in proportion to its tokens."""
    if not groups:
        return label(0, 16, "Nothing is known of what fills the window.", style="dim")
    drawn: list[str] = []
    areas = blocks([group.tokens for group in groups], Box(0, 0, width, height))
    for group, area in zip(groups, areas, strict=True):
        for tile, box in zip(
            group.tiles, blocks([each.tokens for each in group.tiles], area), strict=True
        ):
            content = rectangle(Box(0, 0, box.width, box.height), f"edge s{group.shade}")
            if box.width >= TILE_TEXT and box.height >= 18:
                room = box.width - 10
                lines = int((box.height - 4) / 16)
                content += "".join(
                    paragraph(6, 15, tile.name, room, max(1, lines - 1), "on")
                )
                if lines > 1:
                    content += label(
                        6,
                        box.height - 7,
                        number(tile.tokens),
                        size=11,
                        style="on",
                        room=room,
                    )
            told = f"{group.name}: {tile.name}, {number(tile.tokens)} tokens"
            drawn.append(hover(told, placed(*box, content)))
    return "".join(drawn)


def _advice(picture: Picture, y: float, inner: float) -> str:
    """Up to three suggestions and the next compaction, side by side."""
    advice = picture.advice
    columns = [
        (
            each.title,
            saving_text(each.saving),
            f"{each.text}. To do: {each.how}".replace("`", ""),
        )
        for each in advice.suggestions
    ]
    if advice.compaction is not None:
        columns.append(
            (
                "Next compaction",
                "",
                compaction_sentence(advice.compaction, picture.history),
            )
        )
    drawn = [f'<path class="rule" d="M{MARGIN} {y}H{MARGIN + inner}"/>']
    drawn.append(label(MARGIN, y + 24, heading_of(advice), style="dim", room=inner))
    room = (inner - GAP * (len(columns) - 1)) / max(1, len(columns))
    for place, (title, saving, text) in enumerate(columns):
        x = MARGIN + place * (room + GAP)
        lines = paragraph(0, 14, title, room, 2, "ink strong")
        below = 14 + 16 * len(lines)
        if saving:
            saved = paragraph(0, below, saving, room, 2, "accent")
            lines += saved
            below += 16 * len(saved)
        lines += paragraph(0, below, text, room, 3 if saving else 6)
        drawn.append(placed(x, y + 38, room, 120, "".join(lines)))
    return "".join(drawn)
