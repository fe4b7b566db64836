"""Counting tokens with a real tokenizer, where ``ullage[bpe]`` is installed.

splintr-rs carries the vocabularies of OpenAI and of the open models (``weights.ENCODING``) in one compiled module,
loaded at the first count: 4 ms, a vocabulary 10 to 60 ms. A vocabulary that is not published is counted as o200k;
Claude's are counted without it (``claude.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol

from ullage.tokens import claude
from ullage.tokens.policy import BPE_CHUNK
from ullage.tokens.weights import ENCODING

_NUMBERS: Final = re.compile("[0-9]{2,3}")
"""Digits that are one token of o200k."""


class Encoding(Protocol):
    """What of a vocabulary of splintr is used. ``encode_ordinary`` reads the name of a special token as plain text."""

    def encode_ordinary(self, text: str) -> list[int]: ...


def is_available() -> bool:
    """Whether splintr can be found; nothing is loaded."""
    return find_spec("splintr") is not None


@lru_cache(maxsize=8)
def encoding(name: str) -> Encoding:
    """A vocabulary by splintr's name for it (``o200k_base``, ``glm4``). Raises ``ImportError`` without splintr."""
    vocabulary: Encoding = import_module("splintr").Tokenizer.from_pretrained(name)
    return vocabulary


class BpeCounter:
    """The estimator of ``ullage[bpe]``. Safe to share between threads."""

    name = "bpe"

    def __init__(self) -> None:
        import_module("splintr")

    def is_exact(self, vocabulary: str) -> bool:
        """Claude's vocabularies, and those in ``ENCODING``."""
        return vocabulary in claude.VOCABULARIES or vocabulary in ENCODING

    def count(self, text: str, vocabulary: str) -> float:
        """Tokens of ``text``: exact where ``ENCODING`` names the vocabulary."""
        if not text:
            return 0.0
        if vocabulary in claude.VOCABULARIES:
            return float(claude.vocabulary(vocabulary).count(text))
        encode = encoding(ENCODING.get(vocabulary, "o200k_base")).encode_ordinary
        total = 0
        for piece in _chunks(text):
            total += len(encode(piece))
            if vocabulary == "digits":
                total += sum(len(number) - 1 for number in _NUMBERS.findall(piece))
        return float(total)


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
