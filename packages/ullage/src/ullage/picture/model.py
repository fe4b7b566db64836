"""What the picture of a session shows, as one value: the readings, history and advice that other commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ullage.advice.history import WindowHistory, history_of
from ullage.advice.suggestion import name_of
from ullage.advice.suggestions import Advice, advice_of
from ullage.events import Event
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.track import Step
from ullage.picture.policy import MOST_TILES


class SessionPicture(msgspec.Struct, frozen=True, kw_only=True):
    """All that is drawn of a session. Texts may come from a log: drawing escapes and cuts them."""

    reading: Reading
    history: WindowHistory
    advice: Advice
    steps: tuple[Step, ...] = ()
    title: str = ""
    program: str = ""


class TileGroup(NamedTuple):
    """Items of the window of one category: names and tokens, the largest first."""

    name: str
    tokens: int
    tiles: list[tuple[str, int]]


def picture_of(
    events: Sequence[Event],
    meter: Meter | None = None,
    *,
    title: str = "",
    program: str = "",
    no_content: bool = False,
    subagent_tools: frozenset[str] = frozenset(),
) -> SessionPicture:
    """The picture of a session, from all of its events. Costs what ``history_of`` costs; never raises.

    Args:
        events: The session's events, the oldest first.
        meter: A meter without events, for a window, settings or a calibration of the caller's.
        title: What the session is about.
        program: The program that made it, with its version; else the one that the events name.
        no_content: Leave out the title, labels of items, paths and quotes.
        subagent_tools: Names of tools that the session's subagents called.
    """
    meter = meter or Meter()
    history = history_of(events, meter)
    if no_content:
        history, title = history.without_content(), ""
    return SessionPicture(
        reading=meter.reading(),
        history=history,
        advice=advice_of(history, meter, events, subagent_tools=subagent_tools),
        steps=tuple(meter.steps),
        title=title,
        program=program or history.program,
    )


def groups_of(picture: SessionPicture) -> list[TileGroup]:
    """What fills the window, by category, the largest first. The smallest items of a category are one tile."""
    known: dict[str, list[tuple[str, int]]] = {}
    place = 0
    for item in sorted(picture.history.items, key=lambda each: -each.tokens):
        if item.last_call is not None or not item.is_summed or not item.tokens:
            continue
        tiles = known.setdefault(item.category, [])
        place += 1
        if place > MOST_TILES and tiles:
            tokens = item.tokens
            if tiles[-1][0] == OTHERS:
                tokens += tiles.pop()[1]
            tiles.append((OTHERS, tokens))
        else:
            tiles.append((name_of(item), item.tokens))
    groups: list[TileGroup] = []
    for name, tiles in known.items():
        groups.append(TileGroup(name, sum(tokens for _, tokens in tiles), tiles))
    return sorted(groups, key=lambda group: -group.tokens)


OTHERS = "others"
"""The name of the tile of small items."""
