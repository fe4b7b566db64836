"""The state of a session's loop, folded from its events: ``apply(loop, event)``.

The state is stored, never guessed from texts: the turn, the open tool calls and the progress of each, the queue, and
a requested cancel. Folding a ledger again after a crash gives the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.errors import LimitExceeded
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallHeld,
    CallRetried,
    CallStarted,
    CancelAsked,
    Cancelled,
    CompactAsked,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    EndReason,
    Event,
    FellBack,
    GrantGiven,
    GrantRevoked,
    HandedOver,
    MessageAdded,
    ModelChanged,
    Outcome,
    PauseReason,
    Pruned,
    Purpose,
    Queued,
    QueueEdited,
    QueueLeft,
    ReasoningRefused,
    Rewound,
    RowDamaged,
    SettingsChanged,
    ToolCallReplaced,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)
from ullage.messages import Message, ToolCallPart, ToolResultPart
from ullage.turns.approving import digest_of
from ullage.turns.grants import Grant

CallState = Literal["waiting", "asked", "approved", "denied", "started"]


class OpenCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call without a result. ``part`` is its part's id; ``note`` is a person's reason for a denial."""

    call_id: str
    name: str
    arguments: str
    part: str
    state: CallState = "waiting"
    idempotent: bool = False
    note: str = ""
    approved: str = ""
    """The digest that a person approved; empty without an approval."""
    is_replaced: bool = False
    """Hooks have replaced the arguments: they are not asked again."""
    refused_by: Literal["person", "nobody"] = "person"
    """With ``denied``: ``person`` for a person's denial, ``nobody`` if no person could be asked."""

    @property
    def digest(self) -> str:
        """Identifies this exact call."""
        return digest_of(self.name, self.arguments)

    @property
    def is_approved(self) -> bool:
        """Whether a person approved exactly this call, byte for byte."""
        return bool(self.approved) and self.approved == self.digest


class QueuedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the queue. ``is_new``: it was sent after the pending cancel, which does not apply to it."""

    message: Message
    kind: Literal["steer", "follow_up"]
    is_new: bool = False
    trace: str = ""


LONGEST_CYCLE: Final = 3
"""Answers of a sequence that is looked for: a model that is stuck goes back and forth between two or three calls."""


class Cycle(NamedTuple):
    """``length`` answers with the same calls and arguments, ``repeats`` times in a row."""

    repeats: int
    length: int

    def __str__(self) -> str:
        calls, order = "call was", "in a row"
        if self.length > 1:
            calls, order = f"{self.length} calls were", "one after the other"
        return (
            f"the same {calls} made {self.repeats} times {order} with the same arguments."
        )


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session's loop. ``turn`` is empty while it rests.

    ``steps``, ``calls`` and ``since`` belong to the current turn and restart when it is resumed; ``calls`` includes
    children and summaries. ``owes_answer``: the model has not answered the newest message.
    ``failed`` is the kind of error of the last call, until the loop reacts to it.
    """

    seq: int = 0
    turn: str = ""
    turns: int = 0
    asked: int = 0
    """The number of the event that began the turn of the newest question."""
    steps: int = 0
    calls: int = 0
    since: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    input: int = 0
    output: int = 0
    """The session's spend when the turn began or was resumed, as budgets count it; ``tokens`` are both together."""
    tool_calls: int = 0
    """Tool calls that were started since the turn began or was resumed, without those that give the answer."""
    session_tool_calls: int = 0
    ended: EndReason | Literal[""] = ""
    paused: PauseReason | Literal[""] = ""
    paused_until: float = 0.0
    """When a turn that waits for the tenant's quota may be resumed, in seconds since 1970; 0 for any other turn."""
    note: str = ""
    trace: str = ""
    """The ``traceparent`` of the request that began the turn."""

    call: str = ""
    """A model call that was started and has not ended; ``side_call`` one of another purpose."""
    response: str = ""
    """Under which id the provider hands out the answer of ``call``; empty where it does not."""
    retry_note: str = ""
    """Why the call waits before it is sent, until ``retry_at`` in seconds since 1970."""
    retry_at: float = 0.0
    side_call: str = ""
    side_purpose: Purpose = "other"
    compaction: str = ""
    outcome: Outcome | Literal[""] = ""
    """How the last answer ended; ``stop`` is the reason. Both are empty after the next message."""
    stop: str = ""
    failed: str = ""
    error: str = ""
    drops: int = 0
    """Answers in a row that broke off."""
    exceeded: bool = False
    """A limit stopped the last answer; the next answer would most likely reach it too."""
    cuts: int = 0
    """Answers in a row whose calls the output limit cut."""
    overflows: int = 0
    """Refusals for size in a row, without an answer in between."""
    is_empty: bool = False
    """The last answer held nothing."""

    fallback: str = ""
    """The fallback model that the turn has come to; empty for the agent's own model."""
    fallen: tuple[str, ...] = ()
    """How the models before it failed."""
    agent: str = ""
    """The name of the agent that the conversation was handed over to; empty for the session's first."""
    handing_over: str | None = None
    """The agent that continues once no tool call is open."""
    handovers: int = 0
    """Hand-overs of this turn."""
    answer_call: str = ""
    """The tool call whose arguments are the answer."""

    open: tuple[OpenCall, ...] = ()
    owes_answer: bool = False
    last: str = ""
    """Id of the newest message."""
    signatures: tuple[str, ...] = ()
    """What the last ``LONGEST_CYCLE`` answers called, the newest last."""
    recurring: tuple[int, ...] = (0,) * LONGEST_CYCLE
    """How many answers in a row called what the answer before them did, the one two before them, and so on."""

    queue: tuple[QueuedMessage, ...] = ()
    cancel: Literal["", "stop", "finish"] = ""
    cancel_answered: bool = False
    """The result of the cancel is recorded; the turn is not closed yet."""
    compact_asked: CompactAsked | None = None
    """A requested compaction that was not tried yet."""
    damaged: tuple[int, ...] = ()
    """Numbers of the first unreadable rows."""
    settings: dict[str, object] = {}
    """This session's own settings, by name."""
    grants: tuple[Grant, ...] = ()
    """Calls that a person allowed for the rest of this session."""

    @property
    def steers(self) -> tuple[QueuedMessage, ...]:
        return tuple(waiting for waiting in self.queue if waiting.kind == "steer")

    @property
    def cycle(self) -> Cycle:
        """The calls that were made most often in a row; the shortest such sequence."""
        if not self.signatures:
            return Cycle(0, 1)
        found = [
            Cycle(1 + count // length, length)
            for length, count in enumerate(self.recurring, 1)
        ]
        return max(found, key=lambda cycle: cycle.repeats)

    @property
    def is_abandoned(self) -> bool:
        """Whether there is work in progress without a driver, as after a crash."""
        in_progress = self.call or self.side_call or self.compaction
        return bool(in_progress) or any(call.state == "started" for call in self.open)


def apply(loop: Loop, event: Event) -> Loop:
    """The state after one more event. Never raises; events that don't concern the loop only move ``seq``."""
    handler = _HANDLERS.get(type(event))
    moved = loop if handler is None else handler(loop, event)
    if moved.handing_over is not None and not moved.open:
        moved = replace(moved, agent=moved.handing_over, handing_over=None)
    return replace(moved, seq=event.seq or loop.seq + 1)


# -- turns --


def _turn_started(loop: Loop, event: TurnStarted) -> Loop:
    return replace(
        _from_zero(loop, event),
        turn=event.turn,
        turns=loop.turns + 1,
        asked=loop.asked if event.again else event.seq or loop.seq + 1,
        steps=0,
        trace=event.trace,
        answer_call="",
        ended="",
        outcome="",
        stop="",
        cuts=0,
        overflows=0,
        signatures=(),
        recurring=(0,) * LONGEST_CYCLE,
    )


def _turn_paused(loop: Loop, event: TurnPaused) -> Loop:
    return replace(loop, paused=event.reason, paused_until=event.until, note=event.note)


def _turn_resumed(loop: Loop, event: TurnResumed) -> Loop:
    return _from_zero(loop, event) if event.turn == loop.turn else loop


def _from_zero(loop: Loop, event: TurnStarted | TurnResumed) -> Loop:
    """The loop with budgets, failures and fallback models as at the beginning of a turn."""
    return replace(
        loop,
        paused="",
        note="",
        failed="",
        error="",
        drops=0,
        calls=0,
        since=event.at,
        tokens=event.tokens,
        usd=event.usd,
        input=event.input,
        output=event.output,
        tool_calls=0,
        fallback="",
        fallen=(),
        handovers=0,
    )


def _fell_back(loop: Loop, event: FellBack) -> Loop:
    return replace(
        loop,
        fallback=event.model,
        fallen=(*loop.fallen, event.error),
        failed="",
        error="",
        drops=0,
        overflows=0,
        outcome="",
        stop="",
    )


def _handed_over(loop: Loop, event: HandedOver) -> Loop:
    return replace(loop, handing_over=event.agent, handovers=loop.handovers + 1)


def _turn_ended(loop: Loop, event: TurnEnded) -> Loop:
    return replace(
        loop,
        turn="",
        ended=event.reason,
        note=event.note,
        paused="",
        failed="",
        owes_answer=False,
        open=(),
        call="",
        retry_note="",
        retry_at=0.0,
        cancel="" if event.reason == "cancelled" else loop.cancel,
        cancel_answered=False,
    )


# -- calls and messages --


def _call_started(loop: Loop, event: CallStarted) -> Loop:
    if event.purpose != "main":
        if event.purpose == "child":
            return loop
        return replace(loop, side_call=event.call, side_purpose=event.purpose)
    return replace(
        loop,
        call=event.call,
        response="",
        retry_note="",
        retry_at=0.0,
        steps=loop.steps + 1,
        answer_call="",
        failed="",
        error="",
        outcome="",
        stop="",
    )


def _call_retried(loop: Loop, event: CallRetried) -> Loop:
    if event.call not in (loop.call, loop.side_call):
        return loop
    return replace(loop, retry_note=event.error, retry_at=event.at + event.wait_s)


def _call_held(loop: Loop, event: CallHeld) -> Loop:
    return replace(loop, response=event.response) if event.call == loop.call else loop


def _call_ended(loop: Loop, event: CallEnded) -> Loop:
    calls = loop.calls + 1
    if event.purpose != "main":
        if loop.side_call != event.call:
            return replace(loop, calls=calls)
        return replace(loop, calls=calls, side_call="", retry_note="", retry_at=0.0)
    failed, drops, overflows, owes_answer = (
        "",
        loop.drops,
        loop.overflows,
        loop.owes_answer,
    )
    match event.outcome:
        case "finished":
            drops = overflows = 0
            owes_answer = False  # its message comes next, unless the answer is empty
        case "dropped":
            drops += 1
        case "failed":
            failed = event.error_kind or "ProviderError"
            overflows += failed in OVERFLOWS
        case _:
            pass
    return replace(
        loop,
        call="",
        response="",
        retry_note="",
        retry_at=0.0,
        calls=calls,
        outcome=event.outcome,
        stop=event.stop,
        failed=failed,
        error=event.error,
        drops=drops,
        exceeded=event.error_kind == LimitExceeded.__name__,
        overflows=overflows,
        owes_answer=owes_answer,
        is_empty=True,
    )


OVERFLOWS = ("Overflow", "BodyTooLarge", "TooManyImages")
"""Kinds of error that a compaction can cure."""


def _message(loop: Loop, event: MessageAdded) -> Loop:
    message = event.message
    loop = replace(loop, last=message.id)
    match message.role:
        case "assistant":
            return _answered(loop, message)
        case "tool":
            closed = {part.call_id for part in message.of_type(ToolResultPart)}
            still = tuple(call for call in loop.open if call.call_id not in closed)
            return replace(loop, open=still, owes_answer=True)
        case "system" if message.origin == "injected":
            return loop
        case _ if loop.open:
            return replace(loop, owes_answer=True)
        case _:
            return replace(loop, owes_answer=True, outcome="", stop="")


def _answered(loop: Loop, message: Message) -> Loop:
    calls = calls_of(message)
    loop = replace(loop, open=calls, owes_answer=False, is_empty=not message.parts)
    if loop.outcome != "finished":
        return loop  # the answer is requested again, and its calls are not run
    loop = _with_calls(loop, signature_of(calls))
    is_cut = bool(calls) and loop.stop in CUT
    return replace(loop, cuts=loop.cuts + 1 if is_cut else 0)


def _with_calls(loop: Loop, signature: str) -> Loop:
    """Compare what an answer calls with the answers before it; one without calls ends every repetition."""
    earlier = loop.signatures if signature else ()
    recurring = [0] * LONGEST_CYCLE
    for place, before in enumerate(reversed(earlier)):
        if before == signature:
            recurring[place] = loop.recurring[place] + 1
    newest = (*earlier, signature)[-LONGEST_CYCLE:] if signature else ()
    return replace(loop, signatures=newest, recurring=tuple(recurring))


def calls_of(message: Message) -> tuple[OpenCall, ...]:
    """The tool calls of an answer, as open ones."""
    return tuple(
        OpenCall(
            call_id=part.call_id, name=part.name, arguments=part.arguments, part=part.id
        )
        for part in message.of_type(ToolCallPart)
    )


CUT = ("length", "context_full")
"""Stop reasons of an answer that was cut."""


def signature_of(calls: tuple[OpenCall, ...]) -> str:
    """Identifies tools and arguments regardless of ids; empty for no calls."""
    if not calls:
        return ""
    content = msgspec.json.encode([(call.name, call.arguments) for call in calls])
    return blake2b(content, digest_size=8).hexdigest()


def _rewound(loop: Loop, event: Rewound) -> Loop:
    return replace(
        loop, last=event.to, open=(), owes_answer=bool(loop.turn), outcome="", stop=""
    )


# -- tools and approvals --


def _with_state(loop: Loop, call_id: str, state: CallState, **more: Any) -> Loop:
    calls = tuple(
        replace(call, state=state, **more) if call.call_id == call_id else call
        for call in loop.open
    )
    return replace(loop, open=calls)


def _tool_started(loop: Loop, event: ToolStarted) -> Loop:
    if not event.is_answer:
        loop = replace(
            loop,
            tool_calls=loop.tool_calls + 1,
            session_tool_calls=loop.session_tool_calls + 1,
        )
    return _with_state(loop, event.call_id, "started", idempotent=event.idempotent)


def _tool_ended(loop: Loop, event: ToolEnded) -> Loop:
    """The result that comes next closes the call. An idempotent call with an unknown outcome runs again."""
    if event.is_answer:
        return replace(loop, answer_call=event.call_id)
    runs_again = event.outcome == "unknown" and any(
        call.call_id == event.call_id and call.state == "started" and call.idempotent
        for call in loop.open
    )
    return _with_state(loop, event.call_id, "approved") if runs_again else loop


def _tool_call_replaced(loop: Loop, event: ToolCallReplaced) -> Loop:
    calls = tuple(
        replace(call, arguments=event.arguments, is_replaced=True)
        if call.part == event.part
        else call
        for call in loop.open
    )
    return replace(loop, open=calls)


def _approval_asked(loop: Loop, event: ApprovalAsked) -> Loop:
    calls = tuple(
        replace(call, state="asked", approved="") if _is_about(event, call) else call
        for call in loop.open
    )
    return replace(loop, open=calls)


def _approval_given(loop: Loop, event: ApprovalGiven) -> Loop:
    calls = tuple(_answered_call(call, event) for call in loop.open)
    if calls == loop.open:
        return loop
    return replace(
        loop, open=calls, paused="" if loop.paused == "approval" else loop.paused
    )


def _answered_call(call: OpenCall, event: ApprovalGiven) -> OpenCall:
    """The call with this answer, if it is asked about and the answer is about it.

    An approval without a digest approves no call, so the person is asked again. A denial needs none.
    """
    if call.state != "asked" or not _is_about(event, call):
        return call
    if not event.approved:
        return replace(call, state="denied", note=event.note, refused_by=event.by)
    return replace(call, state="approved", note=event.note, approved=event.digest)


def _is_about(event: ApprovalAsked | ApprovalGiven, call: OpenCall) -> bool:
    return call.call_id == event.call_id and event.digest in ("", call.digest)


def _grant_given(loop: Loop, event: GrantGiven) -> Loop:
    others = tuple(grant for grant in loop.grants if grant.id != event.grant)
    grant = Grant(
        id=event.grant,
        tool=event.tool,
        prefix=event.prefix,
        declaration=event.declaration,
        at=event.at,
    )
    return replace(loop, grants=(*others, grant))


def _grant_revoked(loop: Loop, event: GrantRevoked) -> Loop:
    return replace(
        loop, grants=tuple(grant for grant in loop.grants if grant.id != event.grant)
    )


# -- people --


def _queued(loop: Loop, event: Queued) -> Loop:
    resumes = loop.paused == "failed"
    return replace(
        loop,
        queue=(
            *loop.queue,
            QueuedMessage(
                message=event.message,
                kind=event.kind,
                is_new=bool(loop.cancel),
                trace=event.trace,
            ),
        ),
        paused="" if resumes else loop.paused,
        failed="" if resumes else loop.failed,
        fallback="" if resumes else loop.fallback,
        fallen=() if resumes else loop.fallen,
    )


def _queue_edited(loop: Loop, event: QueueEdited) -> Loop:
    queue = tuple(
        replace(waiting, message=event.message)
        if waiting.message.id == event.message.id
        else waiting
        for waiting in loop.queue
    )
    return replace(loop, queue=queue)


def _queue_left(loop: Loop, event: QueueLeft) -> Loop:
    return replace(
        loop,
        queue=tuple(
            waiting for waiting in loop.queue if waiting.message.id != event.message_id
        ),
    )


def _cancel_asked(loop: Loop, event: CancelAsked) -> Loop:
    queue = tuple(
        replace(waiting, is_new=False) if waiting.is_new else waiting
        for waiting in loop.queue
    )
    return replace(
        loop, queue=queue, cancel="stop" if loop.cancel else event.tools
    )  # a second cancel does not wait


def _cancelled(loop: Loop, event: Cancelled) -> Loop:
    if loop.turn:
        return replace(loop, cancel_answered=True, compact_asked=None)
    return replace(loop, cancel="", cancel_answered=False, compact_asked=None)


MOST_DAMAGED = 100
"""Damaged rows that are named; more are not counted."""


def _row_damaged(loop: Loop, event: RowDamaged) -> Loop:
    """The row may have recorded the start or the end of a call, so no open call may run again."""
    calls = tuple(replace(call, state="started", idempotent=False) for call in loop.open)
    damaged = (
        loop.damaged if len(loop.damaged) >= MOST_DAMAGED else (*loop.damaged, event.seq)
    )
    return replace(loop, open=calls, damaged=damaged)


def _compact_asked(loop: Loop, event: CompactAsked) -> Loop:
    return replace(loop, compact_asked=event)


BUDGETS: Final = frozenset({"budget", "session_budget"})
"""Settings of which a change lets a turn continue that a budget has paused."""


def _settings(loop: Loop, event: SettingsChanged) -> Loop:
    if event.source == "resolved":
        return loop
    merged = {**loop.settings, **event.settings}
    own = {name: value for name, value in merged.items() if value is not None}
    lifted = loop.paused == "budget" and not BUDGETS.isdisjoint(event.settings)
    loop = replace(loop, settings=own, paused="" if lifted else loop.paused)
    if "output_by" in event.settings:  # the answer is asked for in another way
        loop = replace(loop, failed="", error="")
    if "model" in event.settings:
        return replace(loop, fallback="", fallen=())
    return loop


def _reasoning_refused(loop: Loop, event: ReasoningRefused) -> Loop:
    """The call is made again, without that reasoning."""
    return replace(loop, failed="", error="")


def _model(loop: Loop, event: ModelChanged) -> Loop:
    lifted = loop.paused == "failed"
    return replace(
        loop, paused="" if lifted else loop.paused, failed="" if lifted else loop.failed
    )


# -- compaction --


def _compaction_started(loop: Loop, event: CompactionStarted) -> Loop:
    asked = None if event.trigger == "asked" else _still_asked(loop)
    return replace(loop, compaction=event.compaction, compact_asked=asked)


def _still_asked(loop: Loop) -> CompactAsked | None:
    """The requested compaction, if another one is no answer to it."""
    asked = loop.compact_asked
    return None if asked is None or not (asked.from_ or asked.preview) else asked


def _compaction_over(
    loop: Loop, event: CompactionCommitted | CompactionRolledBack
) -> Loop:
    if isinstance(event, CompactionRolledBack) and event.rung:
        return loop  # one strategy failed; the next one is tried
    over = "" if loop.compaction == event.compaction else loop.compaction
    if isinstance(event, CompactionRolledBack):
        return replace(loop, compaction=over)
    return replace(
        loop, compaction=over, failed="" if loop.failed in OVERFLOWS else loop.failed
    )


def _pruned(loop: Loop, event: Pruned) -> Loop:
    return replace(
        loop,
        compact_asked=_still_asked(loop),
        failed="" if loop.failed in OVERFLOWS else loop.failed,
    )


_HANDLERS: dict[type, Callable[[Loop, Any], Loop]] = {
    TurnStarted: _turn_started,
    TurnPaused: _turn_paused,
    TurnResumed: _turn_resumed,
    TurnEnded: _turn_ended,
    FellBack: _fell_back,
    HandedOver: _handed_over,
    CallStarted: _call_started,
    CallRetried: _call_retried,
    CallHeld: _call_held,
    CallEnded: _call_ended,
    MessageAdded: _message,
    Rewound: _rewound,
    ToolStarted: _tool_started,
    ToolEnded: _tool_ended,
    ToolCallReplaced: _tool_call_replaced,
    ApprovalAsked: _approval_asked,
    ApprovalGiven: _approval_given,
    GrantGiven: _grant_given,
    GrantRevoked: _grant_revoked,
    Queued: _queued,
    QueueEdited: _queue_edited,
    QueueLeft: _queue_left,
    CancelAsked: _cancel_asked,
    Cancelled: _cancelled,
    CompactAsked: _compact_asked,
    SettingsChanged: _settings,
    ReasoningRefused: _reasoning_refused,
    ModelChanged: _model,
    CompactionStarted: _compaction_started,
    CompactionCommitted: _compaction_over,
    CompactionRolledBack: _compaction_over,
    Pruned: _pruned,
    RowDamaged: _row_damaged,
}
