"""The events that the end of a model call makes."""

from __future__ import annotations

from msgspec.structs import replace

from ullage.codec.overflow import overflowed
from ullage.codec.stream import Answer
from ullage.errors import Overflow, ProviderError
from ullage.events import CallEnded, Event, LimitLearnt, MessageAdded
from ullage.turns.loop import OVERFLOWS


def ended(call: str, answer: Answer) -> list[Event]:
    """The events for an answer, complete or not. One that failed after its start counts as a lost connection."""
    outcome = "dropped" if answer.outcome == "failed" else answer.outcome
    message = answer.message
    if overflowed(answer):
        error = "The provider answered nothing and says that the limit was reached: the window was full."
        return [
            CallEnded(
                call=call,
                outcome="failed",
                usage=answer.usage,
                error=error,
                error_kind="Overflow",
            )
        ]
    events: list[Event] = [
        CallEnded(
            call=call,
            outcome=outcome,
            stop=answer.stop,
            usage=answer.usage,
            model=answer.model,
            error="" if answer.error is None else str(answer.error),
            error_kind="" if answer.error is None else type(answer.error).__name__,
        )
    ]
    if message.parts:
        events.append(
            MessageAdded(
                message=message
                if outcome == "finished"
                else replace(message, interrupted=outcome)
            )
        )
    return events


def failed(call: str, problem: ProviderError, model: str) -> list[Event]:
    """The events for a call without an answer, and for a limit of ``model`` that its error names."""
    kind = next(
        (one.__name__ for one in type(problem).__mro__ if one.__name__ in OVERFLOWS),
        type(problem).__name__,
    )
    counted = problem.count if isinstance(problem, Overflow) else None
    events: list[Event] = [
        CallEnded(
            call=call,
            outcome="failed",
            error=str(problem),
            error_kind=kind,
            counted=counted,
        )
    ]
    if isinstance(problem, Overflow) and problem.limit is not None:
        cap = problem.limit if problem.input_alone else None
        events.append(
            LimitLearnt(
                model=model,
                source="error",
                window=None if problem.input_alone else problem.limit,
                input_cap=cap,
            )
        )
    return events
