"""Reads fields of JSON that comes from outside: a field of the wrong type counts as missing."""

from __future__ import annotations

MOST = 1_000_000_000
"""Larger counts are no token counts."""


def mapping(value: object, name: str = "") -> dict[str, object]:
    """The object itself or its field; empty when it is something else."""
    if name:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text(value: dict[str, object], name: str) -> str:
    """A field that holds text; empty when it does not."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def count(value: dict[str, object], name: str) -> int:
    """A field that holds a plausible count; 0 when it does not."""
    found = value.get(name)
    if isinstance(found, bool) or not isinstance(found, int):
        return 0
    return found if 0 <= found <= MOST else 0


def amount(value: dict[str, object], name: str) -> float:
    """A field that holds a plausible number; 0 when it does not."""
    found = value.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return 0.0
    return float(found) if 0 <= found <= MOST else 0.0


def objects(value: object) -> list[dict[str, object]]:
    """The objects of a list; empty when it is no list."""
    if not isinstance(value, list):
        return []
    return [each for each in value if isinstance(each, dict)]
