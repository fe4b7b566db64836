"""What a reading rests on: the last reported input, and what came after it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.messages import Role
from ullage.meter.clearing import NOTHING_CLEARED, ClearedTokens
from ullage.meter.cost import NOTHING_COUNTED, TOOL_RESULTS, Added, Counted, MessageCost
from ullage.meter.policy import CLEARING_DOUBT
from ullage.meter.reading import Basis
from ullage.meter.view import Entry
from ullage.usage import Usage

NOTHING_ADDED = Added()


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A call whose input the provider reported, and the estimates of what that input was made of.

    ``input`` includes what the provider ``cleared`` of the request. ``order`` is the newest view entry it covers.
    ``fixed``, ``reasoning`` and ``messages`` are what system and tools, earlier reasoning, and messages were estimated
    at then, so that later changes can be taken by difference.
    ``label`` says why the number is weaker than a reported one, ``spread`` by which share; a reported one has neither.
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
    turn: float = 0.0
    """Of ``reasoning``, what is of the turn."""
    stream: bool = False
    label: str = ""
    spread: float = 0.0
    cleared: ClearedTokens = NOTHING_CLEARED
    edited: float = 0.0
    """Tokens by which the answer as it is sent back exceeds the answer that the usage tells of."""
    level: float | None = None
    """What the ledger alone expects in the place of ``input``, where that was accepted although it was surprising."""
    stated_by: str = ""
    """Who says that ``input``, where no call reported it."""

    @property
    def unexplained(self) -> float:
        """Tokens by which the input exceeds the estimates of what it was made of."""
        return self.input - self.messages - self.fixed - self.reasoning

    @property
    def beyond(self) -> float:
        """Tokens by which what the ledger expects exceeds a surprising input; 0 where it was none."""
        return 0.0 if self.level is None else self.level - self.input

    def beyond_of(self, tokens: int) -> float:
        """The same of a request of so many tokens: an excess of the ledger leaves with the content that it is of."""
        beyond = self.beyond
        if beyond <= 0 or tokens >= self.input:
            return beyond
        return beyond * max(0, tokens) / self.input


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

    def plus(self, entry: Entry, sign: int = 1, *, quiet: bool = False) -> SinceAnchor:
        """And this message; with ``sign=-1`` without it.

        A ``quiet`` message, such as a summary, begins no turn. One that leaves ends none.
        """
        cost = entry.cost
        results = cost.added.results
        tools = self.tools
        if results and sign > 0:
            tools = (
                *tools,
                *(part.name for part in cost.parts if part.row == TOOL_RESULTS),
            )
        return SinceAnchor(
            added=self.added.plus(cost.added, sign),
            tokens=self.tokens + sign * cost.tokens,
            users=max(
                0, self.users + sign * (not quiet and begins_turn(entry.role, cost))
            ),
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
    cleared: ClearedTokens = NOTHING_CLEARED
    """What the provider is taken to clear of this request; it is not in these tokens."""
    unproven: int = 0
    """Of ``high``, tokens for which one report alone speaks, or that only the host may have added."""
    overhead: float = 0.0
    """Of these tokens, what earlier calls in the same situation held beyond their logs."""
    label: str = ""
    notes: tuple[str, ...] = ()
    reported_output: int | None = None
    """``Basis.reported_output``."""
    situation: str = "first call"
    """A ``CallSituation``."""

    @property
    def proven_high(self) -> int:
        """The upper end, as far as more than one report speaks for it: what is decided is decided by it."""
        return self.high - self.unproven

    def with_other(self, beyond: float, unproven: float = 0.0) -> Forecast:
        """With an interval that also holds another number, so many tokens beyond these."""
        low, high = round(self.low + beyond), round(self.high + beyond)
        return replace(
            self,
            low=max(0, min(self.low, low)),
            high=max(self.high, high),
            unproven=round(unproven),
        )

    def cut_to(self, most: int) -> Forecast:
        """What is read of this request where the provider cuts off what is more."""
        beyond = self.tokens - most
        if beyond <= 0:
            return replace(self, high=min(self.high, most))
        low = min(self.low, most)
        removed = self.removed + beyond
        return replace(self, tokens=most, low=low, high=most, removed=removed)

    def after_clearing(
        self, cleared: ClearedTokens, more: float = 0.0, further: float = 0.0
    ) -> Forecast:
        """What the model reads of this request, if the provider clears what it ``cleared`` of the last and ``more``.

        What has left since is taken to be part of that, as the oldest content leaves first. The interval also holds
        that it was not, and that up to ``further`` tokens beyond these are cleared.
        """
        if not (cleared.total or more or further):
            return self
        left = min(cleared.total, max(0, round(self.removed)))
        doubt = CLEARING_DOUBT * more
        total = cleared.total - left + round(more)
        thought = min(total, cleared.reasoning, round(self.reasoning))
        tokens = max(0, self.tokens - total)
        last_input = self.last_input
        if last_input is not None:
            last_input -= cleared.total
        return replace(
            self,
            tokens=tokens,
            low=max(0, min(tokens, round(self.low - total - left - doubt - further))),
            high=max(tokens, round(self.high - total + doubt)),
            last_input=last_input,
            removed=self.removed - left + round(more),
            reasoning=self.reasoning - thought,
            cleared=ClearedTokens(total - thought, thought),
        )

    def basis(self, call: str) -> Basis:
        """These terms in whole tokens; what rounding leaves is in ``new``. ``call`` is the anchor's."""
        last_output, changed, removed = (
            round(self.last_output),
            round(self.changed),
            round(-self.removed),
        )
        return Basis(
            last_input=self.last_input,
            last_output=last_output,
            new=self.tokens - (self.last_input or 0) - last_output - changed - removed,
            changed=changed,
            removed=removed,
            call=call,
            label=self.label,
            reported_output=self.reported_output,
        )


