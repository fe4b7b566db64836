"""A line that can be chosen, apart from the screen that shows it: the plain conversation needs no such package."""

from __future__ import annotations

from typing import NamedTuple

from ullage.display.text import Line


class Choice(NamedTuple):
    """One line of a list. ``target`` is what choosing it means; a line without one is passed over."""

    line: Line
    target: str = ""
