"""Decides the next step of a session's loop: ``decide(situation)``. Pure: the same situation gives the same step.

The driver asks after every step and after every command of a client. The order of a turn: the answer is recorded before
its tools run; all results are recorded before anything else is delivered; then come steers; then the next call, if it
fits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ullage.context.choice import NOOP
from ullage.errors import Overflow
from ullage.turns.approving import DENIED_BY_A_PERSON, NOBODY_COULD_BE_ASKED
from ullage.turns.loop import CUT, OVERFLOWS, Loop, OpenCall
from ullage_agent.loop.budgets import (
    Budget,
    BudgetUse,
    reached,
    tools_reached,
    used_by_turn,
)
from ullage_agent.loop.quotas import QuotaPause
from ullage_agent.loop.steps import (
    AskApproval,
    CallModel,
    CloseCalls,
    Compact,
    Deliver,
    DropAttempt,
    EndTurn,
    FallBack,
    FetchAnswer,
    NextStep,
    Pause,
    Rest,
    Resume,
    RunTools,
    Settle,
)

MOST_RECOVERIES = 6
"""The most compactions in a row after refusals for size while the limit (tokens, bytes or images) is unknown. Each at
least halves the request."""

MOST_CUTS = 2
"""The most answers in a row whose calls the output limit cut. The model tends to write the same again
(https://github.com/mattmezza/humux/issues/77 went round thirty times)."""


FALLS_BACK = (
    "BadKey",
    "PermissionDenied",
    "NotFound",
    "RateLimited",
    "QuotaExhausted",
    "Overloaded",
    "ModelLoading",
    "ServerError",
    "DamagedAnswer",
    "Unreachable",
    "NoSuchHost",
    "NoAnswer",
)
"""Kinds of error behind which another model continues: they are of the provider, and not of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRules:
    """Settings of the loop."""

    max_steps: int = 100
    max_repeats: int = 5
    drop_retries: int = 2
    sequential_tools: bool = False
    has_strategies: bool = True
    """Whether a compaction has any strategy to try: False with the strategy ``noop``."""
    budget: Budget = field(default=Budget())
    session_budget: Budget = field(default=Budget())
    fallback: tuple[str, ...] = ()
    """The models that continue a turn, one after the other, where the one before fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """The numbers of the reading that decide, in tokens; ``None`` is unknown. ``high`` is the reading's upper end.

    ``confirmed`` is what of it rests on more than one unconfirmed number: a request that fits by that is sent where it
    can't be made smaller, and the provider says itself whether it fits.
    """

    high: int = 0
    confirmed: int | None = None
    window: int | None = None
    reserve: int = 0
    input_limit: int | None = None
    is_due: bool = False
    """Whether the reading has reached the compaction threshold."""
    max_output: int | None = None
    """The output limit that the settings ask for."""
    is_over_request: bool = False
    """Whether the request exceeds a known limit of images or bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSituation:
    """The input of a decision.

    ``needs_approval`` and ``sequential`` are ids of open calls: calls that need a person's approval (calls covered by a
    grant are not among them), and calls whose tools run alone. ``answers`` are those that give the answer of the turn:
    they need no further model call, so limits don't hold them back. ``may_compact`` is False while the breakers expect
    no help from a compaction. ``is_stuck`` is the error of a compaction that found nothing to remove.
    """

    loop: Loop
    rules: LoopRules = LoopRules()
    room: Headroom = Headroom()
    needs_approval: frozenset[str] = frozenset()
    sequential: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()
    may_compact: bool = False
    may_fetch: bool = True
    """Whether the answer that the provider holds was not fetched in vain."""
    is_stuck: str = ""
    elapsed_s: float = 0.0
    used: BudgetUse = field(default=BudgetUse())
    """By the whole session."""
    quota: QuotaPause | None = None
    """Why the tenant may make no further model call."""


def decide(situation: LoopSituation) -> NextStep:
    """The next step. Never raises."""
    loop = situation.loop
    if loop.cancel:
        return Settle("cancel")
    if loop.response and situation.may_fetch:
        return FetchAnswer()
    if loop.is_abandoned:
        return Settle("crash")
    if not loop.turn:
        return _at_rest(loop)
    if loop.paused:
        is_over = bool(loop.paused_until) and situation.quota is None
        return Resume() if is_over else Rest()
    if loop.outcome == "dropped" and (step := _after_drop(situation)):
        return step
    if loop.open:
        return _with_open_calls(situation)
    return _between_calls(situation)


def _at_rest(loop: Loop) -> NextStep:
    if (asked := _compact_asked(loop)) is not None:
        return asked
    if loop.queue:
        first = (loop.steers or loop.queue)[0]
        return Deliver((first.message.id,), begins_turn=True)
    return Rest()


def _compact_asked(loop: Loop) -> Compact | None:
    """The compaction that a person asked for."""
    return None if loop.compact_asked is None else Compact("asked", loop.compact_asked)


def _after_drop(situation: LoopSituation) -> NextStep | None:
    """Removes a broken answer with its calls from the view before the retry; ``None`` if there is no retry."""
    loop, rules = situation.loop, situation.rules
    if loop.exceeded or loop.steps >= rules.max_steps or loop.is_empty:
        return None
    if loop.drops > rules.drop_retries and not _next_model(situation):
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
        return CloseCalls(
            loop.open,
            "not_started",
            "The answer was withheld before its end, so this call was not run.",
        )
    others = tuple(call for call in loop.open if call.call_id not in situation.answers)
    if loop.steps >= rules.max_steps and others:
        return CloseCalls(
            others,
            "not_started",
            f"Not run: the limit of {rules.max_steps} steps in one turn is reached.",
        )
    if loop.cycle.repeats >= rules.max_repeats:
        return CloseCalls(loop.open, "not_started", f"Not run: {loop.cycle}")
    denied = tuple(call for call in loop.open if call.state == "denied")
    if denied:
        return _close_denied(denied)
    unapproved = tuple(call for call in loop.open if _is_to_ask(call, situation))
    if unapproved:
        return AskApproval(unapproved)
    if ready := _ready(situation):
        return _run(ready, situation)
    asked = ", ".join(call.name for call in loop.open if call.state == "asked")
    return Pause("approval", f"Needs a person's approval: {asked}.")


def _run(ready: tuple[OpenCall, ...], situation: LoopSituation) -> NextStep:
    """Runs the answer alone, or as many of the calls as the budgets allow; the others wait for more."""
    loop, rules, used = situation.loop, situation.rules, situation.used
    answers = tuple(call for call in ready if call.call_id in situation.answers)
    if answers:
        return RunTools(answers)
    turn = used_by_turn(loop, used, situation.elapsed_s)
    note = tools_reached(rules.session_budget, used, is_session=True)
    if not note:
        note = tools_reached(rules.budget, turn)
    if note:
        return Pause("budget", note)
    most = len(ready)
    if rules.budget.tool_calls is not None:
        most = min(most, rules.budget.tool_calls - turn.tool_calls)
    if rules.session_budget.tool_calls is not None:
        most = min(most, rules.session_budget.tool_calls - used.tool_calls)
    return RunTools(ready[:most])


def _is_to_ask(call: OpenCall, situation: LoopSituation) -> bool:
    """Whether a person has to be asked: this exact call needs an approval and has none."""
    is_ready = call.state in ("waiting", "approved")
    return is_ready and call.call_id in situation.needs_approval and not call.is_approved


def _close_denied(denied: tuple[OpenCall, ...]) -> CloseCalls:
    """Closes the calls with the same reason as the first; the next decision closes the others."""
    by = denied[0].refused_by
    why = DENIED_BY_A_PERSON if by == "person" else NOBODY_COULD_BE_ASKED
    return CloseCalls(
        tuple(call for call in denied if call.refused_by == by), "denied", why
    )


def _ready(situation: LoopSituation) -> tuple[OpenCall, ...]:
    """The calls that may run now in parallel. A sequential call waits for all calls before it."""
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
    if loop.drops > rules.drop_retries and (model := _next_model(situation)):
        why = "The answer broke off every time it was asked for."
        return FallBack(model, f"{why} {loop.error}".rstrip())
    if loop.outcome == "dropped" and loop.drops > rules.drop_retries:
        return EndTurn(
            "dropped",
            f"The answer broke off every time it was asked for. {loop.error}".rstrip(),
        )
    if loop.failed:
        return _after_failure(situation)
    if loop.outcome == "finished" and (ended := _after_answer(situation)):
        return ended
    if loop.steps >= rules.max_steps:
        return EndTurn("max_steps", f"{rules.max_steps} steps were made.")
    if loop.cycle.repeats >= rules.max_repeats:
        note = str(loop.cycle)
        return EndTurn("loop", note[:1].upper() + note[1:])
    if loop.cuts >= MOST_CUTS:
        return EndTurn(
            "length",
            "The answers were cut at the output limit in the middle of their calls.",
        )
    if loop.steers and not _is_continued(loop):
        return Deliver(
            tuple(waiting.message.id for waiting in loop.steers), begins_turn=False
        )
    if breach := _breach(situation):
        return Pause("budget", breach)
    if situation.quota is not None:
        return Pause("budget", *situation.quota)
    asked = _compact_asked(loop)
    if (
        asked is not None and not asked.wishes.from_
    ):  # what a turn still adds is part of that
        return asked
    return _call(situation)


def _is_continued(loop: Loop) -> bool:
    """Whether the provider paused its own loop and expects the last answer back unchanged."""
    return (
        loop.outcome == "finished"
        and loop.stop == "paused"
        and not (loop.owes_answer or loop.is_empty)
    )


def _after_failure(situation: LoopSituation) -> NextStep:
    loop = situation.loop
    if loop.failed in OVERFLOWS:
        is_named = (
            loop.failed == Overflow.__name__ and situation.room.input_limit is not None
        )
        most = 1 if is_named else MOST_RECOVERIES
        if situation.may_compact and loop.overflows <= most:
            return Compact("overflow")
        if model := _next_model(situation):
            return FallBack(model, loop.error)
        advice = "" if situation.rules.has_strategies else f" {NOOP}"
        return EndTurn("too_large", situation.is_stuck or f"{loop.error}{advice}")
    if loop.failed in FALLS_BACK and (model := _next_model(situation)):
        return FallBack(model, loop.error)
    if not loop.fallen:
        return Pause("failed", loop.error)
    earlier = " ".join(loop.fallen)
    return Pause("failed", f"{loop.error} The models before it failed too: {earlier}")


def _next_model(situation: LoopSituation) -> str:
    """The fallback model after the one in use; empty if none is left."""
    models, used = situation.rules.fallback, situation.loop.fallback
    if not used:
        return models[0] if models else ""
    if used not in models:
        return ""
    later = models[models.index(used) + 1 :]
    return later[0] if later else ""


def _after_answer(situation: LoopSituation) -> NextStep | None:
    """The end of the turn after a finished answer without open calls; ``None`` if another call follows."""
    loop = situation.loop
    is_steered = bool(loop.steers) and loop.steps < situation.rules.max_steps
    if loop.answer_call:
        return None if is_steered else EndTurn("finished")
    if _is_continued(loop) or (loop.owes_answer and loop.stop != "refused"):
        return None
    if is_steered:
        return None
    match loop.stop:
        case "length":
            return EndTurn("length", "The answer was cut at the output limit.")
        case "context_full":
            return EndTurn("length", "The answer was cut because the window was full.")
        case "refused":
            return EndTurn(
                "refused", "The model, or a filter of its provider, withheld the answer."
            )
        case _:
            return EndTurn("finished", "The answer was empty." if loop.is_empty else "")


def _breach(situation: LoopSituation) -> str:
    """The exhausted budget, in words; empty if there is none."""
    rules, used = situation.rules, situation.used
    turn = used_by_turn(situation.loop, used, situation.elapsed_s)
    return reached(rules.session_budget, used, is_session=True) or reached(
        rules.budget, turn
    )


def _call(situation: LoopSituation) -> NextStep:
    """The next call, or a compaction if the request does not fit."""
    room = situation.room
    if room.is_due and situation.may_compact:
        return Compact("point")
    if room.is_over_request and situation.may_compact:
        return Compact("limit")
    if room.input_limit is None or room.high <= room.input_limit:
        return CallModel(_max_output(room, room.high))
    if situation.may_compact:
        return Compact("limit")
    if room.confirmed is not None and room.confirmed <= room.input_limit:
        return CallModel(_max_output(room, room.confirmed))
    size = (
        f"The next request is {room.high:,} tokens at most and {room.input_limit:,} fit."
    )
    if model := _next_model(situation):
        return FallBack(model, size)
    advice = "Compact, or remove something." if situation.rules.has_strategies else NOOP
    note = f"{size} {advice}"
    return EndTurn("too_large", situation.is_stuck or note)


def _max_output(room: Headroom, high: int) -> int | None:
    """The rest of the window behind ``high`` tokens, if it is smaller than the requested output limit."""
    if room.window is None or room.max_output is None:
        return None
    left = room.window - high
    return None if room.max_output <= left else max(1, left)
