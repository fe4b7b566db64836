"""What a loop can do next, as values. ``runtime/`` carries them out; each ends in events."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ullage.agent.loop import OpenCall
from ullage.events import CompactionTrigger, EndReason, PauseReason, ToolOutcome


class CallModel(NamedTuple):
    """Send the view. ``max_output`` is the most the answer may have, where the window sets it; ``None``: as asked."""

    max_output: int | None = None


class RunTools(NamedTuple):
    """Run these calls at the same time; results are recorded as they come."""

    calls: tuple[OpenCall, ...]


class AskApproval(NamedTuple):
    """Ask a person for each of these calls."""

    calls: tuple[OpenCall, ...]


class CloseCalls(NamedTuple):
    """Give these calls a result without running them. ``why`` is said to the model."""

    calls: tuple[OpenCall, ...]
    outcome: ToolOutcome
    why: str


class Settle(NamedTuple):
    """Close what was under way when a driver died or somebody cancelled, so that the next request is valid."""

    how: Literal["crash", "cancel"]


class DropAttempt(NamedTuple):
    """Take this answer, which broke off, out of the view before the call is made again; the ledger keeps it."""

    message: str


class Compact(NamedTuple):
    """Make the view smaller. ``instructions`` are a person's, for the summary."""

    trigger: CompactionTrigger
    instructions: str = ""


class Deliver(NamedTuple):
    """Move these messages from the queue into the conversation, in one transaction each way."""

    messages: tuple[str, ...]
    begins_turn: bool


class Pause(NamedTuple):
    """Stop where the loop is, nothing closed."""

    reason: PauseReason
    note: str


class EndTurn(NamedTuple):
    """The agent rests."""

    reason: EndReason
    note: str = ""


class Rest(NamedTuple):
    """Nothing to do until an event comes."""


NextStep = (
    CallModel | RunTools | AskApproval | CloseCalls | Settle | DropAttempt | Compact | Deliver | Pause | EndTurn | Rest
)
