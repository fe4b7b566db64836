"""What the picture of a session shows, as one value: the readings, history and advice that other commands print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from ullage.advice.history import WindowHistory, history_of
from ullage.advice.suggestion import name_of
from ullage.advice.suggestions import Advice, advice_of
from ullage.events import Event
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.track import Step

TileGroups = list[tuple[str, Counter[str]]]
"""Categories, each with the tokens of what is in it by name."""


class SessionPicture(msgspec.Struct, frozen=True, kw_only=True):
    """All that is drawn of a session. Texts may come from a log: drawing escapes and cuts them."""

    reading: Reading
    history: WindowHistory
    advice: Advice
    steps: tuple[Step, ...] = ()
    title: str = ""
    program: str = ""


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


def groups_of(picture: SessionPicture) -> TileGroups:
    """What fills the window: each category with the tokens of what is in it by name, the largest category first.

    What has the same name, such as a file that was read twice, is one.
    """
    known: dict[str, Counter[str]] = {}
    for item in picture.history.items:
        if item.last_call is None and item.is_summed and item.tokens:
            known.setdefault(item.category, Counter())[name_of(item)] += item.tokens
    return sorted(known.items(), key=lambda each: -each[1].total())
