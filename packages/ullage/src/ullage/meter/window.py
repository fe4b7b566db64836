"""Named denominators: whose limit counts, and where compaction starts.

Precedence: user > the log of another program > that program's settings > provider at run time > an error that named it
> that program's default > catalogue > unknown, which is shown as such. One exception: a window that the user set too
large is capped by the error of the provider that refused a request for being larger than its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ullage.envelope import MOST_TOKENS
from ullage.errors import SettingError
from ullage.events import LimitLearnt
from ullage.meter.policy import DEFAULT_RESERVE, DEFAULT_TRIGGER, RESERVE_SHARE
from ullage.meter.reading import (
    OURSELVES,
    CompactionThreshold,
    Window,
    WindowSource,
)
from ullage_programs.limits import UNKNOWN_LIMITS, ClientLimits

_SETTINGS = ("window", "default_window", "reserve", "trigger", "auto")

_RANK: dict[WindowSource, int] = {
    "user": 8,
    "observed": 7,
    "log": 6,
    "settings": 5,
    "provider": 4,
    "error": 3,
    "documented": 2,
    "catalogue": 1,
    "unknown": 0,
}


CUT_THERE: Final = "the provider cuts off what is more"
NOT_REACHED: Final = "its threshold is above what the provider reads"

MOST_SENT: Final = "the most that may be sent, as a refusal named it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One number and its source."""

    tokens: int
    source: WindowSource
    note: str = ""

    def beats(self, other: Limit | None) -> bool:
        """Whether this one is to be believed: a better source, or a newer value of the same source.

        Args:
            other: What was believed so far.
        """
        return other is None or _RANK[self.source] >= _RANK[other.source]


