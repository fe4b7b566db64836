"""What the picture of a session shows, as one value: the readings, history and advice that other commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.advice.history import WindowHistory, history_of
from ullage.advice.lives import ItemLife
from ullage.advice.suggestion import name_of
from ullage.advice.suggestions import Advice, advice_of
from ullage.display.text import number, printable, shortened
from ullage.events import Event
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.track import Step
from ullage.picture.policy import LONGEST_NAME, MOST_TILES

SHADES: Final = (
    "Tool results",
    "Tool calls",
    "Assistant",
    "Reasoning",
    "You",
    "System prompt",
    "Tools",
    "Summary",
    "Instruction files",
)
"""Categories that have a colour of their own, which is their place here."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """All that is drawn of a session. ``title`` and ``program`` may come from a log; drawing escapes them."""

    reading: Reading
    history: WindowHistory
    advice: Advice
    steps: tuple[Step, ...] = ()
    title: str = ""
    program: str = ""


class Tile(NamedTuple):
    """An item of the window, or several small ones."""

    name: str
    tokens: int


class TileGroup(NamedTuple):
    """The items of one category, the largest first; ``shade`` is the place of its colour."""

    name: str
    tokens: int
    shade: int
    tiles: Sequence[Tile]


def picture_of(
    events: Sequence[Event],
    meter: Meter | None = None,
    *,
    title: str = "",
    program: str = "",
    no_content: bool = False,
    subagent_tools: frozenset[str] = frozenset(),
) -> Picture:
    """The picture of a session, from all of its events. Costs what ``history_of`` costs; never raises.

    Args:
        events: The session's events, the oldest first.
        meter: A meter without events, for a window, settings or a calibration of the caller's.
        title: What the session is about.
        program: The program that made it, with its version; else the one that the events name.
        no_content: Leave out the title, labels of items, paths and quotes.
        subagent_tools: Names of tools that the session's subagents called.
    """
    if meter is None:
        meter = Meter()
    history = history_of(events, meter)
    advice = advice_of(
        history,
        meter,
        events,
        no_content=no_content,
        subagent_tools=subagent_tools,
    )
    if no_content:
        history, title = history.without_content(), ""
    return Picture(
        reading=meter.reading(),
        history=history,
        advice=advice,
        steps=tuple(meter.steps),
        title=title,
        program=program or history.program,
    )


def groups_of(picture: Picture) -> list[TileGroup]:
    """What fills the window, by category, the largest first. Small items of a category share a tile."""
    known: dict[str, list[ItemLife]] = {}
    sizes: list[int] = []
    for item in picture.history.items:
        if item.last_call is None and item.is_summed and item.tokens > 0:
            known.setdefault(item.category, []).append(item)
            sizes.append(item.tokens)
    sizes.sort(reverse=True)
    least = sizes[:MOST_TILES][-1] if sizes else 0
    groups: list[TileGroup] = []
    for category, items in known.items():
        items.sort(key=lambda item: -item.tokens)
        tiles: list[Tile] = []
        rest = total = 0
        for item in items:
            total += item.tokens
            if item.tokens >= least and len(tiles) < MOST_TILES:
                tiles.append(Tile(name_of(item), item.tokens))
            else:
                rest += item.tokens
        if rest:
            more = len(items) - len(tiles)
            tiles.append(Tile(f"{number(more)} more" if tiles else category, rest))
        shade = SHADES.index(category) if category in SHADES else len(SHADES)
        groups.append(TileGroup(category, total, shade, tiles))
    return sorted(groups, key=lambda group: -group.tokens)


def words(text: str, most: int = LONGEST_NAME) -> str:
    """Text from a log on one line of at most ``most`` cells, without control characters."""
    return shortened(printable(text[: 4 * most]), most)
