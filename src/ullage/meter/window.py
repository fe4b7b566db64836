"""Named denominators: whose limit counts, and where compaction starts.

Precedence: user > provider at run time > an error that named it > catalogue > unknown, which is said, not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ullage.errors import SettingError
from ullage.events import LimitLearnt
from ullage.meter.reading import Window, WindowSource

DEFAULT_TRIGGER = 0.8
"""Share of the window at which compaction starts (seed 003's threshold)."""

DEFAULT_RESERVE = 16_000
"""Tokens kept free for the answer (seed 000's output buffer)."""

RESERVE_SHARE = 5
"""The default reserve takes at most this part (a fifth) of the window."""

_RANK: dict[WindowSource, int] = {"user": 4, "provider": 3, "error": 2, "catalogue": 1, "unknown": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One number and who said it."""

    tokens: int
    source: WindowSource

    def beats(self, other: Limit | None) -> bool:
        """Whether this one is to be believed: a better source, or a newer word of the same source."""
        return other is None or _RANK[self.source] >= _RANK[other.source]


class Denominators(NamedTuple):
    """What a number of tokens can be a part of; ``None`` is unknown, or for the compaction point: never."""

    window: Window
    reserve: int
    input_limit: int | None
    compaction_point: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is known of a model's limits, and the user's settings on top of them. All in tokens."""

    window: Limit | None = None
    input_cap: Limit | None = None
    max_output: Limit | None = None
    reserve: int | None = None
    """The user's own reserve; ``None`` takes the default."""
    trigger: float | int = DEFAULT_TRIGGER
    """A share of the window up to 1, or an absolute number of tokens above 1."""
    auto: bool = True
    default_window: int | None = None
    """Used, as the user's word, when nobody knows the window."""

    def __post_init__(self) -> None:
        if not 0 < self.trigger < float("inf"):
            raise SettingError(f"trigger={self.trigger} can't be reached: give a share up to 1, or tokens above 1.")
        if self.reserve is not None and self.reserve < 0:
            raise SettingError(f"reserve={self.reserve} is below zero: give the tokens to keep free for the answer.")

    def learn(self, event: LimitLearnt) -> Limits:
        """These limits and what one event says, where its source ranks at least as high."""
        return replace(
            self,
            window=_believed(self.window, event.window, event.source),
            input_cap=_believed(self.input_cap, event.input_cap, event.source),
            max_output=_believed(self.max_output, event.max_output, event.source),
        )

    def with_settings(self, said: Mapping[str, object]) -> Limits:
        """These limits with settings by name; ``None`` takes one back to its default, other names are passed over.

        Raises ``SettingError`` for a value that can't be.
        """
        limits = self
        if "window" in said:
            window = said["window"]
            limits = replace(limits, window=Limit(tokens=window, source="user") if isinstance(window, int) else None)
        if "default_window" in said:
            default = said["default_window"]
            limits = replace(limits, default_window=default if isinstance(default, int) else None)
        if "reserve" in said:
            reserve = said["reserve"]
            limits = replace(limits, reserve=reserve if isinstance(reserve, int) else None)
        if "trigger" in said:
            trigger = said["trigger"]
            limits = replace(limits, trigger=trigger if isinstance(trigger, int | float) else DEFAULT_TRIGGER)
        if "auto" in said:
            limits = replace(limits, auto=said["auto"] is not False)
        return limits

    def of_model(self, window: int | None, input_cap: int | None, max_output: int | None) -> Limits:
        """The limits of another model, as the catalogue has them: what was learnt of the last one is forgotten."""
        return replace(
            self,
            window=_looked_up(self.window, window),
            input_cap=_looked_up(self.input_cap, input_cap),
            max_output=_looked_up(self.max_output, max_output),
        )

    @property
    def denominators(self) -> Denominators:
        """All of them at once."""
        return Denominators(self.known_window, self.kept_reserve, self.input_limit, self.compaction_point)

    @property
    def known_window(self) -> Window:
        """The window and its source."""
        if self.window is not None:
            return Window(tokens=self.window.tokens, source=self.window.source)
        if self.default_window is not None:
            return Window(tokens=self.default_window, source="user")
        return Window(tokens=None, source="unknown")

    @property
    def kept_reserve(self) -> int:
        """Tokens kept for the answer: the user's, or the default, capped by the model's output and the window."""
        if self.reserve is not None:
            return self.reserve
        kept = DEFAULT_RESERVE
        if self.max_output is not None:
            kept = min(kept, self.max_output.tokens)
        window = self.known_window.tokens
        return kept if window is None else min(kept, window // RESERVE_SHARE)

    @property
    def input_limit(self) -> int | None:
        """The most a request may hold: min(input cap, window - reserve), and never below zero."""
        window = self.known_window.tokens
        bounds = [] if window is None else [window - self.kept_reserve]
        if self.input_cap is not None:
            bounds.append(self.input_cap.tokens)
        return max(0, min(bounds)) if bounds else None

    @property
    def compaction_point(self) -> int | None:
        """Where compaction starts; ``None`` when it never does (``auto=False``) or the window is unknown."""
        limit, window = self.input_limit, self.known_window.tokens
        if limit is None or not self.auto:
            return None
        if self.trigger > 1:
            return min(int(self.trigger), limit)
        return limit if window is None else min(int(self.trigger * window), limit)


def _believed(held: Limit | None, tokens: int | None, source: WindowSource) -> Limit | None:
    if tokens is None or tokens <= 0:
        return held
    limit = Limit(tokens=tokens, source=source)
    return limit if limit.beats(held) else held


def _looked_up(held: Limit | None, tokens: int | None) -> Limit | None:
    if held is not None and held.source == "user":
        return held
    return None if tokens is None else Limit(tokens=tokens, source="catalogue")
