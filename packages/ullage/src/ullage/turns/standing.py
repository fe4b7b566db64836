"""How a session stands with the people who watch it, as one small value: ``stand(standing, event)`` folds it.

It needs no events before the one that is folded, so a store keeps it beside the session and brings it forward with
each write, and most writes leave it as it is. Lists, counts, notices and metrics all read this one value.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallRetried,
    Event,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)

StandingState = Literal["at_rest", "works", "waits", "needs_approval", "failed", "paused"]
"""What a session does, as its ledger tells it; ``standing_now`` adds what only a clock and the lease tell."""

NEEDS_A_PERSON: Final[tuple[StandingState, ...]] = ("needs_approval", "failed", "paused")
"""States in which nothing goes on until a person acts, in the order in which they are listed."""

UNTAKEN_S: Final = 5.0
"""Seconds for which a due session may have no driver before it counts as one that no worker takes: the longest time
between two searches for lost wakes (``Dispatch.sweep_s``)."""

LONGEST_REASON: Final = 300
"""Characters of a reason: it is one line of a list."""


class AskedApproval(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call that waits for a person's word. ``asked`` is the number of the event that asks."""

    call_id: str
    tool: str = ""
    digest: str = ""
    reason: str = ""
    asked: int = 0
    at: float = 0.0


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a session stands: its state, since when, and why.

    ``since`` and ``until`` are seconds since 1970. ``seq`` is the event that began the state. ``kind`` is the class of
    the error for ``failed`` and ``waits`` ("RateLimited"), or what stopped the turn ("budget", "quota", "max_steps").
    ``attempts`` counts the attempts at the last model call that failed. ``until`` is when a wait ends by itself, 0
    where it does not.
    """

    state: StandingState = "at_rest"
    since: float = 0.0
    seq: int = 0
    kind: str = ""
    reason: str = ""
    attempts: int = 0
    until: float = 0.0
    approvals: tuple[AskedApproval, ...] = ()

    @property
    def needs_person(self) -> bool:
        """Whether nothing goes on until a person acts."""
        return self.state in NEEDS_A_PERSON


AT_REST: Final = Standing()


def stand(standing: Standing, event: Event) -> Standing:
    """How the session stands after one more event; the same value for an event that says nothing of it."""
    match event:
        case TurnStarted() | TurnResumed():
            return Standing(state="works", since=event.at, seq=event.seq)
        case TurnEnded():
            return _ended(standing, event)
        case TurnPaused():
            return _paused(standing, event)
        case ApprovalAsked():
            return _asked(standing, event)
        case ApprovalGiven():
            return _given(standing, event)
        case CallRetried() if standing.state in ("works", "waits"):
            return replace(
                standing,
                state="waits",
                since=event.at if standing.state == "works" else standing.since,
                seq=event.seq,
                kind="rate_limit" if event.attempt == 0 else "provider",
                reason=_line(event.error),
                attempts=event.attempt,
                until=event.at + event.wait_s,
            )
        case CallEnded(purpose="main"):
            return _call_ended(standing, event)
        case _:
            return standing


def standing_now(
    standing: Standing, *, now: float, held_by: str, due_at: float | None, place: str
) -> Standing:
    """The same, with what no event tells: whether anybody drives the session, and waits that are over.

    Args:
        standing: As the ledger has it.
        now: Seconds since 1970.
        held_by: The session's living driver, empty without one.
        due_at: From when on it has to be driven; ``None`` where it need not be.
        place: The place whose workers alone drive it, empty for none.
    """
    if not held_by and due_at is not None and now - due_at > UNTAKEN_S:
        of_place = f" of the place {place}" if place else ""
        return Standing(
            state="waits",
            since=due_at,
            seq=standing.seq,
            kind="worker",
            reason=f"No worker{of_place} has taken it.",
        )
    if standing.state == "waits" and standing.until <= now:
        return Standing(state="works", since=standing.since, seq=standing.seq)
    is_begun = bool(held_by) or (due_at is not None and due_at <= now)
    if standing.state == "at_rest" and is_begun:
        return Standing(state="works", since=due_at or standing.since, seq=standing.seq)
    return standing


def _ended(standing: Standing, event: TurnEnded) -> Standing:
    rests = Standing(since=event.at, seq=event.seq)
    if event.reason in ("finished", "cancelled"):
        return rests
    kind = standing.kind if event.reason == "failed" and standing.kind else event.reason
    return replace(
        rests,
        state="failed",
        kind=kind,
        reason=_line(event.note) or standing.reason,
        attempts=standing.attempts,
    )


def _paused(standing: Standing, event: TurnPaused) -> Standing:
    paused = replace(
        standing,
        since=event.at,
        seq=event.seq,
        reason=_line(event.note) or standing.reason,
        until=event.until,
    )
    match event.reason:
        case "approval" if standing.approvals:
            return standing
        case "failed":
            return replace(paused, state="failed")
        case "budget" if event.until:
            return replace(paused, state="waits", kind="quota")
        case reason:
            return replace(paused, state="paused", kind=reason)


def _asked(standing: Standing, event: ApprovalAsked) -> Standing:
    one = AskedApproval(
        call_id=event.call_id,
        tool=event.tool,
        digest=event.digest,
        reason=_line(event.reason),
        asked=event.seq,
        at=event.at,
    )
    others = tuple(each for each in standing.approvals if each.call_id != event.call_id)
    first = standing if others else replace(standing, since=event.at, seq=event.seq)
    return replace(first, state="needs_approval", approvals=(*others, one))


def _given(standing: Standing, event: ApprovalGiven) -> Standing:
    left = tuple(each for each in standing.approvals if each.call_id != event.call_id)
    if len(left) == len(standing.approvals):
        return standing
    if left:
        return replace(standing, approvals=left)
    return Standing(state="works", since=event.at, seq=event.seq)


def _call_ended(standing: Standing, event: CallEnded) -> Standing:
    """A failure leaves its kind, for the end of the turn that follows; whatever ends a call ends its wait."""
    if event.outcome in ("failed", "dropped"):
        return replace(
            standing,
            kind=event.error_kind or event.outcome,
            reason=_line(event.error),
            attempts=standing.attempts + 1,
        )
    if standing.state == "waits" or (standing.state == "works" and standing.kind):
        return Standing(state="works", since=standing.since, seq=event.seq)
    return standing


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_REASON]
