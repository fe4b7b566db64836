"""What a compaction or a prune took out of the view, kept so that it can be brought back."""

from __future__ import annotations

from typing import NamedTuple

from ullage.meter.view import Entry


class Changed(NamedTuple):
    """A message that got other content: its entry before, and the one that stands there since."""

    before: Entry
    after: Entry


class Departed(NamedTuple):
    """What one compaction or prune changed.

    ``anchor`` is the call that the reading rested on then, ``order`` all ids in view before, ``summary`` the id of the
    message that was put in the place of what ``left``. A prune only has ``changed``.
    """

    anchor: str
    order: tuple[str, ...]
    left: tuple[Entry, ...] = ()
    changed: tuple[Changed, ...] = ()
    summary: str = ""
    is_prune: bool = False
