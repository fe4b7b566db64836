"""How a session stands with the people who watch it, as one small value: ``stand(standing, event)`` folds it.

It needs no events before the one that is folded, so a store keeps it beside the session and brings it forward with
each write, and most writes leave it as it is. Lists, counts, notices and metrics all read this one value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallRetried,
    CallStarted,
    Cancelled,
    Event,
    Forked,
    Imported,
    ReadingTaken,
    Rewound,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)

StandingState = Literal["at_rest", "works", "waits", "needs_approval", "failed", "paused"]
"""What a session does, as its ledger tells it; ``standing_now`` adds what only a clock and the lease tell."""

NEEDS_A_PERSON: Final[tuple[StandingState, ...]] = ("needs_approval", "failed", "paused")
"""States in which nothing goes on until a person acts, in the order in which they are listed."""

COUNTED: Final[tuple[StandingState, ...]] = (*NEEDS_A_PERSON, "waits")
"""States that lists ask for and that are counted."""

UNTAKEN_S: Final = 5.0
"""Seconds for which a due session may have no driver before it counts as one that no worker takes: the longest time
between two searches for lost wakes (``Dispatch.sweep_s``)."""

LONGEST_REASON: Final = 300
"""Characters of a reason: it is one line of a list."""

FULLNESS_STEP: Final = 0.01
"""The part of the window by which a reading has to differ from the one that is kept: so a session's row is not written
for each model call."""


class AskedApproval(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call that waits for a person's word. ``asked`` is the number of the event that asks."""

    call_id: str
    tool: str = ""
    digest: str = ""
    asked: int = 0
    at: float = 0.0


class ShownStanding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a standing tells people: its state, since when, and why.

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

    @property
    def words(self) -> str:
        """The state for a person; empty at rest."""
        return "" if self.state == "at_rest" else self.state.replace("_", " ")

    @property
    def line(self) -> str:
        """The state and why, for a person; empty at rest."""
        tools = ", ".join(each.tool for each in self.approvals)
        attempts = f"after {self.attempts} attempts" if self.attempts > 1 else ""
        about = " ".join(filter(None, (self.kind, attempts)))
        why = (tools,) if tools else (about, self.reason)
        return ": ".join(filter(None, (self.words, *why)))


class Standing(ShownStanding, frozen=True, kw_only=True):
    """How a session stands, with what its next event and its line in a list need.

    ``turn`` is the open turn, and ``paused`` why it is paused: such a turn can be resumed. ``used`` and ``window`` are
    tokens by the last reading, within ``FULLNESS_STEP``.
    """

    turn: str = ""
    paused: str = ""
    used: int | None = None
    window: int | None = None


AT_REST: Final = Standing()


_decode_standing: Final = msgspec.json.Decoder(Standing).decode


def text_of_standing(standing: Standing) -> str:
    """A standing as it is stored."""
    return msgspec.json.encode(standing).decode()


def standing_of(text: str) -> Standing:
    """The standing of a stored text; at rest where it is damaged: its next turn stores another one."""
    try:
        return _decode_standing(text)
    except (msgspec.MsgspecError, TypeError, ValueError):
        return AT_REST


def counted(standing: Standing) -> StandingState | None:
    """The state, where it is one that is counted."""
    return standing.state if standing.state in COUNTED else None


def stood(standing: Standing, events: Iterable[Event]) -> Standing:
    """How the session stands after these events, which have their numbers and times."""
    for event in events:
        standing = stand(standing, event)
    return standing


def stand(standing: Standing, event: Event) -> Standing:
    """How the session stands after one more event; the same value for an event that says nothing of it.

    A subagent's session, whose id has a slash, needs a person for an approval alone: its parent takes up a failure.
    """
    moved = _stand(standing, event)
    is_childs = moved is not standing and "/" in event.session
    if is_childs and moved.state in ("failed", "paused"):
        return _bare(moved, event.at, event.seq)
    return moved


def _stand(standing: Standing, event: Event) -> Standing:
    match event:
        case TurnStarted():
            return replace(
                _bare(standing, event.at, event.seq), state="works", turn=event.turn
            )
        case TurnResumed() if event.turn == standing.turn:
            return _moved(standing, event, paused="", until=0.0, **_NO_FAILURE)
        case CallStarted(purpose="main") | ToolStarted() if standing.paused:
            # A message resumed it.
            return _moved(standing, event, paused="", until=0.0, **_NO_FAILURE)
        case TurnEnded():
            return _ended(standing, event)
        case TurnPaused():
            return _paused(standing, event)
        case ApprovalAsked():
            return _asked(standing, event)
        case ApprovalGiven():
            return _answered(standing, event, event.digest, is_resumed=True)
        case ToolEnded():
            return _answered(standing, event, "", is_resumed=False)
        case CallRetried() if standing.state in ("works", "waits"):
            return _moved(
                standing,
                event,
                kind="rate_limit" if event.attempt == 0 else "provider",
                reason=_line(event.error),
                attempts=event.attempt,
                until=event.at + event.wait_s,
            )
        case CallEnded() if standing.state in ("works", "waits") and not standing.paused:
            return _call_ended(standing, event)
        case Rewound() | Cancelled() | Forked() | Imported() if not standing.turn:
            return (
                standing
                if standing.state == "at_rest"
                else _bare(standing, event.at, event.seq)
            )
        case ReadingTaken() if _has_grown(standing, event):
            return replace(standing, used=event.used.tokens, window=event.window)
        case _:
            return standing


