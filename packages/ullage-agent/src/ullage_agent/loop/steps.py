"""The possible next steps of a loop, as values. ``runtime/`` carries them out; each ends in events."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ullage.events import (
    CompactAsked,
    CompactionTrigger,
    EndReason,
    PauseReason,
    ToolOutcome,
)
from ullage.turns.loop import OpenCall


class CallModel(NamedTuple):
    """Send the view. ``max_output`` limits the answer to the rest of the window; ``None`` keeps the setting."""

    max_output: int | None = None


class FetchAnswer(NamedTuple):
    """Fetch the answer of the open call, which the provider holds, in the place of a call made again."""


class RunTools(NamedTuple):
    """Run these calls at the same time; each result is recorded when its tool ends."""

    calls: tuple[OpenCall, ...]


class AskApproval(NamedTuple):
    """Ask a person for each of these calls."""

    calls: tuple[OpenCall, ...]


class CloseCalls(NamedTuple):
    """Give these calls a result without running them. ``why`` is the text for the model."""

    calls: tuple[OpenCall, ...]
    outcome: ToolOutcome
    why: str


class Settle(NamedTuple):
    """Close unfinished work after the death of a driver or a cancel, so that the next request is valid."""

    how: Literal["crash", "cancel"]


class DropAttempt(NamedTuple):
    """Remove this partial answer from the view before the call is made again; the ledger keeps it."""

    message: str


class Compact(NamedTuple):
    """Make the view smaller, by a person's wishes."""

    trigger: CompactionTrigger
    wishes: CompactAsked = CompactAsked()


class FallBack(NamedTuple):
    """Continue the turn with this model: the one before it failed; ``why`` says how."""

    model: str
    why: str


class Deliver(NamedTuple):
    """Move these messages from the queue into the conversation, in one transaction each way."""

    messages: tuple[str, ...]
    begins_turn: bool


class Pause(NamedTuple):
    """Pause the turn without closing anything; ``until`` a time in seconds since 1970, where it resumes by itself."""

    reason: PauseReason
    note: str
    until: float = 0.0


class Resume(NamedTuple):
    """Resume the turn that waited for the tenant's quota."""


class EndTurn(NamedTuple):
    """End the turn."""

    reason: EndReason
    note: str = ""


class Rest(NamedTuple):
    """Wait for the next event."""


NextStep = (
    CallModel
    | FetchAnswer
    | RunTools
    | AskApproval
    | CloseCalls
    | Settle
    | DropAttempt
    | Compact
    | FallBack
    | Deliver
    | Pause
    | Resume
    | EndTurn
    | Rest
)
