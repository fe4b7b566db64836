"""What a repair is, and the list that collects them."""

from __future__ import annotations

from typing import Literal, NamedTuple

RepairKind = Literal[
    "text",
    "arguments",
    "call_id",
    "tool_name",
    "tool",
    "missing_result",
    "moved_result",
    "extra_result",
    "misplaced",
    "empty",
    "unknown_part",
    "foreign_reasoning",
    "partial_reasoning",
    "orphan_reasoning",
    "foreign_data",
    "stand_in_reasoning",
    "stand_in_signature",
    "stand_in_message",
    "thinking_off",
]
"""What was wrong, as a word that programs can count."""


class Repair(NamedTuple):
    """One difference between the request as it was given and as it is sent. ``part`` is empty for a whole message."""

    kind: RepairKind
    message: str
    part: str
    what: str


class Notes:
    """Collects repairs while a request is gone through; ``add`` is the only thing it does."""

    def __init__(self) -> None:
        self.repairs: list[Repair] = []

    def add(self, kind: RepairKind, message: str, part: str, what: str) -> None:
        self.repairs.append(Repair(kind, message, part, what))
