"""Counting tokens with a real tokenizer, where ``ullage[bpe]`` is installed.

bpe-openai carries OpenAI's o200k and cl100k vocabularies. Only its compiled module is loaded: the package around it
costs 0.8 s and 140 MB to import, the module alone 0.07 s. Vocabularies that are not published are weighed sums over
classes of o200k tokens; Claude's are counted without it (``claude.py``).
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

from ullage.tokens import claude
from ullage.tokens.policy import BPE_CHUNK
from ullage.tokens.weights import BPE, ENCODING, Weights

RARITY: Final = (500, 3_000, 12_000, 40_000)
"""Ranks of o200k that part tokens into five classes, from the commonest to the rarest."""


class Encoding(Protocol):
    """What of the compiled module is used."""

    def count(self, text: str) -> int: ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, tokens: list[int]) -> str: ...


def is_available() -> bool:
    """Whether bpe-openai's compiled module can be found; nothing is loaded."""
    return _module_path() is not None


@lru_cache(maxsize=1)
def _module_path() -> Path | None:
    try:
        spec = importlib.util.find_spec("bpe_openai")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    for path in sorted(Path(spec.origin).parent.glob("_bindings.*")):
        if path.name.endswith(suffixes):
            return path
    return None


@lru_cache(maxsize=4)
def encoding(name: str) -> Encoding:
    """A vocabulary by name (``o200k_base``, ``cl100k_base``). Raises ``ImportError`` where bpe-openai is missing."""
    return _bindings().tokenizer_for_encoding(name)


class Bindings(Protocol):
    """The compiled module."""

    def tokenizer_for_encoding(self, name: str) -> Encoding: ...


@lru_cache(maxsize=1)
def _bindings() -> Bindings:
    path = _module_path()
    if path is None:
        raise ImportError(
            "bpe-openai is not installed: install ullage[bpe], or use the pretoken estimator"
        )
    name = "bpe_openai._bindings"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise ImportError(f"bpe-openai's compiled module can't be loaded from {path}")
    module: Any = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    bindings: Bindings = module
    return bindings


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
        _bindings()

    def count(self, text: str, vocabulary: str) -> float:
        """Tokens of ``text``: exact where the vocabulary is OpenAI's, a weighed sum where it is not."""
        if not text:
            return 0.0
        if vocabulary in claude.VOCABULARIES:
            return float(claude.vocabulary(vocabulary).count(text))
        tokenizer = encoding(ENCODING.get(vocabulary, "o200k_base"))
        weights = self._tables.get(vocabulary)
        if weights is None:
            return float(sum(tokenizer.count(piece) for piece in _chunks(text)))
        memo = self._memos.get(vocabulary)
        if memo is None:
            memo = self._memos[vocabulary] = _TokenWeights(tokenizer, weights)
        return sum(
            sum(map(memo.__getitem__, tokenizer.encode(piece))) for piece in _chunks(text)
        )


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
