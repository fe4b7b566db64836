"""Tries strategies one after the other until one passes the proof, or until none is left.

    attempt = Attempt()
    while True:
        step = strategies.next(situation, attempt)
        append(step.events)                       # in one transaction
        match step:
            case AskModel(): attempt = step.attempt.answered(await ask(step.ask))
            case Commit(): break                  # its events hold the change
            case Stuck(): break                   # nothing changed; step.error is set if the request can't be sent

Nothing here calls a model or writes anything. The view must not change during an attempt, so one ``Situation`` serves
all its steps. Abandoning an attempt changes nothing: append ``CompactionRolledBack`` if ``attempt.started``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from ullage.context.attached_files import with_files
from ullage.context.budget import aim_of
from ullage.context.choice import NOOP, STRATEGIES
from ullage.context.keeping import must_stay
from ullage.context.policy import STRATEGY_CALLS
from ullage.context.proof import ProofResult, committing, prove
from ullage.context.situation import Situation
from ullage.context.strategy import (
    Ask,
    Candidate,
    Declined,
    Reason,
    Strategy,
    SummaryAnswer,
)
from ullage.context.unsendable import FailedStrategy, unsendable
from ullage.errors import ContextUnfixable
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    Pruned,
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The state of one compaction: the strategy to try, the answers to its calls, and the strategies that failed."""

    index: int = 0
    answers: tuple[SummaryAnswer, ...] = ()
    calls: int = 0
    started: bool = False
    failures: tuple[FailedStrategy, ...] = ()

    def answered(self, answer: SummaryAnswer) -> Attempt:
        """This attempt with the answer to the call it asked for."""
        return replace(self, answers=(*self.answers, answer), calls=self.calls + 1)


class AskModel(NamedTuple):
    """A strategy needs a model call. Append ``events``, make the call, and continue with ``attempt.answered(…)``."""

    ask: Ask
    attempt: Attempt
    events: tuple[Event, ...]


class Commit(NamedTuple):
    """The change passed the proof: append ``events``, all or none. ``strategy`` is the name of the strategy."""

    events: tuple[Event, ...]
    strategy: str
    verdict: ProofResult
    attempt: Attempt


class Stuck(NamedTuple):
    """No strategy helped. ``error`` is set if the next request can't be sent as it is."""

    events: tuple[Event, ...]
    attempt: Attempt
    error: ContextUnfixable | None


AttemptStep = AskModel | Commit | Stuck


@dataclass(frozen=True, slots=True)
class Strategies:
    """Strategies in the order in which they are tried."""

    order: Sequence[Strategy] = STRATEGIES

    def calls_at_most(self, situation: Situation) -> int:
        """The most model calls that a compaction can take, known before the first."""
        return sum(_calls_at_most(strategy, situation) for strategy in self.order)

    def next(self, situation: Situation, attempt: Attempt) -> AttemptStep:
        """The next step. Ends after at most ``calls_at_most`` calls, whatever the answers are. Never raises.

        A strategy that raises is skipped like one that declines: the strategies after it can still help.
        """
        failures: list[FailedStrategy] = []
        while attempt.index < len(self.order):
            strategy = self.order[attempt.index]
            is_last = attempt.index == len(self.order) - 1
            proposed = _proposed(
                strategy,
                situation,
                attempt.answers,
                must_fit_only=situation.is_urgent
                and (is_last or situation.rules.only_clears),
            )
            match proposed:
                case Ask():
                    started = _started(situation, attempt)
                    events = (*started, *_rolled_back(situation, failures))
                    return AskModel(proposed, replace(attempt, started=True), events)
                case _Proved():
                    return _commit(situation, attempt, strategy.name, proposed, failures)
                case Declined():
                    failure = FailedStrategy(
                        strategy.name, proposed.reason, proposed.note
                    )
            failures.append(failure)
            attempt = replace(
                attempt,
                index=attempt.index + 1,
                answers=(),
                failures=(*attempt.failures, failure),
            )
        return _stuck(situation, attempt, failures)


class _Proved(NamedTuple):
    """A change that passed the proof."""

    event: Pruned | CompactionCommitted
    verdict: ProofResult


def _proposed(
    strategy: Strategy,
    situation: Situation,
    answers: tuple[SummaryAnswer, ...],
    *,
    must_fit_only: bool,
) -> Ask | _Proved | Declined:
    """The strategy's proposal, if it is one of ours to carry out; otherwise the reason why it is not."""
    try:
        proposal: object = strategy.propose(situation, answers)
        match proposal:
            case Candidate(event=event):
                verdict = prove(situation, event, must_fit_only=must_fit_only)
                if verdict.reason is not None:
                    return Declined(verdict.reason, verdict.note)
                return _with_files(situation, _Proved(event, verdict))
            case Ask():
                if len(answers) < _calls_at_most(strategy, situation):
                    return proposal
                return Declined(
                    "failed", "The strategy asked for more calls than it announced."
                )
            case Declined():
                return proposal
    except Exception as problem:  # noqa: BLE001 - a user's strategy must not end the session, whatever it raises
        return Declined(
            "failed", f"The strategy raised {type(problem).__name__}: {_text_of(problem)}"
        )
    return Declined(
        "failed",
        f"The strategy returned {type(proposal).__name__}, which is no proposal.",
    )


