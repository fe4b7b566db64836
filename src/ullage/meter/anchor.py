"""What a reading rests on: the last actual, and what came after it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ullage.messages import Role
from ullage.meter.cost import TOOL_RESULTS, MessageCost
from ullage.meter.growth import NOTHING_COUNTED, Added, Counted
from ullage.meter.view import Entry
from ullage.reasoning import ReasoningStep, step_of
from ullage.usage import Usage

NOTHING_ADDED = Added()


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A call whose input the provider reported, and the estimates of what that input was made of.

    ``order`` is the newest view entry it covers. ``fixed``, ``reasoning`` and ``messages`` are what system and tools,
    earlier reasoning, and messages were estimated at then, so that later changes can be taken by difference.
    ``label`` says why the number is weaker than an actual, ``spread`` by which share; both are empty for an actual.
    """

    call: str
    input: int
    usage: Usage
    order: int
    fixed: float
    reasoning: float
    messages: float
    rests: Counted = NOTHING_COUNTED
    """The answers of the turn by whose counted text the reasoning in it was had."""
    stream: bool = False
    label: str = ""
    spread: float = 0.0
    edited: float = 0.0
    """Tokens by which the answer as it is sent back exceeds the answer that the usage tells of."""


class SinceAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """What was added after the anchor's request, its own answer aside. Grows in O(1) a message."""

    added: Added = NOTHING_ADDED
    tokens: float = 0.0
    users: int = 0
    results: int = 0
    messages: int = 0
    tools: tuple[str, ...] = ()
    """Names of the tools whose results these are."""

    @property
    def kind(self) -> str:
        """What was added, where messages of its kind may have an offset of their own; empty is of no kind."""
        return "+".join(sorted(self.tools)) if self.tools and not self.users else ""

    def plus(self, entry: Entry, *, quiet: bool = False) -> SinceAnchor:
        """And this message. ``quiet`` messages, such as summaries, begin no turn."""
        return self._and(entry, 1, quiet=quiet)

    def minus(self, entry: Entry, *, quiet: bool = False) -> SinceAnchor:
        """Without this message, which had been added. ``quiet``: the turn that it began goes on."""
        return self._and(entry, -1, quiet=quiet)

    def _and(self, entry: Entry, sign: int, *, quiet: bool) -> SinceAnchor:
        cost = entry.cost
        results = cost.added.results
        tools = self.tools
        if results and sign > 0:
            tools = (*tools, *(part.name for part in cost.parts if part.row == TOOL_RESULTS))
        return SinceAnchor(
            added=self.added + cost.added if sign > 0 else self.added - cost.added,
            tokens=self.tokens + sign * cost.tokens,
            users=max(0, self.users + sign * (not quiet and begins_turn(entry.role, cost))),
            results=max(0, self.results + sign * results),
            messages=max(0, self.messages + sign),
            tools=tools,
        )


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """The next request's tokens, their interval, and the terms they are the sum of."""

    tokens: int
    low: int
    high: int
    last_input: int | None
    last_output: float
    new: float
    changed: float
    removed: float
    """Positive: tokens that left."""
    reasoning: float
    """Of these tokens, reasoning that is sent back and counted."""
    label: str = ""
    notes: tuple[str, ...] = ()


class Before(NamedTuple):
    """What a forecast rested on, kept until the actual is known."""

    anchor: Anchor
    output: Entry | None
    output_left: bool
    since: SinceAnchor
    changed: float
    removed: float


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A call that was started: what was in view and what was expected, to be compared with its actual."""

    order: int
    fixed: float
    earlier: float
    """Reasoning of the answers before the last one in this request."""
    reasoning: float
    """The same with the last answer's."""
    messages: float
    rests: Counted = NOTHING_COUNTED
    """``Anchor.rests`` of this request."""
    forecast: Forecast
    user_turn: bool
    results: int
    before: Before | None
    """``None`` for a call before which nothing was reported."""
    marks: tuple[str, ...]
    stream: bool
    at: float


class TurnsAs(NamedTuple):
    """What of a message the turns depend on."""

    is_answer: bool
    has_word: bool
    has_tools: bool


def turns_as(entry: Entry) -> TurnsAs:
    """What an entry is to the turns, whatever stands before it."""
    answer, added = entry.cost.answer, entry.cost.added
    has_tools = added.results > 0 if answer is None else answer.calls > 0
    return TurnsAs(answer is not None, begins_turn(entry.role, entry.cost), has_tools)


def step_of_cost(entry: Entry, is_open: bool, *, beside: bool) -> ReasoningStep:
    """What an entry is to the turns, as ``reasoning.step_in`` tells it from a message."""
    return step_of(**turns_as(entry)._asdict(), beside=beside, is_open=is_open)


def begins_turn(role: Role, cost: MessageCost) -> bool:
    """Whether such a message holds a user's word, as against tool results that travel under the user's role."""
    return role == "user" and cost.added.users > 0
