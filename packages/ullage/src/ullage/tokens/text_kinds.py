"""Of which kinds a text's tokens are: tokenizers differ by kind of text, and hardly within one.

A tokenizer that agrees with another on English may write numbers digit by digit, or need three times the tokens for
Arabic. So what reported inputs teach is learnt for each kind (``regression.py``), and a text's tokens are shared out
among the kinds by its characters. The first byte of a character, or the first two, tell its kind: about 1 ns a byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_letters, digits
from typing import Final, NamedTuple

from ullage.tokens.policy import WORD_LETTERS, WORD_TOKENS


class Kind(NamedTuple):
    """A kind of text: about how many tokens a character is, and what is supposed of tokenizers.

    ``starts`` are how its characters begin in UTF-8: with the first byte, or with the first two where another kind has
    the same first byte. All else are shares of its tokens. A tokenizer that was measured is off by the deviation
    ``measured``, beside what any text is. One that nobody measured needs ``excess`` more, with its ``deviation``; and
    a text may be off by ``spread`` however well the kind is known, as one kind holds several languages.
    """

    name: str
    tokens: float
    measured: float
    excess: float
    deviation: float
    spread: float
    starts: tuple[bytes, ...]


def _each(values: Iterable[int]) -> tuple[bytes, ...]:
    return tuple(bytes((value,)) for value in values)


def _span(first: int, last: int) -> tuple[bytes, ...]:
    return _each(range(first, last + 1))


_LATIN: Final = ascii_letters.encode()
_DIGITS: Final = digits.encode()
_UNSPOKEN: Final = b" \r" + bytes(range(0x80, 0xC0))
"""Spaces, which are part of the words behind them; the later bytes of a character."""

_MARKS: Final = (*sorted(set(range(0x80)) - set(_LATIN + _DIGITS + b" \r")), 0xC2, 0xE2)

KINDS: Final = (
    Kind("sentences", WORD_TOKENS, 0.005, 0.05, 0.25, 0.0, ()),
    Kind("digits", 0.4, 0.04, 0.4, 0.6, 0.0, _each(_DIGITS)),
    Kind("marks", 0.5, 0.04, 0.05, 0.25, 0.1, _each(_MARKS)),
    Kind("accents", 0.6, 0.04, 0.2, 0.5, 0.2, _span(0xC3, 0xCC)),
    Kind("Cyrillic", 0.3, 0.1, 0.25, 0.5, 0.1, _span(0xD0, 0xD3)),
    Kind("Han", 0.8, 0.1, 0.1, 0.4, 0.05, _span(0xE4, 0xE9)),
    Kind("Arabic", 0.4, 0.1, 0.9, 0.8, 0.15, _span(0xD8, 0xDF)),
    Kind("kana", 0.8, 0.1, 0.1, 0.4, 0.05, (b"\xe3", b"\xef")),
    Kind("Hangul", 0.8, 0.1, 0.5, 0.9, 0.1, _span(0xEA, 0xEE)),
    Kind("Greek", 0.5, 0.1, 0.6, 0.7, 0.1, _span(0xCD, 0xCF)),
    Kind("Hebrew", 0.6, 0.1, 0.8, 0.8, 0.1, _span(0xD6, 0xD7)),
    Kind("Thai", 0.6, 0.1, 1.1, 1.0, 0.1, (b"\xe0\xb8", b"\xe0\xb9")),
    Kind("Devanagari", 0.6, 0.1, 1.5, 1.0, 0.25, (b"\xe0\xa4", b"\xe0\xa5")),
    Kind("other Indic", 0.6, 0.1, 2.0, 1.3, 0.6, (b"\xe0",)),
    Kind("Armenian", 0.6, 0.1, 2.2, 1.2, 0.2, _span(0xD4, 0xD5)),
    Kind("other scripts", 0.6, 0.1, 1.5, 1.1, 0.5, (b"\xe1", *_span(0xF0, 0xFF))),
)
"""The kinds beside names in the Latin alphabet, in the order of ``KindTokens``. Words of sentences are the one kind
that no byte tells. Marks are punctuation, line ends and symbols, of which code and JSON are full. The tokens are
o200k's over translations of one program's messages into 48 languages, and over code, JSON, prose and logs (633 texts);
the spreads are what is left between languages of a kind in 17 vocabularies, once each kind's ratio is known."""

_SENTENCES: Final = 0
_ASCII_KINDS: Final = 3
"""Kinds that a text in ASCII can have: the first ones."""

KindTokens = tuple[float, ...]
"""Tokens of each of ``KINDS`` in a text, without the zeros at the end; what is left of a text are names."""

_KIND_BY_START: Final = {
    start: at for at, kind in enumerate(KINDS) for start in kind.starts
}
_CLASSES: Final = bytes(
    _KIND_BY_START.get(start, len(KINDS)) for start in _span(0x00, 0xFF)
)
_PAIRS: Final = tuple(start for start in _KIND_BY_START if len(start) > 1)


def kind_tokens(text: str, tokens: float) -> KindTokens:
    """How many of a text's tokens are of each kind. Any string is accepted, lone surrogates included. O(len)."""
    data = text.encode("utf-8", "replace")
    classes = data.translate(_CLASSES, _UNSPOKEN + _LATIN)
    is_ascii = len(data) == len(text)
    counts = [classes.count(at) for at in range(_ASCII_KINDS if is_ascii else len(KINDS))]
    if not is_ascii:
        for pair in _PAIRS:
            found = data.count(pair)
            counts[_KIND_BY_START[pair]] += found
            counts[_KIND_BY_START[pair[:1]]] -= found
    letters = len(data) - len(data.translate(None, _LATIN))
    between_words = text.count(" ") - 2 * text.count("  ")
    counts[_SENTENCES] = min(letters, WORD_LETTERS * between_words)
    weights = [kind.tokens * count for kind, count in zip(KINDS, counts, strict=False)]
    while weights and not weights[-1]:
        weights.pop()
    whole = sum(weights[1:]) + WORD_TOKENS * letters
    return tuple(round(weight * tokens / whole, 1) for weight in weights)


def spread_of(text_kinds: KindTokens) -> float:
    """Tokens by which a text of these kinds may be off in a tokenizer that nobody measured, beside what any text is."""
    return sum(
        kind.spread * tokens for kind, tokens in zip(KINDS, text_kinds, strict=False)
    )


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
