"""The ladder: strategies one after the other until one is proved, or it is shown that nothing can be done.

    climb = Climb()
    while True:
        step = ladder.next(situation, climb)
        append(step.events)                       # in one transaction
        match step:
            case Call(): climb = step.climb.answered(await ask(step.ask))
            case Commit(): break                  # its events hold the change
            case Stuck(): break                   # nothing changed; step.error says so where the request can't be sent

Nothing here calls a model or writes anything. The view must not change while a climb is under way, so one ``Situation``
serves all its steps. Abandoning a climb leaves everything as it was: append
``CompactionRolledBack`` if ``climb.started``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import msgspec

from ullage.context.budget import aim_of
from ullage.context.clear import ClearToolResults
from ullage.context.digest import Digests
from ullage.context.drop import DropOldest, least
from ullage.context.proof import Verdict, prove
from ullage.context.situation import Situation
from ullage.context.strategy import Ask, Candidate, Declined, Proposal, Reason, Strategy, SummaryAnswer
from ullage.context.summary import Summarize, SummarizePieces
from ullage.context.trim import Trim
from ullage.errors import ContextUnfixable
from ullage.events import CompactionCommitted, CompactionRolledBack, CompactionStarted, EpochChanged, Event, Pruned

LARGEST: Final = 5
"""How many of the largest things an error names."""


MOST_CALLS: Final = 50
"""Model calls that one strategy gets at the most, whatever it says: more than any of ours needs with its settings."""


class Setback(NamedTuple):
    """A rung that was not taken, and why."""

    rung: str
    reason: Reason
    note: str


@dataclass(frozen=True, slots=True)
class Climb:
    """Where a compaction stands: the rung, the answers to its calls, and what went before."""

    rung: int = 0
    answers: tuple[SummaryAnswer, ...] = ()
    calls: int = 0
    started: bool = False
    setbacks: tuple[Setback, ...] = ()

    def answered(self, answer: SummaryAnswer) -> Climb:
        """And the answer to the call that was asked for."""
        return replace(self, answers=(*self.answers, answer), calls=self.calls + 1)


class Call(NamedTuple):
    """A model call is wanted. Append ``events`` first, call, and go on with ``climb.answered(…)``."""

    ask: Ask
    climb: Climb
    events: tuple[Event, ...]


class Commit(NamedTuple):
    """The change is proved: append ``events``, all or none. ``rung`` names the strategy."""

    events: tuple[Event, ...]
    rung: str
    verdict: Verdict
    climb: Climb


class Stuck(NamedTuple):
    """No strategy helped. ``error`` is set where the next request can't be sent as it is, and says why."""

    events: tuple[Event, ...]
    climb: Climb
    error: ContextUnfixable | None


Step = Call | Commit | Stuck

