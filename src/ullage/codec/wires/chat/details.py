"""OpenRouter's ``reasoning_details``, put together again from the pieces a stream brings.

https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning: the sequence must go back as it came. Pieces
of one detail share their type and index; text, summary and data grow, a signature, an id or a format comes once.
"""

from __future__ import annotations

from typing import Any

_GROWING = ("text", "summary", "data")


def merge_details(held: list[dict[str, Any]], pieces: list[dict[str, Any]]) -> None:
    """Adds the pieces to the details held so far. A piece that fits the last detail makes it longer."""
    for piece in pieces:
        last = held[-1] if held else None
        if last is not None and _is_same(last, piece):
            _extend(last, piece)
        else:
            held.append(dict(piece))


def _is_same(detail: dict[str, Any], piece: dict[str, Any]) -> bool:
    if detail.get("type") != piece.get("type") or detail.get("index") != piece.get("index"):
        return False
    if detail.get("index") is None and piece.get("type") == "reasoning.encrypted":
        return False
    return not (detail.get("id") and piece.get("id") and detail["id"] != piece["id"])


def _extend(detail: dict[str, Any], piece: dict[str, Any]) -> None:
    for key, value in piece.items():
        before = detail.get(key)
        if key in _GROWING and isinstance(before, str) and isinstance(value, str):
            detail[key] = before + value
        elif value is not None:
            detail[key] = value
