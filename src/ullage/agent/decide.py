"""What a session's loop does next: ``decide(situation)``. Pure: the same situation gives the same step.

It is asked when nothing is under way, after every step and after every command of somebody else. The order of a turn:
the answer is recorded before its tools run; all results are there before anything else is delivered; then steers; then
the next call, if it fits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ullage.agent.approving import DENIED_BY_A_PERSON, NOBODY_COULD_BE_ASKED
from ullage.agent.loop import CUT, OVERFLOWS, Loop, OpenCall
from ullage.agent.steps import (
    AskApproval,
    CallModel,
    CloseCalls,
    Compact,
    Deliver,
    DropAttempt,
    EndTurn,
    NextStep,
    Pause,
    Rest,
    RunTools,
    Settle,
)
from ullage.errors import Overflow

MOST_RECOVERIES = 6
"""Compactions after refusals for size in a row where nobody knows the limit, of tokens, bytes or images: each at least
halves what is sent."""

MOST_CUTS = 2
"""Answers in a row whose calls the output limit cut, before the turn ends: a model that was cut writes the same again
(https://github.com/mattmezza/humux/issues/77 went round thirty times)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a turn may use before it pauses; ``None`` is no limit. Children and summaries count."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRules:
    """How the loop is to behave."""

    max_steps: int = 100
    max_repeats: int = 5
    drop_retries: int = 2
    sequential_tools: bool = False
    budget: Budget = field(default=Budget())


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """The reading in the numbers that decide: all tokens, ``None`` is unknown. ``high`` is the reading's upper end."""

    high: int = 0
    window: int | None = None
    reserve: int = 0
    input_limit: int | None = None
    compaction_point: int | None = None
    max_output: int | None = None
    """What the call would ask for, of itself."""
    is_over_request: bool = False
    """Whether there are more images or bytes than one request may hold, as far as that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSituation:
    """All that a decision rests on.

    ``needs_approval`` and ``sequential`` are ids of open calls: those that run only once a person approved them (grants
    are taken off already), and those whose tools run alone. ``may_compact`` is False while
    trying would not help: the breakers say when. ``is_stuck`` is what a compaction said that found nothing to remove.
    """

    loop: Loop
    rules: LoopRules = LoopRules()
    room: Headroom = Headroom()
    needs_approval: frozenset[str] = frozenset()
    sequential: frozenset[str] = frozenset()
    may_compact: bool = False
    is_stuck: str = ""
    elapsed_s: float = 0.0
    usd: float = 0.0


def decide(situation: LoopSituation) -> NextStep:
    """The next step. Never raises."""
    loop = situation.loop
    if loop.cancel:
        return Settle("cancel")
    if loop.is_abandoned:
        return Settle("crash")
    if not loop.turn:
        return _at_rest(loop)
    if loop.paused:
        return Rest()
    if loop.outcome == "dropped" and (step := _after_drop(situation)):
        return step
    if loop.open:
        return _with_open_calls(situation)
    return _between_calls(situation)


def _at_rest(loop: Loop) -> NextStep:
    if loop.compact_asked is not None:
        return Compact("asked", loop.compact_asked)
    if loop.queue:
        first = (loop.steers or loop.queue)[0]
        return Deliver((first.message.id,), begins_turn=True)
    return Rest()


def _after_drop(situation: LoopSituation) -> NextStep | None:
    """A broken answer that is asked for again leaves the view, its calls with it; ``None`` where none has to."""
    loop, rules = situation.loop, situation.rules
    if loop.exceeded or loop.drops > rules.drop_retries or loop.steps >= rules.max_steps or loop.is_empty:
        return None
    return DropAttempt(loop.last)


def _with_open_calls(situation: LoopSituation) -> NextStep:
    """The last answer asks for tools that have no result yet."""
    loop, rules = situation.loop, situation.rules
    if loop.outcome != "finished":
        why = "The answer broke off before this call was whole, so it was not run."
        return CloseCalls(loop.open, "not_started", why)
    if loop.stop in CUT:
        why = "The answer reached its limit of length, so this call may be cut and was not run. Make it again, shorter."
        return CloseCalls(loop.open, "not_started", why)
    if loop.stop == "refused":
        return CloseCalls(loop.open, "not_started", "The answer was withheld before its end, so this call was not run.")
    if loop.steps >= rules.max_steps:
        return CloseCalls(
            loop.open, "not_started", f"Not run: the limit of {rules.max_steps} steps in one turn is reached."
        )
    if loop.repeats >= rules.max_repeats:
        why = f"Not run: the same call was made {loop.repeats} times in a row with the same arguments."
        return CloseCalls(loop.open, "not_started", why)
    denied = tuple(call for call in loop.open if call.state == "denied")
    if denied:
        return _close_denied(denied)
    asking = tuple(call for call in loop.open if _is_to_ask(call, situation))
    if asking:
        return AskApproval(asking)
    if ready := _ready(situation):
        return RunTools(ready)
    asked = ", ".join(call.name for call in loop.open if call.state == "asked")
    return Pause("approval", f"Needs a person's approval: {asked}.")


def _is_to_ask(call: OpenCall, situation: LoopSituation) -> bool:
    """Whether a person has to be asked: nobody has approved this very call, byte for byte."""
    is_ready = call.state in ("waiting", "approved")
    return is_ready and call.call_id in situation.needs_approval and not call.is_approved


def _close_denied(denied: tuple[OpenCall, ...]) -> CloseCalls:
    """Those that have the same answer as the first; the others are closed by the next decision."""
    by = denied[0].refused_by
    why = DENIED_BY_A_PERSON if by == "person" else NOBODY_COULD_BE_ASKED
    return CloseCalls(tuple(call for call in denied if call.refused_by == by), "denied", why)


def _ready(situation: LoopSituation) -> tuple[OpenCall, ...]:
    """The calls that may run now, at the same time. One that runs alone waits for all before it."""
    ready: list[OpenCall] = []
    for place, call in enumerate(situation.loop.open):
        is_ready = call.state in ("waiting", "approved")
        if situation.rules.sequential_tools or call.call_id in situation.sequential:
            return (call,) if is_ready and not place else tuple(ready)
        if is_ready:
            ready.append(call)
    return tuple(ready)


def _between_calls(situation: LoopSituation) -> NextStep:
    """No tool call is open: the next call, or the end."""
    loop, rules = situation.loop, situation.rules
    if loop.outcome == "dropped" and loop.exceeded:
        return EndTurn("dropped", loop.error)
    if loop.outcome == "dropped" and loop.drops > rules.drop_retries:
        return EndTurn("dropped", f"The answer broke off every time it was asked for. {loop.error}".rstrip())
    if loop.failed:
        return _after_failure(situation)
    if loop.outcome == "finished" and (ended := _after_answer(situation)):
        return ended
    if loop.steps >= rules.max_steps:
        return EndTurn("max_steps", f"{rules.max_steps} steps were made.")
    if loop.repeats >= rules.max_repeats:
        return EndTurn("loop", f"The same call was made {loop.repeats} times in a row with the same arguments.")
    if loop.cuts >= MOST_CUTS:
        return EndTurn("length", "The answers were cut at the output limit in the middle of their calls.")
    if loop.steers and not _goes_on(loop):
        return Deliver(tuple(waiting.message.id for waiting in loop.steers), begins_turn=False)
    if breach := _breach(situation):
        return Pause("budget", breach)
    if loop.compact_asked is not None:
        return Compact("asked", loop.compact_asked)
    return _call(situation)


def _goes_on(loop: Loop) -> bool:
    """Whether the last answer is to be continued: a loop on the provider's side wants it back as it is."""
    return loop.outcome == "finished" and loop.stop == "paused" and not (loop.owes_answer or loop.is_empty)


def _after_failure(situation: LoopSituation) -> NextStep:
    loop = situation.loop
    if loop.failed in OVERFLOWS:
        is_named = loop.failed == Overflow.__name__ and situation.room.input_limit is not None
        most = 1 if is_named else MOST_RECOVERIES
        if situation.may_compact and loop.overflows <= most:
            return Compact("overflow")
        return EndTurn("too_large", situation.is_stuck or loop.error)
    return Pause("failed", loop.error)


def _after_answer(situation: LoopSituation) -> NextStep | None:
    """What a finished answer without open calls leads to; ``None`` where the model is asked again."""
    loop = situation.loop
    if _goes_on(loop) or (loop.owes_answer and loop.stop != "refused"):
        return None
    if loop.steers and loop.steps < situation.rules.max_steps:
        return None
    match loop.stop:
        case "length":
            return EndTurn("length", "The answer was cut at the output limit.")
        case "context_full":
            return EndTurn("length", "The answer was cut because the window was full.")
        case "refused":
            return EndTurn("refused", "The model, or a filter of its provider, withheld the answer.")
        case _:
            return EndTurn("finished", "The answer was empty." if loop.is_empty else "")


def _breach(situation: LoopSituation) -> str:
    """Which budget is used up, in words; empty when none is."""
    loop, budget = situation.loop, situation.rules.budget
    if budget.calls is not None and loop.calls >= budget.calls:
        return f"{loop.calls} of {budget.calls} model calls are made."
    if budget.tokens is not None and loop.tokens >= budget.tokens:
        return f"{loop.tokens:,} of {budget.tokens:,} tokens are used."
    if budget.usd is not None and situation.usd - loop.usd >= budget.usd:
        return f"${situation.usd - loop.usd:.2f} of ${budget.usd:.2f} are spent."
    if budget.seconds is not None and situation.elapsed_s >= budget.seconds:
        return f"{situation.elapsed_s:.0f} of {budget.seconds:.0f} seconds are over."
    return ""


def _call(situation: LoopSituation) -> NextStep:
    """The call, unless the view has to be made smaller for it first."""
    room = situation.room
    is_due = room.compaction_point is not None and room.high >= room.compaction_point
    if is_due and situation.may_compact:
        return Compact("point")
    if room.is_over_request and situation.may_compact:
        return Compact("limit")
    if room.input_limit is None or room.high <= room.input_limit:
        return CallModel(_max_output(room))
    if situation.may_compact:
        return Compact("limit")
    note = situation.is_stuck or (
        f"The next request is {room.high:,} tokens at most and {room.input_limit:,} fit. Compact, or remove something."
    )
    return EndTurn("too_large", note)


def _max_output(room: Headroom) -> int | None:
    """The most the answer may have: what is left of the window, where that is less than was asked for."""
    if room.window is None or room.max_output is None:
        return None
    left = room.window - room.high
    return None if room.max_output <= left else max(1, left)
