"""Counting tokens with a real tokenizer, where ``ullage[bpe]`` is installed.

splintr-rs carries the vocabularies of OpenAI and of the open models (``weights.ENCODING``) in one compiled module,
loaded at the first count: 4 ms, a vocabulary 10 to 60 ms. Vocabularies that are not published are weighed sums over
classes of o200k tokens; Claude's are counted without it (``claude.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol

from ullage.tokens import claude
from ullage.tokens.policy import BPE_CHUNK
from ullage.tokens.weights import BPE, ENCODING, Weights

RARITY: Final = (500, 3_000, 12_000, 40_000)
"""Ranks of o200k that part tokens into five classes, from the commonest to the rarest."""


class Encoding(Protocol):
    """What of a vocabulary of splintr is used. ``encode_ordinary`` reads the name of a special token as plain text."""

    def encode_ordinary(self, text: str) -> list[int]: ...

    def decode(self, ids: list[int]) -> str: ...


def is_available() -> bool:
    """Whether splintr can be found; nothing is loaded."""
    return find_spec("splintr") is not None


@lru_cache(maxsize=8)
def encoding(name: str) -> Encoding:
    """A vocabulary by splintr's name for it (``o200k_base``, ``glm4``). Raises ``ImportError`` without splintr."""
    vocabulary: Encoding = import_module("splintr").Tokenizer.from_pretrained(name)
    return vocabulary


def classify(token: str, rank: int) -> str:
    """The class of an o200k token by what it reads and how rare it is, as named in the weight tables."""
    if not token or "\ufffd" in token:
        return "bytes"
    if token.isspace():
        if "\n" in token:
            return "nl" if token == "\n" else "nlrun"
        return "sp1" if len(token) == 1 else "sprun"
    if not token.isascii():
        return "na"
    body = token.lstrip(" ")
    rarity = sum(rank >= edge for edge in RARITY)
    if body.isdigit():
        return f"d{len(body)}"
    if body.isalpha():
        return (
            f"{'w' if body == token else 'W'}{'U' if body[0].isupper() else 'l'}{rarity}"
        )
    if any(letter.isalpha() for letter in body):
        return f"mix{rarity}"
    return f"{'p1' if len(body) == 1 else 'p2'}{'' if body == token else '_'}"


def read_token(vocabulary: Encoding, rank: int) -> str:
    """What a token reads; empty for one that is only a part of a character."""
    try:
        return vocabulary.decode([rank])
    except ValueError:
        return ""


class _TokenWeights(dict[int, float]):
    """Weight by token, filled as tokens come."""

    def __init__(self, vocabulary: Encoding, weights: Weights) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.weights = weights

    def __missing__(self, rank: int) -> float:
        kind = classify(read_token(self.vocabulary, rank), rank)
        weight = self[rank] = self.weights.get(kind, self.weights["?"])
        return weight


class BpeCounter:
    """The estimator of ``ullage[bpe]``. Safe to share between threads."""

    name = "bpe"

    def __init__(self, tables: Mapping[str, Weights] = BPE) -> None:
        self._tables = tables
        self._memos: dict[str, _TokenWeights] = {}
        import_module("splintr")

    def count(self, text: str, vocabulary: str) -> float:
        """Tokens of ``text``: exact where ``ENCODING`` names the vocabulary, else a weighed sum."""
        if not text:
            return 0.0
        if vocabulary in claude.VOCABULARIES:
            return float(claude.vocabulary(vocabulary).count(text))
        tokenizer = encoding(ENCODING.get(vocabulary, "o200k_base"))
        encode = tokenizer.encode_ordinary
        weights = self._tables.get(vocabulary)
        if weights is None:
            return float(sum(len(encode(piece)) for piece in _chunks(text)))
        memo = self._memos.get(vocabulary)
        if memo is None:
            memo = self._memos[vocabulary] = _TokenWeights(tokenizer, weights)
        return sum(sum(map(memo.__getitem__, encode(piece))) for piece in _chunks(text))


def _chunks(text: str) -> Iterator[str]:
    """The text as valid Unicode, cut at line ends or spaces where there are any."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    start = 0
    while len(text) - start > BPE_CHUNK:
        end = start + BPE_CHUNK
        cut = max(
            text.rfind("\n", start + BPE_CHUNK // 2, end),
            text.rfind(" ", end - 1000, end),
        )
        end = cut if cut > start else end
        yield text[start:end]
        start = end
    yield text[start:]
