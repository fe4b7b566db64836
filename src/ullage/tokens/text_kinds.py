"""Of which kinds a text's tokens are: tokenizers differ by kind of text, and hardly within one.

A tokenizer that agrees with another on English may write numbers digit by digit, or need three times the tokens for
Arabic. So what reported inputs teach is learnt for each kind (``regression.py``), and a text's tokens are shared out
among the kinds by its characters. One look at the first byte of each character tells its kind: about 1 ns a byte.
"""

from __future__ import annotations

from string import ascii_letters, digits
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """A kind of text: the first bytes of its characters in UTF-8, and about how many tokens a character is."""

    name: str
    tokens: float
    first_bytes: bytes


def _span(first: int, last: int) -> bytes:
    return bytes(range(first, last + 1))


WORD_TOKENS: Final = 0.21
"""Tokens of a letter of a word in the Latin alphabet."""

_LATIN: Final = ascii_letters.encode()
_DIGITS: Final = digits.encode()
_UNSPOKEN: Final = b" \r" + _span(0x80, 0xBF) + _span(0xC3, 0xCC)
"""Spaces, which are part of the words behind them; the later bytes of a character; Latin letters with marks."""

_MARKS: Final = bytes(set(range(0x80)) - set(_LATIN + _DIGITS + b" \r")) + b"\xc2\xe2"

KINDS: Final = (
    Kind("digits", 0.4, _DIGITS),
    Kind("marks", 0.5, _MARKS),
    Kind("Cyrillic, Greek", 0.3, _span(0xCD, 0xD4)),
    Kind("East Asian", 0.8, _span(0xE3, 0xEF)),
    Kind("Arabic, Hebrew", 0.4, _span(0xD5, 0xDF)),
    Kind("other scripts", 0.6, b"\xe0\xe1" + _span(0xF0, 0xFF)),
)
"""The kinds beside words in the Latin alphabet, in the order of ``KindTokens``. Marks are punctuation, line ends and
symbols, of which code and JSON are full. The tokens are o200k's over translations of one program's messages into 30
languages, and over code, JSON and logs (724 texts)."""

KindTokens = tuple[float, ...]
"""Tokens of each of ``KINDS`` in a text, without the zeros at the end; what is left of a text are words."""

_CLASSES: Final = bytes(
    next((at for at, kind in enumerate(KINDS) if byte in kind.first_bytes), len(KINDS))
    for byte in range(256)
)


def kind_tokens(text: str, tokens: float) -> KindTokens:
    """How many of a text's tokens are of each kind. Any string is accepted, lone surrogates included. O(len)."""
    data = text.encode("utf-8", "replace")
    unspoken = data.translate(_CLASSES, _UNSPOKEN + _LATIN)
    if not unspoken:
        return ()
    letters = len(data) - len(data.translate(None, _LATIN))
    weights = [kind.tokens * unspoken.count(at) for at, kind in enumerate(KINDS)]
    share = tokens / (sum(weights) + WORD_TOKENS * letters)
    while not weights[-1]:
        weights.pop()
    return tuple(round(weight * share, 1) for weight in weights)


def summed(one: KindTokens, other: KindTokens, sign: int = 1) -> KindTokens:
    """Both together; with ``sign=-1`` the first without the second."""
    if not other:
        return one
    size = max(len(one), len(other))
    sums: list[float] = []
    for at in range(size):
        first = one[at] if at < len(one) else 0.0
        second = other[at] if at < len(other) else 0.0
        sums.append(first + sign * second)
    return tuple(sums)
