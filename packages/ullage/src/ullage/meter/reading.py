"""What a window holds at one moment: the one number and where it comes from.

A ``Reading`` is a value. Display, trigger and enforcement use the same one, told apart by ``snapshot_id``. Its JSON
shape (``Reading.to_json``) is the same in Python, on the command line and over HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, Literal

import msgspec

from ullage.events import Amount
from ullage.meter.spend import Spend

Source = Literal["reported", "counted", "estimated", "by_difference"]
"""Reported by the provider; counted with a count endpoint; estimated from the content; what is left of a total."""

WindowSource = Literal[
    "user",
    "observed",
    "log",
    "settings",
    "provider",
    "error",
    "documented",
    "catalogue",
    "unknown",
]
"""``observed`` is shown by the log of another program and ``log`` named by it; ``settings`` are that program's, and
``documented`` is its default (docs/clients.md)."""

OURSELVES = "Ullage"
"""Who compacts the sessions of an ``Agent``, and of a loop that asks a ``Meter``."""

ThresholdSource = Literal[
    "user", "observed", "settings", "documented", "assumed", "unknown"
]
"""``user``: set for this meter or agent. ``assumed``: Ullage's own default. The others as for the window."""


STATED = "as "
"""How the label of a reading begins that rests on what somebody says of the size: ``as Codex says``."""


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens in the window, and the interval meant to hold the truth 95 times in 100. Triggers use ``high``."""

    tokens: int
    low: int
    high: int

    @property
    def amount(self) -> Amount:
        """The same as an event has it."""
        return Amount(tokens=self.tokens, low=self.low, high=self.high)


class Window(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The context window in tokens, and its source. ``None`` is unknown: nothing is guessed.

    For the session of another program it is the window that this program uses; ``note`` says where it is from.
    """

    tokens: int | None
    source: WindowSource
    note: str = ""


class CompactionThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens at which compaction starts; ``None`` is unknown or never. ``note`` says where they are from.

    ``by`` is the program that compacts there: ``Ullage``, or the one that wrote the session, such as ``Claude Code``.
    It is empty in the session of another program whose threshold is unknown: Ullage would compact there.
    """

    tokens: int | None
    source: ThresholdSource
    by: str = OURSELVES
    note: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """One line of the breakdown. ``children`` say what it is made of and sum to at most ``tokens``.

    ``low`` and ``high`` are what its estimate may be off, within the interval of the total; every row has them.
    ``summed`` is False for a row that is shown but not part of the total, such as deferred tools.
    """

    name: str
    tokens: int
    source: Source
    children: tuple[Row, ...] = ()
    id: str = ""
    """The message, part or tool that the row is of, if it is of one."""
    low: int | None = None
    high: int | None = None
    summed: bool = True
    note: str = ""


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """How ``used`` came about, in the terms of the formula. The terms sum to ``used.tokens``.

    Without an earlier call ``last_input`` is ``None`` and everything is in ``new``.
    """

    last_input: int | None
    last_output: int
    """What of the last answer is sent back and counted."""
    new: int
    changed: int
    """System prompt, tools or model against those of the last call."""
    removed: int
    """Pruned, compacted, or reasoning of earlier calls that leaves. Zero or negative."""
    call: str = ""
    label: str = ""
    """Why the number is weaker than usual, in words; empty when it rests on the last call's reported input."""
    reported_output: int | None = None
    """What was reported as the output of the last answer, where its content was counted instead."""

    @property
    def is_told(self) -> bool:
        """Whether a call reported its input, or the program or provider says how full the window is."""
        return self.last_input is not None or self.label.startswith(STATED)


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """The error of the last estimate, and of all. ``error`` is estimated - actual, in tokens."""

    estimated: int | None = None
    actual: int | None = None
    error: int | None = None
    error_percent: float | None = None
    median_error_percent: float | None = None
    """Median of absolute errors, over ``calls`` calls."""
    calls: int = 0
    inside: int = 0
    """For how many of them the reported input was inside the interval."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The window at one moment. ``used + reserve + free == window`` whenever the window is known.

    ``free`` is signed: below zero the window is over-full by that much. ``input_limit`` is min(the provider's input
    cap, window - reserve), ``compaction_point`` is min(trigger x window, input limit), or what the program compacts at
    that wrote the session; ``threshold`` has its source too, and is ``compaction_point`` in JSON.
    """

    snapshot_id: str
    """Names the content that was read: two readings of the same content have the same."""
    session: str
    """The session's id."""
    seq: int
    """The number of the last event that it knows of."""
    model: str
    """The model's name, without its provider."""
    window: Window
    """The context window in tokens, and where that is known from."""
    input_limit: int | None
    """The most tokens that a request may have; ``None``: unknown."""
    threshold: CompactionThreshold = msgspec.field(name="compaction_point")
    """Where compaction starts, and who says so."""
    used: Used
    """What the next request holds, in tokens, with the interval that is meant to hold it 95 times in 100."""
    reserve: int
    """Tokens kept free for the answer."""
    free: int | None
    """Tokens that are left; ``None``: the window is unknown."""
    rows: tuple[Row, ...]
    """What ``used`` is made of: system prompt, tools, messages and the rest."""
    basis: Basis
    """How ``used`` came about: the last reported input, and what was added since."""
    accuracy: Accuracy
    """How far earlier estimates were off."""
    spend: Spend
    """What all calls of the session have cost, in tokens and US dollars."""
    compactions: int = 0
    """How often the session was compacted."""
    unproven: int = 0
    """Of ``used.high``, tokens for which one report alone speaks, against what was expected, or that only the host may
    have added: no compaction is due for their sake before the next report."""
    call: str = ""
    """The call this reading was taken for, when it was taken by ``Meter.before``."""
    notes: tuple[str, ...] = ()
    """Sentences for a person, about what the number can not know."""

    @property
    def compaction_point(self) -> int | None:
        """The tokens at which compaction starts; ``None`` is unknown or never."""
        return self.threshold.tokens

    @property
    def share(self) -> float | None:
        """``used`` as a fraction of the window; ``None`` while the window is unknown."""
        return self.used.tokens / self.window.tokens if self.window.tokens else None

    @property
    def proven_high(self) -> int:
        """The upper end of the interval, as far as more than one report speaks for it: compactions are due by it."""
        return self.used.high - self.unproven

    @property
    def until_compaction(self) -> int | None:
        """Tokens from ``proven_high`` to the compaction threshold; ``None`` while there is none."""
        return (
            None
            if self.compaction_point is None
            else self.compaction_point - self.proven_high
        )

    def should_compact(self) -> bool:
        """True when ``proven_high`` has reached the compaction threshold."""
        return (
            self.compaction_point is not None
            and self.proven_high >= self.compaction_point
        )

    def __str__(self) -> str:
        """One line: the tokens used with their interval, of how many, and the tokens left to the compaction threshold.

        41,230 ± 1,200 of 200,000 tokens (21 %), 117,570 until compaction
        """
        from ullage.display.gauge_line import sentence

        return sentence(self)

    def __rich_console__(self, console: object, options: Any) -> Iterator[object]:
        """The gauge, as wide as the console: ``rich.print(reading)``."""
        from ullage.display.gauge_line import gauge_line
        from ullage.display.glyphs import glyphs_for
        from ullage.display.styles import rich_text

        yield rich_text(gauge_line(self, options.max_width, glyphs_for(options.encoding)))

    def _repr_html_(self) -> str:
        """The gauge, in a notebook."""
        from ullage.display.gauge_line import gauge_line
        from ullage.display.glyphs import UNICODE
        from ullage.display.text import plain

        line = escape(plain(gauge_line(self, 100, UNICODE)))
        return f'<pre style="margin:0">{line}</pre>'

    def to_json(self) -> bytes:
        """The reading as one JSON object."""
        return msgspec.json.encode(self)