def _with_files(situation: Situation, proved: _Proved) -> _Proved:
    """The change with files attached behind its summary, if that passes the proof too."""
    if isinstance(proved.event, Pruned):
        return proved
    event = with_files(situation, proved.event, proved.verdict.after)
    if event is None:
        return proved
    verdict = prove(situation, event)
    return _Proved(event, verdict) if verdict.is_proved else proved


def _calls_at_most(strategy: Strategy, situation: Situation) -> int:
    """The number of calls a strategy may ask for: 0 if it raises, and never more than ``STRATEGY_CALLS``."""
    try:
        return min(int(strategy.calls_at_most(situation)), STRATEGY_CALLS)
    except Exception:  # noqa: BLE001 - as for its proposal
        return 0


def _text_of(problem: Exception) -> str:
    try:
        return str(problem)[:500]
    except Exception:  # noqa: BLE001 - the exception's own __str__ may be broken
        return "its text can't be read"


def _commit(
    situation: Situation,
    attempt: Attempt,
    strategy: str,
    proved: _Proved,
    failures: Sequence[FailedStrategy],
) -> Commit:
    event, verdict = proved
    if isinstance(event, CompactionCommitted):
        event = msgspec.structs.replace(event, rung=event.rung or strategy)
    change = committing(situation, event, verdict, strategy)
    rolled_back = _rolled_back(situation, failures)
    events: tuple[Event, ...]
    match event:
        case Pruned() if (
            not attempt.started
        ):  # clearing needs no call, so no compaction was announced
            events = change
        case Pruned():
            ended = _ended(
                situation, "nothing_to_do", "Clearing tool results was enough."
            )
            events = (*rolled_back, *change, ended)
        case CompactionCommitted():
            events = (*_started(situation, attempt), *rolled_back, *change)
    return Commit(events, strategy, verdict, attempt)


def _stuck(
    situation: Situation, attempt: Attempt, failures: Sequence[FailedStrategy]
) -> Stuck:
    error = unsendable(situation, attempt.failures)
    cause = _cause(attempt.failures)
    note = cause.note
    if situation.is_partial and len(must_stay(situation)) == len(situation.messages):
        note = _nothing_to_leave(situation)
    if error is not None:
        note = str(error)
    events = (
        *_started(situation, attempt),
        *_rolled_back(situation, failures),
        _ended(situation, cause.reason, note),
    )
    return Stuck(events, attempt, error)


def _nothing_to_leave(situation: Situation) -> str:
    """Why no message of the part that a person named can leave."""
    chosen = situation.up_to or situation.from_
    if all(message.id != chosen for message in situation.messages):
        return f"The message {chosen} has left the view. Choose one that is in view."
    part = "before the chosen one" if situation.up_to else "from the chosen one on"
    return (
        f"No message {part} can leave. Pinned messages stay, and a call and its results stay "
        "together. Choose another message."
    )


def _cause(failures: Sequence[FailedStrategy]) -> FailedStrategy:
    """Why nothing was changed: the last strategy that tried something, or else the last of all."""
    for failure in reversed(failures):
        if failure.reason != "nothing_to_do":
            return failure
    return failures[-1] if failures else FailedStrategy("noop", "nothing_to_do", NOOP)


def _started(situation: Situation, attempt: Attempt) -> tuple[Event, ...]:
    if attempt.started:
        return ()
    aim = aim_of(situation)
    return (
        CompactionStarted(
            compaction=situation.compaction,
            trigger=situation.trigger,
            snapshot=situation.snapshot,
            high=situation.sizes.high,
            limit=None if aim.bar is None else round(aim.bar),
            history=situation.fold.view.digest,
        ),
    )


def _rolled_back(
    situation: Situation, failures: Sequence[FailedStrategy]
) -> tuple[Event, ...]:
    """A row for each strategy that tried something; one that had nothing to do leaves none."""
    return tuple(
        CompactionRolledBack(
            compaction=situation.compaction,
            reason=failure.reason,
            note=failure.note,
            rung=failure.name,
        )
        for failure in failures
        if failure.reason != "nothing_to_do"
    )


def _ended(situation: Situation, reason: Reason, note: str) -> Event:
    return CompactionRolledBack(compaction=situation.compaction, reason=reason, note=note)
