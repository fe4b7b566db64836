"""How many tokens a text is: the protocol of the estimators, and the estimators by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from ullage.errors import MissingExtra, SettingError
from ullage.tokens import bpe
from ullage.tokens.pretoken import PretokenCounter


class TextCounter(Protocol):
    """Counts the tokens of a text. Pure: the same text gives the same number; memory serves speed alone."""

    @property
    def name(self) -> str: ...

    def count(self, text: str, vocabulary: str) -> float:
        """Tokens of ``text`` in a family's vocabulary. Accepts any string, never raises, costs O(len)."""
        ...

    def is_exact(self, vocabulary: str) -> bool:
        """Whether it counts in that vocabulary itself, and does not estimate."""
        ...


class Estimates:
    """What all estimators share that hold no vocabulary."""

    def is_exact(self, vocabulary: str) -> bool:
        """Never."""
        return False


class InjectedCounter(Estimates):
    """An estimator that the application provides, the same for all vocabularies."""

    name = "custom"

    def __init__(self, estimate: Callable[[str], float]) -> None:
        self.estimate = estimate

    def count(self, text: str, vocabulary: str) -> float:
        """The application's count."""
        return float(self.estimate(text))


class QuarterCounter(Estimates):
    """A token for every four characters, rounded per text, as OpenCode, Dexto and others do: for comparison."""

    name = "quarter"

    def count(self, text: str, vocabulary: str) -> float:
        """``round(len / 4)``, whatever the vocabulary."""
        return float(round(len(text) / 4))


ASCII_TOKENS = 0.25
OTHER_TOKENS = 1.3
"""gemini-cli's two constants
(https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/tokenCalculation.ts)."""


class GeminiCliCounter(Estimates):
    """0.25 tokens for an ASCII character and 1.3 for any other, as gemini-cli estimates."""

    name = "gemini-cli"

    def count(self, text: str, vocabulary: str) -> float:
        """The sum over all characters, whatever the vocabulary."""
        if text.isascii():
            return len(text) * ASCII_TOKENS
        plain = sum(map(str.isascii, text))
        return plain * ASCII_TOKENS + (len(text) - plain) * OTHER_TOKENS


_MAKERS: dict[str, Callable[[], TextCounter]] = {
    "pretoken": PretokenCounter,
    "bpe": bpe.BpeCounter,
    "quarter": QuarterCounter,
    "gemini-cli": GeminiCliCounter,
}
NAMES = ("auto", *_MAKERS)
"""``auto`` is ``bpe`` where it is installed, else ``pretoken``."""


def counter_for(estimator: str | Callable[[str], float] = "auto") -> TextCounter:
    """The estimator of a name, or one that calls the given function.

    Raises ``SettingError`` for a name that is not in ``NAMES``, and ``MissingExtra`` for ``bpe`` without splintr-rs.
    """
    return InjectedCounter(estimator) if callable(estimator) else _named(estimator)


@lru_cache(maxsize=8)
def _named(name: str) -> TextCounter:
    if name == "auto":
        name = "bpe" if bpe.is_available() else "pretoken"
    maker = _MAKERS.get(name)
    if maker is None:
        raise SettingError(
            f"There is no estimator {name!r}: use one of {', '.join(NAMES)}, or pass a function of a text."
        )
    try:
        return maker()
    except ImportError as error:
        raise MissingExtra(
            f"The estimator {name!r} needs ullage[bpe]: {error}"
        ) from error
