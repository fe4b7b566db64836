"""The words of a text that tell where it is used again: paths, identifiers, numbers, long words."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{2,119}")
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_PARTS: Final = re.compile(r"[/-]")
_HEX: Final = re.compile(r"[0-9a-f]{12,64}")

SHORT_HASH: Final = 7
"""Characters to which people and models shorten a hash."""

LONG_WORD: Final = 9
"""Letters from which on a plain word counts: shorter ones are mostly everyday language."""

SHORT_NUMBER: Final = 3
"""Digits that a number has at least: smaller ones appear by chance."""


def distinctive_words(text: str) -> set[str]:
    """Words that two texts hardly share by chance: whole, in the parts of a path or id, and the beginning of a hash."""
    found: set[str] = set()
    for match in _WORD.findall(text):
        word = match.strip("./-")
        parts = _PARTS.split(word)
        for part in (word, *parts):
            if is_distinctive(part):
                found.add(part)
            if _HEX.fullmatch(part):
                found.add(part[:SHORT_HASH])
    return found


def is_distinctive(word: str) -> bool:
    """Whether a word is a path, an identifier, a number or a long word."""
    if word.isdigit():
        return len(word) >= SHORT_NUMBER
    if len(word) <= SHORT_NUMBER:
        return False
    if len(word) >= LONG_WORD:
        return True
    if "_" in word or "." in word or "/" in word:
        return True
    has_digit = any(character.isdigit() for character in word)
    return has_digit or _CAMEL.search(word) is not None
