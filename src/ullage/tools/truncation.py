"""Where a text may be cut: never inside a character as it is read, and between lines where one ends nearby.

The rules are those of Unicode for extended grapheme clusters as far as the standard library knows the properties:
marks, joiners, modifiers, flags, Hangul syllables, CR LF. https://www.unicode.org/reports/tr29/
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final, Literal

_STEP: Final = 4_096  # characters counted at a time
_NEARBY: Final = 0.25  # share of a piece given up to end it with a line
_FARTHEST: Final = 64  # characters looked back for the beginning of a cluster; longer ones are no writing
_JOINER: Final = "\u200d"

CountTokens = Callable[[str], float]
"""Tokens of a text."""


def head_of(text: str, tokens: float, count: CountTokens) -> str:
    """The longest beginning of at most so many tokens that ends well. Costs what it gives, whatever the text's size."""
    at = _reach(text, tokens, count)
    if at >= len(text):
        return text
    line = text.rfind("\n", 0, at) + 1
    return text[:line] if line >= at * (1 - _NEARBY) and line else text[: cluster_start(text, at)]


def tail_of(text: str, tokens: float, count: CountTokens) -> str:
    """The longest end of at most so many tokens that begins well."""
    window = text
    size = _STEP * 4
    while size < len(text) * 2:
        window = text[-size:]
        if count(window) > tokens:
            break
        size *= 2
    low, high = 0, len(window)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if count(window[middle:]) <= tokens else (middle + 1, high)
    at = len(text) - len(window) + low
    if at <= 0:
        return text
    end = text.find("\n", at - 1, at + int((len(text) - at) * _NEARBY) + 1)
    if end >= 0:
        return text[end + 1 :]
    start = cluster_start(text, at)
    while start < at:  # the cluster around it is left out whole
        at += 1
        start = cluster_start(text, at)
    return text[at:]


def cluster_start(text: str, at: int) -> int:
    """The last place at or before ``at`` where a cut splits no grapheme cluster."""
    for place in range(at, max(0, at - _FARTHEST), -1):
        if place >= len(text) or not _are_joined(text, place):
            return place
    return at if at > _FARTHEST else 0


def whole_characters(data: bytes, *, cut: Literal["start", "end"]) -> bytes:
    """UTF-8 without the torn character at the side where it was cut; bytes that are no UTF-8 anyway stay."""
    if cut == "start":
        torn = next((n for n in range(min(4, len(data))) if data[n] & 0xC0 != 0x80), len(data) if len(data) < 4 else 0)
        return data[torn:]
    for back in range(1, min(4, len(data)) + 1):
        first = data[-back]
        if first & 0xC0 == 0x80:
            continue
        need = 1 if first < 0x80 else 2 if first >> 5 == 6 else 3 if first >> 4 == 14 else 4 if first >> 3 == 30 else 1
        return data[:-back] if need > back else data
    return data


def _reach(text: str, tokens: float, count: CountTokens) -> int:
    """How many characters fit, found in steps that are counted one by one."""
    at, left = 0, tokens
    while at < len(text):
        cost = count(text[at : at + _STEP])
        if cost > left:
            break
        at, left = at + _STEP, left - cost
    low, high = at, min(at + _STEP, len(text))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[at:middle]) <= left else (low, middle - 1)
    return min(low, len(text))


def _are_joined(text: str, at: int) -> bool:
    """Whether the characters before and after ``at`` belong to one cluster."""
    if at <= 0:
        return False
    before, after = text[at - 1], text[at]
    if before == "\r":
        return after == "\n"
    if before < "\u0300" and after < "\u0300":
        return False
    if _extends(after) or before == _JOINER:
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        start = at
        while start > 0 and _is_flag_half(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 1
    return _is_hangul_joined(before, after)


def _extends(character: str) -> bool:
    category = unicodedata.category(character)
    is_mark = category in ("Mn", "Me", "Mc")
    return is_mark or character in (_JOINER, "\u200c") or 0x1F3FB <= ord(character) <= 0x1F3FF


def _is_flag_half(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _is_hangul_joined(before: str, after: str) -> bool:
    first, second = ord(before), ord(after)
    is_leading = 0x1100 <= first <= 0x115F
    is_vowel_after = 0x1160 <= second <= 0x11A7
    is_trailing_after = 0x11A8 <= second <= 0x11FF
    is_syllable = 0xAC00 <= first <= 0xD7A3
    if is_leading:
        return is_vowel_after or 0x1100 <= second <= 0x115F or 0xAC00 <= second <= 0xD7A3
    if 0x1160 <= first <= 0x11A7:
        return is_vowel_after or is_trailing_after
    if is_syllable:
        return is_trailing_after or (is_vowel_after and (first - 0xAC00) % 28 == 0)
    return 0x11A8 <= first <= 0x11FF and is_trailing_after
