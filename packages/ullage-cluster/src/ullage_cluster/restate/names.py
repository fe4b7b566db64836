"""The names under which Restate knows sessions."""

from __future__ import annotations

from typing import Final

OBJECT: Final = "UllageSession"
"""The Virtual Object; its keys are the ids of sessions. Each place has one of its own."""

HANDLER: Final = "drive"


def object_of(place: str) -> str:
    """The Virtual Object of a place's sessions: Restate hands them to workers that declare it."""
    return f"{OBJECT}.{place}" if place else OBJECT
