"""Cuts long text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from ullage.tokens.text import counter_for

_STEP: Final = 4_096  # characters counted at a time
_NEARBY: Final = 0.25  # share of a piece given up to end it with a line
_LONGEST_TOKEN: Final = 16  # characters; only runs of spaces have more
_CUT_START: Final = re.compile(rb"\A[\x80-\xbf]{1,3}")
_CUT_END: Final = re.compile(
    rb"(?:[\xc0-\xff]|[\xe0-\xff][\x80-\xbf]|[\xf0-\xff][\x80-\xbf]{2})\Z"
)

CountTokens = Callable[[str], float]
"""Tokens of a text."""


def estimated_tokens(text: str) -> float:
    """Tokens of a text, cheaply: the core's estimator, which needs no tokenizer, for the o200k vocabulary."""
    return counter_for("pretoken").count(text, "o200k")


def head_of(text: str, tokens: float, count: CountTokens) -> str:
    """The longest beginning of at most so many tokens that ends well. Its cost depends on the result, not the text."""
    end = _reach(text, tokens, count)
    if end >= len(text):
        return text
    line = text.rfind("\n", 0, end) + 1
    if line and line >= end * (1 - _NEARBY):
        return text[:line]
    return text[:end]


def tail_of(text: str, tokens: float, count: CountTokens) -> str:
    """The longest end of at most so many tokens that begins well."""
    window = text[-max(1, int(tokens) * _LONGEST_TOKEN) :]
    low, high = 0, len(window)
    while low < high:
        middle = (low + high) // 2
        if count(window[middle:]) <= tokens:
            high = middle
        else:
            low = middle + 1
    start = len(text) - len(window) + low
    if start <= 0:
        return text
    nearby = start + int((len(text) - start) * _NEARBY)
    line_end = text.find("\n", start - 1, nearby + 1)
    if line_end >= 0:
        return text[line_end + 1 :]
    return text[start:]


def whole_characters(data: bytes, *, cut: Literal["start", "end"]) -> bytes:
    """UTF-8 without the incomplete character at the side that was cut. Other bytes that are not UTF-8 stay."""
    return (_CUT_START if cut == "start" else _CUT_END).sub(b"", data)


def _reach(text: str, tokens: float, count: CountTokens) -> int:
    """How many characters fit, found in steps that are counted one by one."""
    start, left = 0, tokens
    while start < len(text):
        cost = count(text[start : start + _STEP])
        if cost > left:
            break
        start += _STEP
        left -= cost
    low, high = start, min(start + _STEP, len(text))
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[start:middle]) <= left:
            low = middle
        else:
            high = middle - 1
    return min(low, len(text))