class Denominators(NamedTuple):
    """What a number of tokens can be a part of; ``None`` is unknown, or for the compaction threshold: never."""

    window: Window
    reserve: int
    input_limit: int | None
    threshold: CompactionThreshold

    @property
    def compaction_point(self) -> int | None:
        """The tokens at which compaction starts."""
        return self.threshold.tokens


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
    """Used, as if the user had set it, when the window is unknown."""
    has_trigger: bool = False
    """Whether ``trigger`` was set, and is not the default."""
    program: str = ""
    """The name, for people, of the other program that compacts this session; empty when none does."""
    client: ClientLimits = UNKNOWN_LIMITS
    """What is known of that program's own limits."""
    refused: int | None = None
    """The window that this model's provider named when it refused a request for its size."""
    cut: int | None = None
    """The input above which this model's provider has cut requests without a word."""

    def __post_init__(self) -> None:
        if not 0 < self.trigger < float("inf"):
            raise SettingError(
                f"trigger={self.trigger} can't be reached: give a share up to 1, or tokens above 1."
            )
        if self.reserve is not None and self.reserve < 0:
            raise SettingError(
                f"reserve={self.reserve} is below zero: give the tokens to keep free for the answer."
            )

    def learn(self, event: LimitLearnt) -> Limits:
        """These limits and what one event says, where its source ranks at least as high.

        Args:
            event: The next one.
        """
        is_refusal = event.source == "error" and (event.window or 0) > 0
        return replace(
            self,
            refused=event.window if is_refusal else self.refused,
            window=_believed(self.window, event.window, event.source),
            input_cap=_believed(self.input_cap, event.input_cap, event.source),
            max_output=_believed(self.max_output, event.max_output, event.source),
        )

    def with_cut(self, tokens: int | None) -> Limits:
        """These limits where the provider cuts off what is beyond so many tokens.

        Args:
            tokens: How many; ``None``: it does not cut.
        """
        return self if tokens == self.cut else replace(self, cut=tokens)

    def with_settings(self, settings: Mapping[str, object]) -> Limits:
        """These limits with settings by name.

        Args:
            settings: ``None`` takes one back to its default, other names are ignored.

        Raises:
            SettingError: A value is not possible.
        """
        limits = self
        for name in _SETTINGS:
            if name not in settings:
                continue
            value = settings[name]
            if name == "trigger":
                is_set = isinstance(value, int | float)
                limits = replace(limits, has_trigger=is_set)
                value = value if is_set else DEFAULT_TRIGGER
            elif name == "auto":
                value = value is not False
            elif not isinstance(value, int):
                value = None
            elif name == "window":
                value = Limit(tokens=value, source="user")
                if value != limits.window:  # set anew, after the refusal
                    limits = replace(limits, refused=None)
            limits = replace(limits, **{name: value})  # type: ignore[arg-type]
        return limits

    def of_model(
        self, window: int | None, input_cap: int | None, max_output: int | None
    ) -> Limits:
        """The limits of another model, as the catalogue has them: what was learnt of the last one is dropped.

        Args:
            window: Its window in tokens; ``None`` here and below: unknown.
            input_cap: Its largest input in tokens.
            max_output: Its largest answer in tokens.
        """
        return replace(
            self,
            refused=None,
            cut=None,
            window=_looked_up(self.window, window),
            input_cap=_looked_up(self.input_cap, input_cap),
            max_output=_looked_up(self.max_output, max_output),
        )

    @property
    def named_window(self) -> int | None:
        """The window that the user or the log named, which no other source replaces."""
        held = self.window
        if held is None or held.source not in ("user", "log"):
            return None
        return held.tokens

    @property
    def window_in_force(self) -> Window:
        """The window by the best source; what is cut off behind a smaller one, no source can give room for."""
        named = self._named_window
        if self.cut is None or self.cut >= (named.tokens or MOST_TOKENS):
            return named
        return Window(tokens=self.cut, source="observed", note=CUT_THERE)

    @property
    def _named_window(self) -> Window:
        best = self.window
        client = self.client.window
        if client is not None and client.tokens is not None:
            own = Limit(tokens=client.tokens, source=client.source, note=client.note)
            best = own if own.beats(best) else best
        if best is not None and best.source == "user":
            best = self._capped(best)
        if best is not None:
            return Window(tokens=best.tokens, source=best.source, note=best.note)
        if self.default_window is not None:
            return Window(tokens=self.default_window, source="user")
        cap = self.input_cap
        if cap is not None and cap.source == "error":
            return Window(tokens=cap.tokens, source="error", note=MOST_SENT)
        return Window(tokens=None, source="unknown")

    def _capped(self, given: Limit) -> Limit:
        """The user's window, or the smaller one above which the provider refuses requests."""
        if self.refused is None or self.refused >= given.tokens:
            return given
        note = f"{given.tokens:,} tokens are set, but the provider refuses more than {self.refused:,}."
        return Limit(tokens=self.refused, source="error", note=note)

    @property
    def denominators(self) -> Denominators:
        """What follows from these limits.

        The default reserve is capped by the model's largest answer and by a share of the window; there is none where
        the threshold of another program is known, which leaves room for the answer. A request may hold
        min(input cap, window - reserve), and compaction starts at min(trigger, that), or at the program's threshold.
        """
        window = self.window_in_force
        reserve = self._reserve_of(window)
        bounds: list[int] = []
        if window.tokens is not None:
            bounds.append(window.tokens - reserve)
        if self.input_cap is not None:
            bounds.append(self.input_cap.tokens)
        limit = max(0, min(bounds)) if bounds else None
        return Denominators(window, reserve, limit, self._threshold(window, limit))

    @property
    def _own_threshold_counts(self) -> bool:
        """Whether compaction starts by these settings, and not by those of another program."""
        return self.has_trigger or not self.auto or self.client.threshold is None

    def _reserve_of(self, window: Window) -> int:
        if self.reserve is not None:
            return self.reserve
        if not self._own_threshold_counts:
            return 0
        reserve = DEFAULT_RESERVE
        if self.max_output is not None:
            reserve = min(reserve, self.max_output.tokens)
        if window.tokens is not None:
            reserve = min(reserve, window.tokens // RESERVE_SHARE)
        return reserve

    def _threshold(self, window: Window, limit: int | None) -> CompactionThreshold:
        client = self.client.threshold
        if client is not None and not self._own_threshold_counts:
            if self.cut is not None and self.cut < (client.tokens or 0):
                return CompactionThreshold(
                    tokens=None, source="observed", by=self.program, note=NOT_REACHED
                )
            return CompactionThreshold(
                tokens=client.tokens,
                source=client.source,
                by=self.program,
                note=client.note,
            )
        by = "" if self.program else OURSELVES
        if not self.auto:
            return CompactionThreshold(tokens=None, source="user", by=by)
        if limit is None:
            return CompactionThreshold(tokens=None, source="unknown", by=by)
        point = limit
        if self.trigger > 1:
            point = min(int(self.trigger), limit)
        elif window.tokens is not None:
            point = min(int(self.trigger * window.tokens), limit)
        if self.has_trigger:
            return CompactionThreshold(tokens=point, source="user", by=by)
        return CompactionThreshold(tokens=point, source="assumed", by=by)


def _believed(
    held: Limit | None, tokens: int | None, source: WindowSource
) -> Limit | None:
    if tokens is None or tokens <= 0:
        return held
    limit = Limit(tokens=tokens, source=source)
    return limit if limit.beats(held) else held


def _looked_up(held: Limit | None, tokens: int | None) -> Limit | None:
    if held is not None and held.source == "user":
        return held
    return None if tokens is None else Limit(tokens=tokens, source="catalogue")