class ForecastBasis(NamedTuple):
    """What a forecast rests on. That of a call is kept until its input is reported."""

    anchor: Anchor
    output: Entry | None
    """The anchor's own answer, if it is in view."""
    output_left: bool
    """The answer was removed or edited: its reported output is not in the next request."""
    since: SinceAnchor
    changed: float
    """Tokens by which system prompt and tools exceed those of the anchor's request."""
    removed: float
    """Tokens of the anchor's request that have left the view."""
    taken_out: float = 0.0
    """Of these, tokens that had been taken out before, as far as it held less than the view."""


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A call that was started: what was in view and what was expected, to be compared with the reported input."""

    order: int
    fixed: float
    earlier: float
    """Reasoning of the answers before the last one in this request."""
    reasoning: float
    """The same with the last answer's."""
    messages: float
    rests: Counted = NOTHING_COUNTED
    turn: float = 0.0
    """``Anchor.rests`` and ``Anchor.turn`` of this request."""
    forecast: Forecast
    estimate: Forecast | None = None
    """The estimate without the count that ``forecast`` rests on; ``None`` for a call that was not counted."""
    opening: Forecast | None = None
    """The estimate of a first call without what earlier sessions taught; ``None`` for a later call."""
    user_turn: bool
    before: ForecastBasis | None
    """``None`` for a call before which nothing was reported."""
    marks: tuple[str, ...]
    stream: bool
    at: float
    media: float = 0.0
    is_whole: bool = False
    """Whether the request was made from this ledger, so that nothing of it can be missing."""
    is_held: bool = False
    """Whether the provider holds earlier content, which it may add to and leave out of."""
    doubted: float = 0.0
    """``ReportHistory.beyond`` when it began: its interval holds the report before, too."""

    def held_against(self, reported: float) -> Forecast:
        """What this report is judged by: a count may confirm it, and never speaks against it, as it may be false."""
        forecast, estimate = self.forecast, self.estimate
        if estimate is None or forecast.low <= reported <= forecast.high:
            return forecast
        return estimate


class TurnContent(NamedTuple):
    """The content of a message that decides whether it begins a turn or opens a tool loop."""

    is_answer: bool
    has_text: bool
    """Of a user, as against the results of tools."""
    has_tools: bool
    """Calls in an answer, results in any other message."""


def turn_content(entry: Entry) -> TurnContent:
    """That content of an entry, as ``reasoning.step_in`` reads it from a message."""
    answer, added = entry.cost.answer, entry.cost.added
    has_tools = added.results > 0 if answer is None else answer.calls > 0
    return TurnContent(answer is not None, begins_turn(entry.role, entry.cost), has_tools)


def begins_turn(role: Role, cost: MessageCost) -> bool:
    """Whether such a message holds text of a user, as against tool results that travel under the user's role."""
    return role == "user" and cost.added.users > 0