RUNGS: Final[tuple[Strategy, ...]] = (
    ClearToolResults(),
    Trim(),
    Summarize(),
    SummarizePieces(),
    Digests(),
    DropOldest(),
)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Strategies in the order they are tried."""

    rungs: Sequence[Strategy] = RUNGS

    def calls_at_most(self, situation: Situation) -> int:
        """The most model calls that a compaction can take, known before the first."""
        return sum(_calls_at_most(rung, situation) for rung in self.rungs)

    def next(self, situation: Situation, climb: Climb) -> Step:
        """What to do next. Ends after at most ``calls_at_most`` calls, whatever the answers are. Never raises.

        A strategy that raises is passed over like one that declines: the ones below it still help.
        """
        setbacks: list[Setback] = []
        while climb.rung < len(self.rungs):
            rung = self.rungs[climb.rung]
            found = _proposed(rung, situation, climb.answers, must_fit_only=self._is_last_way_out(situation, climb))
            proposal = found.proposal
            match proposal:
                case Ask() if len(climb.answers) < _calls_at_most(rung, situation):
                    return self._call(situation, climb, proposal, setbacks)
                case Ask():
                    setback = Setback(rung.name, "failed", "It asks for more calls than it said it would.")
                case Candidate():
                    assert found.verdict is not None, "a candidate is proved where it is proposed"
                    if found.verdict.reason is None:
                        return self._commit(situation, climb, rung.name, proposal, found.verdict, setbacks)
                    setback = Setback(rung.name, found.verdict.reason, found.verdict.note)
                case Declined():
                    setback = Setback(rung.name, proposal.reason, proposal.note)
            setbacks.append(setback)
            climb = replace(climb, rung=climb.rung + 1, answers=(), setbacks=(*climb.setbacks, setback))
        return self._stuck(situation, climb, setbacks)

    def _is_last_way_out(self, situation: Situation, climb: Climb) -> bool:
        return situation.is_urgent and climb.rung == len(self.rungs) - 1

    def _call(self, situation: Situation, climb: Climb, ask: Ask, setbacks: Sequence[Setback]) -> Call:
        events = (*_started(situation, climb), *_rolled_back(situation, setbacks))
        return Call(ask, replace(climb, started=True), events)

    def _commit(
        self,
        situation: Situation,
        climb: Climb,
        rung: str,
        candidate: Candidate,
        verdict: Verdict,
        setbacks: Sequence[Setback],
    ) -> Commit:
        epoch = EpochChanged(epoch=situation.epoch + 1, reason=rung, rewritten=verdict.rewritten)
        event = candidate.event
        match event:
            case Pruned():
                # Clearing needs no call, so it was not announced as a compaction; an announced one ends here.
                ended = _rolled_back(situation, setbacks) if climb.started else ()
                over = (
                    (_ended(situation, "nothing_to_do", "Clearing tool results was enough."),) if climb.started else ()
                )
                return Commit((*ended, event, epoch, *over), rung, verdict, climb)
            case CompactionCommitted():
                counted = msgspec.structs.replace(
                    event, before=verdict.before, after=verdict.after, rung=event.rung or rung
                )
                before = (*_started(situation, climb), *_rolled_back(situation, setbacks))
                return Commit((*before, counted, epoch), rung, verdict, climb)

    def _stuck(self, situation: Situation, climb: Climb, setbacks: Sequence[Setback]) -> Stuck:
        error = unfixable(situation)
        said = _telling(climb.setbacks)
        note = str(error) if error is not None else f"{said.rung}: {said.note}"
        events = (
            *_started(situation, climb),
            *_rolled_back(situation, setbacks),
            _ended(situation, said.reason, note),
        )
        return Stuck(events, climb, error)


def _telling(setbacks: Sequence[Setback]) -> Setback:
    """Why nothing was changed: the last rung that tried something, or else the last of all."""
    tried = [each for each in setbacks if each.reason != "nothing_to_do"]
    return (tried or list(setbacks) or [Setback("", "nothing_to_do", "There is no strategy.")])[-1]


class _Proposed(NamedTuple):
    """What a strategy gave, and for a candidate the verdict on it."""

    proposal: Proposal
    verdict: Verdict | None = None


def _proposed(
    rung: Strategy, situation: Situation, answers: tuple[SummaryAnswer, ...], *, must_fit_only: bool
) -> _Proposed:
    """What a strategy proposes. One that raises, or gives what can't be looked at, is a rung that failed."""
    try:
        proposal: object = rung.propose(situation, answers)
        match proposal:
            case Candidate():
                return _Proposed(proposal, prove(situation, proposal.event, must_fit_only=must_fit_only))
            case Ask() | Declined():
                return _Proposed(proposal)
    except Exception as problem:  # noqa: BLE001 - a strategy may be a user's: whatever it raises must not end the session
        return _Proposed(Declined("failed", f"The strategy raised {type(problem).__name__}: {_said(problem)}"))
    return _Proposed(Declined("failed", f"The strategy gave {type(proposal).__name__}, which is no proposal."))


def _calls_at_most(rung: Strategy, situation: Situation) -> int:
    """The calls a strategy may ask for; none for one that can't say, and never more than ``MOST_CALLS``."""
    try:
        return min(int(rung.calls_at_most(situation)), MOST_CALLS)
    except Exception:  # noqa: BLE001 - as for what it proposes
        return 0


def _said(problem: Exception) -> str:
    try:
        return str(problem)[:500]
    except Exception:  # noqa: BLE001 - an exception's own __str__ may be what is broken
        return "it can't say what"


def unfixable(situation: Situation) -> ContextUnfixable | None:
    """The error for a request that can't be sent, with its numbers; ``None`` where it can be."""
    aim = aim_of(situation)
    sizes = situation.sizes
    is_over = aim.limit is not None and sizes.high > aim.limit
    if not (is_over or situation.is_over_bytes or situation.is_over_images):
        return None
    stays = least(situation)
    limit = aim.limit if aim.limit is not None else sizes.used
    named = [("system prompt and tools", round(sizes.fixed))]
    named += [(f"{name} ({why})", round(sizes.each.get(name, 0.0))) for name, why in stays.why.items()]
    largest = tuple(sorted(named, key=lambda each: -each[1])[:LARGEST])
    needed = round(sizes.fixed + stays.tokens) if not is_over else max(round(sizes.fixed + stays.tokens), limit + 1)
    what = ", ".join(f"{name} {tokens:,}" for name, tokens in largest)
    return ContextUnfixable(
        f"What has to stay needs {needed:,} tokens and {limit:,} fit: {what}. Unpin something, shorten the system "
        "prompt, offer fewer tools, or use a model with a larger window.",
        needed=needed,
        limit=limit,
        largest=largest,
    )


def _started(situation: Situation, climb: Climb) -> tuple[Event, ...]:
    if climb.started:
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


def _rolled_back(situation: Situation, setbacks: Sequence[Setback]) -> tuple[Event, ...]:
    """A row for each rung that tried something; one that had nothing to do leaves none."""
    return tuple(
        CompactionRolledBack(compaction=situation.compaction, reason=each.reason, note=each.note, rung=each.rung)
        for each in setbacks
        if each.reason != "nothing_to_do"
    )


def _ended(situation: Situation, reason: Reason, note: str) -> Event:
    return CompactionRolledBack(compaction=situation.compaction, reason=reason, note=note)