def standing_now(
    standing: Standing,
    *,
    now: float,
    held_by: str,
    due_at: float | None,
    place: str,
    changed: float,
) -> Standing:
    """The same, with what no event tells: whether anybody drives the session, and waits that are over.

    Args:
        standing: As the ledger has it.
        now: Seconds since 1970.
        held_by: The session's living driver, empty without one.
        due_at: From when on it has to be driven; ``None`` where it need not be.
        place: The place whose workers alone drive it, empty for none.
        changed: When it last changed, in seconds since 1970: a driver that died a moment ago worked until then.
    """
    if standing.state == "works" and not held_by and due_at is None:
        return replace(
            standing,
            state="paused",
            kind="interrupted",
            reason="The process that worked on it has ended. Resume it to continue.",
        )
    untaken_since = max(due_at or now, changed)
    if not held_by and due_at is not None and now - untaken_since > UNTAKEN_S:
        of_place = f" of the place {place}" if place else ""
        return replace(
            _bare(standing, untaken_since, standing.seq),
            state="waits",
            kind="worker",
            reason=f"No worker{of_place} has taken it.",
        )
    if standing.state == "waits" and standing.until <= now:
        return replace(_bare(standing, standing.since, standing.seq), state="works")
    is_begun = bool(held_by) or (due_at is not None and due_at <= now)
    if standing.state in ("at_rest", "failed") and is_begun:
        since = min(due_at or standing.since, now)
        return replace(_bare(standing, since, standing.seq), state="works")
    return standing


_NO_FAILURE: Final[dict[str, Any]] = {"kind": "", "reason": "", "attempts": 0}


def _bare(standing: Standing, since: float, seq: int) -> Standing:
    """At rest, with what no turn changes."""
    return Standing(since=since, seq=seq, used=standing.used, window=standing.window)


def _moved(standing: Standing, event: Event, **changes: Any) -> Standing:
    """With these changes of an open turn, and in the state that follows from them."""
    moved = replace(standing, **changes)
    state: StandingState = "paused" if moved.paused else "works"
    if moved.until:
        state = "waits"
    if moved.paused == "failed":
        state = "failed"
    if moved.approvals:
        state = "needs_approval"
    if state != standing.state:
        moved = replace(moved, state=state, since=event.at, seq=event.seq)
    return moved


def _ended(standing: Standing, event: TurnEnded) -> Standing:
    rests = _bare(standing, event.at, event.seq)
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
    if event.reason == "approval" and standing.approvals:
        return replace(standing, paused="approval")
    kind = "quota" if event.until else event.reason
    return _moved(
        standing,
        event,
        paused=event.reason,
        kind=standing.kind or kind if event.reason == "failed" else kind,
        reason=_line(event.note) or standing.reason,
        until=event.until,
    )


def _asked(standing: Standing, event: ApprovalAsked) -> Standing:
    one = AskedApproval(
        call_id=event.call_id,
        tool=event.tool,
        digest=event.digest,
        asked=event.seq,
        at=event.at,
    )
    others = tuple(each for each in standing.approvals if each.call_id != event.call_id)
    return _moved(standing, event, approvals=(*others, one))


def _answered(
    standing: Standing, event: ApprovalGiven | ToolEnded, digest: str, *, is_resumed: bool
) -> Standing:
    """An answer about another call than the one that was shown is none. Without one, a call that waited is closed."""
    left = tuple(
        each
        for each in standing.approvals
        if each.call_id != event.call_id
        or (digest and each.digest and digest != each.digest)
    )
    if len(left) == len(standing.approvals):
        return standing
    is_lifted = is_resumed and standing.paused == "approval"
    paused = "" if is_lifted else standing.paused
    return _moved(standing, event, approvals=left, paused=paused)


def _call_ended(standing: Standing, event: CallEnded) -> Standing:
    """A failure leaves its kind, for the end of the turn that follows; whatever ends a call ends its wait."""
    if event.purpose != "main":
        is_over = event.purpose != "child"
        return (
            _moved(standing, event, until=0.0) if is_over and standing.until else standing
        )
    if event.outcome in ("failed", "dropped"):
        return _moved(
            standing,
            event,
            until=0.0,
            kind=event.error_kind or event.outcome,
            reason=_line(event.error),
            attempts=standing.attempts + 1,
        )
    if standing.kind or standing.until:
        return _moved(standing, event, until=0.0, **_NO_FAILURE)
    return standing


def _has_grown(standing: Standing, event: ReadingTaken) -> bool:
    """Whether a reading is far enough from the one that is kept, or the first, or of another window."""
    if standing.used is None or event.window != standing.window:
        return True
    step = FULLNESS_STEP * (event.window or standing.used)
    return abs(event.used.tokens - standing.used) > step


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_REASON]
