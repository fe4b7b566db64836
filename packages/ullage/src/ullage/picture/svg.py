"""The picture of a session as one SVG: a card that a README or a chat can show."""

from __future__ import annotations

from ullage.advice.sentences import compaction_sentence, heading_of, saving_text
from ullage.display.gauge_line import amount
from ullage.display.text import counted, number, percent
from ullage.meter.limit_texts import threshold_sentence
from ullage.picture.growth import growth
from ullage.picture.model import SessionPicture, TileGroup, groups_of
from ullage.picture.policy import CARD
from ullage.picture.shapes import Box, blocks, paragraph, placed, rectangle, text, words
from ullage.picture.style import SHADES, Scheme, style


def svg(picture: SessionPicture, *, scheme: Scheme = "auto") -> str:
    """The card: how full the window is, what fills it, how it grew, what would make room, the next compaction.

    One self-contained file without scripts, links and fonts. Everything from a log is escaped and cut.

    Args:
        picture: What is drawn.
        scheme: Its colours. ``auto`` has both and follows the reader's own, also as an image of a page.
    """
    groups = groups_of(picture)
    title, about, share, used = head(picture)
    alarm = "bad" if picture.reading.should_compact() else "accent"
    key = "".join(
        f'<tspan class="{shade(group)}">■ </tspan>{words(group.name)} {number(group.tokens)} &#160; '
        for group in groups[:6]
    )
    drawn = [
        f"<style>{style(scheme)}</style>",
        rectangle(Box(0, 0, CARD, 620), "paper"),
        f'<g font-size="24">{text(28, 48, title, "serif ink", 300)}</g>',
        text(28, 72, about, "dim", 560),
        f'<g font-size="34">{text(972, 50, share, f"serif end {alarm}")}</g>',
        text(972, 72, used, "ink end"),
        placed(Box(28, 88, 944, 60), gauge(picture, groups, 944)),
        f'<text class="ink" x="28" y="162">{key}</text>',
        placed(Box(28, 180, 460, 240), treemap(groups, Box(0, 0, 460, 240))),
        placed(Box(512, 176, 460, 250), growth(picture, 460, 250)),
        rectangle(Box(28, 446, 944, 1), "line"),
        text(28, 472, heading_of(picture.advice), "dim"),
    ]
    columns = advised(picture)
    room = 960 / max(1, len(columns))
    for place, (name, saving, what) in enumerate(columns):
        told = paragraph(14, name, room - 20, 2, "ink strong")
        told += paragraph(46, saving, room - 20, 2, "accent")
        told += paragraph(78 if saving else 32, what, room - 20, 3 if saving else 6)
        drawn.append(placed(Box(22 + room * place, 484, room - 16, 130), told))
    return figure("".join(drawn), CARD, 620, title, f"{share}: {used}")


def figure(content: str, width: float, height: float, title: str, about: str) -> str:
    """A drawing as an element of its own that says what it shows."""
    told = f"<title>{words(title)}</title><desc>{words(about, 1_000)}</desc>"
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="ullage" role="img" {size}>{told}{content}</svg>'


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


def advised(picture: SessionPicture) -> list[tuple[str, str, str]]:
    """What would make room, and the next compaction: a title, what it saves, and a text."""
    told: list[tuple[str, str, str]] = []
    for each in picture.advice.suggestions:
        about = f"{each.text}: {each.quote}" if each.quote else each.text
        told.append((each.title, saving_text(each.saving), f"{about}. To do: {each.how}"))
    coming = picture.advice.compaction
    if coming is not None:
        told.append(("Next compaction", "", compaction_sentence(coming, picture.history)))
    return told


def shade(group: TileGroup) -> str:
    """The class of a category's colour."""
    names = SHADES.split(",")
    return f"s{names.index(group.name) if group.name in names else len(names)}"


def gauge(picture: SessionPicture, groups: list[TileGroup], width: float) -> str:
    """The window as a bar: what is used by what, its interval, the compaction threshold, what is kept for the answer."""
    reading = picture.reading
    used, window, point = (
        reading.used,
        reading.window.tokens or 0,
        reading.compaction_point,
    )
    scale = width / max(window, used.high, point or 0, 1)
    kept = reading.reserve * scale
    drawn = rectangle(Box(0, 8, width, 18), "sunk")
    drawn += rectangle(
        Box(window * scale - kept, 8, kept, 18),
        "line",
        f"{number(reading.reserve)} kept for the answer",
    )
    x = 0.0
    for group in groups:
        box = Box(x, 8, group.tokens * scale, 18)
        drawn += rectangle(box, shade(group), f"{group.name} {number(group.tokens)}")
        x += box.width
    doubt = Box(used.low * scale, 4, max(2, (used.high - used.low) * scale), 26)
    drawn += rectangle(
        doubt,
        "ink veil",
        f"95 times in 100 between {number(used.low)} and {number(used.high)}",
    )
    if point is not None:
        drawn += rectangle(Box(point * scale - 1, 2, 2, 30), "ink")
        drawn += text(
            max(190, min(point * scale, width - 60)),
            46,
            threshold_sentence(reading.threshold),
            "ink small end",
        )
    return drawn + text(width, 46, number(window) if window else "", "dim small end")


def treemap(groups: list[TileGroup], box: Box) -> str:
    """What fills the window: an area for each item, in proportion to its tokens."""
    drawn = ""
    for group, area in zip(
        groups, blocks([each.tokens for each in groups], box), strict=True
    ):
        tiles = blocks([tokens for _, tokens in group.tiles], area)
        for (name, tokens), tile in zip(group.tiles, tiles, strict=True):
            inside = Box(0, 0, tile.width - 1, tile.height - 1)
            content = rectangle(
                inside, shade(group), f"{group.name}: {name}, {number(tokens)} tokens"
            )
            if tile.width > 34 and tile.height > 18:
                content += paragraph(
                    15, name, tile.width - 10, max(1, int(tile.height / 16) - 1), "on"
                )
            if tile.width > 34 and tile.height > 36:
                content += text(6, tile.height - 8, number(tokens), "on small")
            drawn += placed(tile, content)
    return drawn or text(0, 16, "Nothing is known of what fills the window.", "dim")
