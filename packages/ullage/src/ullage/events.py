"""Everything that can happen in a session, as one union.

An event is a ledger row, a frame of the event stream and what every display reads: there is no second description.
The ledger is the append-only list of a session's events; everything else is a fold of it. Events are flat: the
envelope's fields stand beside the event's own. A tag or field of a newer version is kept and written back unchanged
(``ullage.encoding``).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import force_setattr

from ullage.extensible import Extensible
from ullage.messages import Message, SystemBlock, Tool
from ullage.usage import Usage

VERSION = 1
"""Version of the rows written. Rows without ``v`` are of version 1."""

Purpose = Literal["main", "summary", "title", "count", "child", "other"]
"""What a model call was for. Only ``main`` calls can anchor a reading; all are spend."""

Outcome = Literal["finished", "failed", "cancelled", "dropped"]
"""How a model call ended. ``dropped`` is a stream without its terminal event."""


class Envelope(Extensible, frozen=True, kw_only=True):
    """What every event carries: its session, its place there, its id, its cause, and when it happened.

    ``seq`` counts from 1 without gaps within a session. ``parent`` is the id of the event this one answers to, if any.
    ``at`` is seconds since 1970, UTC; it comes from outside and is 0 where a log does not say. ``who`` is the name of
    the token whose request a server wrote the event for; empty for all other events.
    """

    session: str = ""
    seq: int = 0
    id: str = ""
    parent: str = ""
    at: float = 0
    who: str = ""
    v: int = VERSION


class Fingerprint(Extensible, frozen=True, kw_only=True):
    """Names the exact content of a request.

    ``digest`` is a rolling hash over ids and revisions of the parts, ``count`` how many messages it covers. Two
    requests with equal fingerprints sent the same thing; a request extends another if rolling on from its digest gives
    its own.
    """

    wire: str = ""
    endpoint: str = ""
    model: str = ""
    system: str = ""
    tools: str = ""
    digest: str = ""
    count: int = 0


SentUnlogged = Literal["first call", "after a compaction", "the call after that"]
"""Calls that hold what their log lacks."""


class FirstCall(Extensible, frozen=True, kw_only=True):
    """What the reported input of one call held beyond the estimate of its log. Numbers and names, no content.

    The call is a session's first one, or follows a compaction that ``puts_back``, as ``situation`` says. ``tokens`` are
    reported - estimated, ``doubt`` is the half-width of that estimate. ``unlogged`` names what the log lacks of every
    request, and ``logged`` has the estimate of what it holds, by kind of block and for ``tools``. Where it lacks
    nothing, ``content`` is the fingerprint of system prompt and tools. ``session`` and ``directory`` are digests,
    ``id`` names the call, ``at`` is when it was made.
    """

    id: str = ""
    session: str = ""
    program: str = ""
    """With its version, as in ``SessionStarted``."""
    is_subagent: bool = False
    provider: str = ""
    model: str = ""
    unlogged: str = ""
    logged: dict[str, int] = msgspec.field(default_factory=dict)
    content: str = ""
    directory: str = ""
    tokens: int = 0
    doubt: int = 0
    at: float = 0
    situation: SentUnlogged = "first call"


class Amount(Extensible, frozen=True, kw_only=True):
    """A number of tokens and the interval meant to hold the truth 95 times in 100."""

    tokens: int
    low: int
    high: int


SentKind = Literal["model", "beta", "tool", "system", "setting", "message"]


class SentItem(msgspec.Struct, frozen=True, array_like=True):
    """One tool, block or setting of a request, by a digest of the bytes that were sent. No content."""

    kind: SentKind
    name: str
    digest: str
    size: int
    """Bytes."""
    mark: str = ""
    """How long the provider is asked to cache what ends here: ``5m``, ``1h``; empty where it is not asked."""


class SentBody(Extensible, frozen=True, kw_only=True):
    """The items of a request in the order in which a provider caches them (``ullage.meter.sent_items``).

    The first ``same`` are those of the request of the call ``after``; ``items`` are the others.
    """

    after: str = ""
    same: int = 0
    items: tuple[SentItem, ...] = ()


# -- the session and what its requests are made of --


RequestPart = Literal["system", "tools"]
"""What of every request a log may lack: the system prompt, or the declarations of the tools that are sent."""


class SessionStarted(Envelope, frozen=True, kw_only=True, tag="session_started"):
    """The first event of a session: its model and where it comes from."""

    model: str = ""
    wire: str = ""
    provider: str = ""
    title: str = ""
    cwd: str = ""
    program: str = ""
    """Which program wrote the session, with its version where known."""
    partial: bool = False
    """True where the log begins in the middle: earlier history was sent and is not in it."""
    unlogged: tuple[RequestPart, ...] = ()
    """What every request holds and the log does not, until a ``SystemChanged`` or ``ToolsChanged`` brings it whole."""
    is_subagent: bool = False
    """True where the session is a subagent's own: its program sends it another prompt and other tools."""


class Renamed(Envelope, frozen=True, kw_only=True, tag="renamed"):
    """A person gave the session this title, in the place of the one before."""

    title: str


class ModelChanged(Envelope, frozen=True, kw_only=True, tag="model_changed"):
    """From here on another model answers."""

    model: str
    wire: str = ""
    provider: str = ""


class SystemChanged(Envelope, frozen=True, kw_only=True, tag="system_changed"):
    """The system prompt that is in force from here on.

    With ``note``, the message of this id tells the model what has changed, and requests keep the prompt that they had.
    With ``is_part``, requests hold more than these blocks, which the log lacks.
    """

    system: tuple[SystemBlock, ...]
    note: str = ""
    is_part: bool = False


class ToolsChanged(Envelope, frozen=True, kw_only=True, tag="tools_changed"):
    """The tools that requests declare from here on. With ``is_part`` they declare more, which the log lacks."""

    tools: tuple[Tool, ...]
    is_part: bool = False


class ToolServerNoticed(Envelope, frozen=True, kw_only=True, tag="tool_server_noticed"):
    """What a person should know of an MCP server: it can't be used, it can again, or its tools are others than before.

    ``problem`` says why it can't be used and is empty where it can. ``added``, ``removed`` and ``changed`` are names of
    tools, against those declared last in this session; ``notes`` say what is left out of what the server declares.
    """

    server: str
    problem: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ParamsChanged(Envelope, frozen=True, kw_only=True, tag="params_changed"):
    """From here on calls have other fields."""

    params: dict[str, object]


class PolicyChanged(Envelope, frozen=True, kw_only=True, tag="policy_changed"):
    """The application's choice of which reasoning is sent back. The next reading follows it at once."""

    include_in_context: bool = True
    strip: Literal["none", "all", "all_but_last"] = "none"


class LimitLearnt(Envelope, frozen=True, kw_only=True, tag="limit_learnt"):
    """A limit of a model, from a user, the provider at run time, an error that named it, or another program's log."""

    model: str
    source: Literal["user", "provider", "error", "log"]
    window: int | None = None
    input_cap: int | None = None
    max_output: int | None = None
    compaction_point: int | None = None
    """Where the program that wrote the log compacts, if it says so."""


class SettingsChanged(Envelope, frozen=True, kw_only=True, tag="settings_changed"):
    """Settings by the names of ``docs/settings.md``; ``None`` takes one back to its default.

    ``session``: a caller changed them for this session. ``resolved``: what the driver works with, from all places they
    can be set in, so that its readings can be repeated from the ledger alone.
    """

    settings: dict[str, object]
    source: Literal["session", "resolved"] = "session"


class MessageAdded(Envelope, frozen=True, kw_only=True, tag="message_added"):
    """A message joined the conversation."""

    message: Message


class MessageReplaced(Envelope, frozen=True, kw_only=True, tag="message_replaced"):
    """The message with this id now has this content and a higher revision."""

    message: Message


class Rewound(Envelope, frozen=True, kw_only=True, tag="rewound"):
    """The conversation continues from ``to``; later messages left the view. Empty: from the start.

    ``Uncompacted`` undoes the one that a person asked for by its name, ``rewind``. ``files`` is the step that took back
    what tools had done to files, as in ``FilesChanged``.
    """

    to: str = ""
    rewind: str = ""
    files: str = ""


# -- turns, calls and tools --

EndReason = Literal[
    "finished",
    "cancelled",
    "max_steps",
    "loop",
    "length",
    "refused",
    "dropped",
    "failed",
    "too_large",
    "other",
]
"""Why a turn ended. ``loop``: the same call again and again. ``too_large``: it can't be made to fit."""

PauseReason = Literal["approval", "budget", "failed"]
"""Why a turn waits: for a person's word, for more budget, or for a provider that failed to be tried again."""


class TurnStarted(Envelope, frozen=True, kw_only=True, tag="turn_started"):
    """``tokens``, of them ``input`` and ``output``, and ``usd`` are what was spent by then: budgets count from here.

    ``trace`` is that of the message that began it. With ``again`` a program asks for the answer of the turn before once
    more, because that one does not fit.
    """

    turn: str
    tokens: int = 0
    usd: float = 0.0
    input: int = 0
    output: int = 0
    trace: str = ""
    again: bool = False


class TurnPaused(Envelope, frozen=True, kw_only=True, tag="turn_paused"):
    """The turn stops where it is, nothing closed; ``note`` says what it waits for. A later event resumes it.

    ``until``, in seconds since 1970, is when the tenant's quota begins again: a driver resumes the turn by itself then.
    """

    turn: str
    reason: PauseReason
    note: str = ""
    until: float = 0.0


class TurnResumed(Envelope, frozen=True, kw_only=True, tag="turn_resumed"):
    """The turn continues; budgets count from zero again."""

    turn: str
    tokens: int = 0
    usd: float = 0.0
    input: int = 0
    output: int = 0


class FellBack(Envelope, frozen=True, kw_only=True, tag="fell_back"):
    """The model of the turn failed: ``model`` continues it, named as in the setting ``fallback``.

    ``error_kind`` and ``error`` say how the model before failed, as in ``CallEnded``.
    """

    turn: str
    model: str
    error: str = ""
    error_kind: str = ""


class HandedOver(Envelope, frozen=True, kw_only=True, tag="handed_over"):
    """The agent with this name continues the conversation, as soon as no tool call is open.

    ``call_id`` is the tool call that asked for it; empty where a person did. An empty ``agent`` is the session's first.
    """

    agent: str
    call_id: str = ""


class TurnEnded(Envelope, frozen=True, kw_only=True, tag="turn_ended"):
    """The agent rests. ``note`` is for a person: what the limit was, what the error said."""

    turn: str
    reason: EndReason = "finished"
    note: str = ""
    steps: int = 0


class CallStarted(Envelope, frozen=True, kw_only=True, tag="call_started"):
    """A request goes to a model."""

    call: str
    purpose: Purpose = "main"
    fingerprint: Fingerprint | None = None
    """Of the whole request; ``None`` where the ledger may lack content of it: logs, content that the provider keeps."""
    estimate: Amount | None = None
    snapshot: str = ""
    """The id of the reading that was taken for this call."""
    stream: bool = False
    is_held: bool = False
    """The provider holds earlier content of this conversation, which the request does not repeat."""
    mark: str = ""
    """What a proxy needs to find the conversation again after a restart (``ullage.meter.lanes``). No content."""
    replaced_by: tuple[str, ...] = ()
    """The hooks that replaced the request, in order: what was sent is not what the ledger has."""
    added: int = 0
    """Tokens that the replaced request holds beyond the ledger's one; below zero where it holds less."""
    sent: SentBody | None = None
    """What the request held item by item, where its body passed."""


class CallEnded(Envelope, frozen=True, kw_only=True, tag="call_ended"):
    """A call's outcome, with its answer and reported usage."""

    call: str
    outcome: Outcome = "finished"
    purpose: Purpose = "main"
    stop: str = ""
    usage: Usage | None = None
    error: str = ""
    error_kind: str = ""
    """The error's class in ``ullage.errors``, such as ``Overflow`` or ``BadKey``; empty without an error."""
    counted: int | None = None
    """Tokens of the request as a provider counted that refused it for its size."""
    model: str = ""
    """The model that answered, where the provider names it; for a child's call, the child's model."""
    provider: str = ""
    """Who served it, where that is not the session's own provider (a child, a summary by another model)."""
    continued_as: str = ""
    """The id by which a later request may continue the answer, or its conversation, on the provider's side."""
    replaced_by: tuple[str, ...] = ()
    """The hooks that replaced the answer, in order: the message is theirs, the usage is of what the model wrote."""

    def __post_init__(self) -> None:
        """No count that can't be true becomes an event, whoever makes it: a loop, an importer, a stored row."""
        if self.usage is not None:
            force_setattr(self, "usage", self.usage.possible)


class CallRetried(Envelope, frozen=True, kw_only=True, tag="call_retried"):
    """An attempt failed before it gave anything; the next one begins in ``wait_s`` seconds.

    Attempt 0 was not made yet: it waits for its place within a rate limit that all processes of the store share.
    """

    call: str
    attempt: int
    wait_s: float
    error: str = ""


class CallHeld(Envelope, frozen=True, kw_only=True, tag="call_held"):
    """The provider goes on with the answer of this call without a reader: it is fetched as ``response``, not asked for
    again, where its driver dies or the connection breaks."""

    call: str
    response: str


class RequestRepaired(Envelope, frozen=True, kw_only=True, tag="request_repaired"):
    """What had to be put right in a request before it went out, in words. The history is as it was."""

    call: str
    repairs: tuple[str, ...]


ToolOutcome = Literal[
    "finished", "failed", "not_started", "unknown", "timed_out", "cancelled", "denied"
]
"""How a tool call ended. ``unknown``: it was started, and whether it took effect is not known."""


class ToolStarted(Envelope, frozen=True, kw_only=True, tag="tool_started"):
    """A tool call begins to run."""

    call_id: str
    name: str = ""
    idempotent: bool = False
    """Running it twice is declared to do no harm: after a crash it is run again."""
    grant: str = ""
    """The id of the grant that allowed the call, where no person was asked about it."""
    is_answer: bool = False
    """The tool takes the answer of the turn: limits of tool calls don't count it."""


class ToolEnded(Envelope, frozen=True, kw_only=True, tag="tool_ended"):
    """The call is over; its result is in the ``MessageAdded`` beside it. ``handle`` names a cut one's full text."""

    call_id: str
    outcome: ToolOutcome = "finished"
    handle: str = ""
    size_bytes: int | None = None
    """Of the whole result, where the model got only a part of it."""
    found: tuple[str, ...] = ()
    """Names of deferred tools that this call has found, best first: they are declared from the next request on."""
    retry_of: str = ""
    """The tool's name, if it asked the model to call it again: one of its retries in this turn is used."""
    is_answer: bool = False
    """The arguments of the call are the answer: the turn ends with it."""
    given_by: str = ""
    """The hook that gave the result in the place of the tool, which did not run."""


class ToolCallReplaced(Envelope, frozen=True, kw_only=True, tag="tool_call_replaced"):
    """Hooks replaced the arguments of a call before it was approved or run. The answer keeps what the model wrote."""

    call_id: str
    part: str
    """The id of the call's part, which no other call has."""
    arguments: str
    replaced_by: tuple[str, ...] = ()


class FilesChanged(Envelope, frozen=True, kw_only=True, tag="files_changed"):
    """Tool calls changed ``count`` files and directories below ``root``; ``paths`` names the first of them.

    ``step`` is their record in the file history of the machine that ran the calls. If its process ended meanwhile, what
    changed until the next start is in it too.
    """

    step: str
    calls: tuple[str, ...] = ()
    root: str = ""
    count: int = 0
    paths: tuple[str, ...] = ()


class ChildStarted(Envelope, frozen=True, kw_only=True, tag="child_started"):
    """A tool call runs a subagent, whose session is ``child``. Its calls are spend of purpose ``child``."""

    call_id: str
    child: str
    model: str = ""


# -- people --


class Queued(Envelope, frozen=True, kw_only=True, tag="queued"):
    """A message waits. ``steer`` goes in before the next model call, ``follow_up`` when the turn rests.

    ``trace`` is the ``traceparent`` of the request that sent it (https://www.w3.org/TR/trace-context/), if it had one.
    """

    message: Message
    kind: Literal["steer", "follow_up"]
    position: int
    trace: str = ""


class QueueEdited(Envelope, frozen=True, kw_only=True, tag="queue_edited"):
    """A waiting message got other content."""

    message: Message


class QueueLeft(Envelope, frozen=True, kw_only=True, tag="queue_left"):
    """A queued message ends its wait in one of the three ways there are."""

    message_id: str
    how: Literal["delivered", "returned", "withdrawn"]


class CompactAsked(Envelope, frozen=True, kw_only=True, tag="compact_asked"):
    """Somebody wants the history compacted now; ``instructions`` are for the summary.

    With ``up_to`` exactly what stands before this message is to leave, with ``from_`` this message and everything
    behind it; both empty leaves that to the strategies. A ``preview`` commits nothing: its result is in the
    ``CompactionRolledBack`` that ends it.
    """

    instructions: str = ""
    up_to: str = ""
    from_: str = msgspec.field(default="", name="from")
    preview: bool = False


class Pinned(Envelope, frozen=True, kw_only=True, tag="pinned"):
    """No compaction may touch these messages from here on; ``pinned=False`` lets them go again."""

    messages: tuple[str, ...]
    pinned: bool = True


class CancelAsked(Envelope, frozen=True, kw_only=True, tag="cancel_asked"):
    """A person or program asks to cancel the turn."""

    tools: Literal["stop", "finish"] = "stop"


class Cancelled(Envelope, frozen=True, kw_only=True, tag="cancelled"):
    """A turn was cancelled, and what was kept of it."""

    persisted: (
        Literal["partial_assistant", "tools_in_progress", "compaction_rolled_back"] | None
    ) = None


class ApprovalAsked(Envelope, frozen=True, kw_only=True, tag="approval_asked"):
    """``digest`` names the exact call that is shown: the SHA-256 of tool name and argument bytes."""

    call_id: str
    tool: str = ""
    digest: str = ""


class ApprovalGiven(Envelope, frozen=True, kw_only=True, tag="approval_given"):
    """The answer for one call. It allows the call with this ``digest`` and no other.

    ``note`` is the reason of a no, for the model. ``by`` is ``nobody`` where no person could be asked.
    """

    call_id: str
    approved: bool
    note: str = ""
    digest: str = ""
    by: Literal["person", "nobody"] = "person"


class GrantGiven(Envelope, frozen=True, kw_only=True, tag="grant_given"):
    """A person allows calls like this one in this session without being asked again.

    ``prefix`` are the first words of a command; empty: every call of the tool. ``declaration`` is the digest of the
    tool's declaration, for tools that a server could change.
    """

    grant: str
    tool: str
    prefix: tuple[str, ...] = ()
    declaration: str = ""


class GrantRevoked(Envelope, frozen=True, kw_only=True, tag="grant_revoked"):
    """A grant counts no more: such calls ask again."""

    grant: str


# -- the accounting --


class ReadingTaken(Envelope, frozen=True, kw_only=True, tag="reading_taken"):
    """A reading that was shown or decided on, by its snapshot id.

    ``messages`` is how many are in view. ``near_limit`` goes up when the window is nearly full and down only well below
    (hysteresis), so that an alert does not flicker. ``grown`` is the difference to the reading before.
    """

    snapshot: str
    used: Amount
    window: int | None = None
    compaction_point: int | None = None
    input_limit: int | None = None
    reserve: int | None = None
    messages: int = 0
    near_limit: bool = False
    grown: int | None = None
    label: str = ""
    note: str = ""
    """Why the provider's report of the last call is not used as it is, and what is used; empty where it is."""


class Calibrated(Envelope, frozen=True, kw_only=True, tag="calibrated"):
    """What an actual taught: the residual, and the correction that later readings use.

    ``error`` is estimated - actual, in tokens. ``state`` is the learnt state itself; it is written where it can't be
    had by folding the events before, that is at a session's start, with an empty ``call``.
    """

    model: str
    call: str
    estimated: int
    actual: int
    error: int
    ratio: float
    state: msgspec.Raw = msgspec.Raw(b"null")


class OverheadLearnt(Envelope, frozen=True, kw_only=True, tag="overhead_learnt"):
    """What calls of earlier sessions held beyond their logs; the estimates of such calls of this session use it."""

    calls: tuple[FirstCall, ...]


class InputCounted(Envelope, frozen=True, kw_only=True, tag="input_counted"):
    """The provider's count of the next request's input, asked of its count endpoint.

    ``fingerprint`` names the request, ``estimate`` is what the reading was without the count.
    """

    tokens: int
    model: str = ""
    fingerprint: Fingerprint | None = None
    estimate: Amount | None = None


class SizeStated(Envelope, frozen=True, kw_only=True, tag="size_stated"):
    """Somebody says how full the window is, without a bill: ``by`` says that it holds ``tokens``.

    Less than a reported input, more than an estimate.
    """

    by: str
    """The program, as people know it, or the provider."""
    is_provider: bool = False
    """The provider counted, because it refused the request for its size."""
    tokens: int
    known: int | None = None
    """Of ``tokens``, what is of content that the log shows. The rest is of a summary that it hides."""
    beside: Amount | None = None
    """What a request holds beside ``tokens``, as it was measured of the program."""


class PiecesCounted(Envelope, frozen=True, kw_only=True, tag="pieces_counted"):
    """What parts of every request cost, as differences of counts. In the place of those counted earlier.

    ``pieces`` holds tokens by the key of the content (``meter/counting.py``): system blocks, tools, groups of tools.
    """

    pieces: dict[str, int]
    model: str = ""


class RuleFlipped(Envelope, frozen=True, kw_only=True, tag="rule_flipped"):
    """The residual shows that this conversation keeps reasoning where the rule said dropped, or the reverse."""

    model: str
    rule: str
    kept: bool
    residual: int


class ReasoningRefused(Envelope, frozen=True, kw_only=True, tag="reasoning_refused"):
    """The provider refused a call because reasoning in it was bound to another conversation.

    None of the reasoning that was in view is sent again, and the model is known to bind it.
    """

    call: str
    model: str


class Pruned(Envelope, frozen=True, kw_only=True, tag="pruned"):
    """Old tool results were cleared: ``parts`` are ids of tool result parts, ``notice`` what stands there now, with
    each part's own id in the place of ``{part}``.

    ``saved`` is how many tokens that frees, ``rewritten`` how many the provider's cache has to take anew for it.
    ``prune`` names it, so that it can be undone.
    """

    parts: tuple[str, ...]
    reason: str = ""
    notice: str = "[Old tool result content cleared]"
    prune: str = ""
    before: int | None = None
    after: int | None = None
    saved: int | None = None
    rewritten: int | None = None


class EpochChanged(Envelope, frozen=True, kw_only=True, tag="epoch_changed"):
    """From here on requests no longer extend the earlier ones. ``rewritten`` is the cost in cache tokens.

    ``reasoning_lost`` are tokens of reasoning that stays in view and is sent no more because of the change.
    """

    epoch: int
    reason: str
    rewritten: int | None = None
    reasoning_lost: int | None = None


class DroppedMessage(Extensible, frozen=True, kw_only=True):
    """A message that a compaction left out, with the reason."""

    id: str
    reason: str


CompactionTrigger = Literal["point", "limit", "overflow", "asked", "model_changed"]
"""Why a compaction began: the threshold or the input limit was reached, the provider refused, a person asked."""


class CompactionStarted(Envelope, frozen=True, kw_only=True, tag="compaction_started"):
    """``snapshot`` is the reading that decided it; ``high`` its upper end, ``limit`` what that was held against.

    ``history`` is the rolling digest of what was in view: the same history is not tried twice.
    """

    compaction: str
    trigger: str
    snapshot: str = ""
    high: int | None = None
    limit: int | None = None
    history: str = ""


class CompactionCommitted(
    Envelope, frozen=True, kw_only=True, tag="compaction_committed"
):
    """Messages left the view. ``summary`` stands in their place, before the kept ones; ``None`` when there is none.

    With ``behind``, the id of a kept message, the summary stands directly behind that one. ``added`` stand behind all
    kept ones.
    ``summarised`` and ``dropped`` name every message that left; those named in neither were kept, in their order.
    ``summary_tokens`` is the summary's length in the provider's tokens, as its call reported it.
    """

    compaction: str
    summary: Message | None = None
    summarised: tuple[str, ...] = ()
    dropped: tuple[DroppedMessage, ...] = ()
    summary_tokens: int | None = None
    before: int | None = None
    after: int | None = None
    rung: str = ""
    """The strategy: ``trim``, ``summary``, ``pieces``, ``digest``, ``drop``, ``server``, or a user's own."""
    replaced: tuple[Message, ...] = ()
    """Kept messages with new content: cleared results, a request cut to head and tail. Same ids, higher revisions."""
    behind: str = ""
    added: tuple[Message, ...] = ()
    is_automatic: bool = False
    """Another program did it because its window was full, as its log says."""
    puts_back: bool = False
    """That program then adds files, plans and reminders of which its log has no lines; ``added`` is what is known."""


class CompactionRolledBack(
    Envelope, frozen=True, kw_only=True, tag="compaction_rolled_back"
):
    """Nothing left the view. ``reason`` is a word for programs, ``note`` a sentence with the numbers.

    With a ``rung``, only that strategy failed and the next one is tried. Without, the compaction has ended.
    ``proposed`` is what a preview would have committed, found by ``strategy``; ``reason`` is ``preview`` then.
    """

    compaction: str
    reason: str
    note: str = ""
    rung: str = ""
    proposed: Pruned | CompactionCommitted | None = None
    strategy: str = ""


class Uncompacted(Envelope, frozen=True, kw_only=True, tag="uncompacted"):
    """The view from before this compaction, prune or rewind is back, followed by the messages added since.

    ``files`` is the step that took back what the rewind had done to files.
    """

    compaction: str
    files: str = ""


class Forked(Envelope, frozen=True, kw_only=True, tag="forked"):
    """This session began as a copy of another, up to and including its event ``through``.

    ``dropped`` names, for a person, what the copy does not have: unfinished work, settings with authority, grants.
    """

    origin: str
    through: int
    dropped: tuple[str, ...] = ()


class Imported(Envelope, frozen=True, kw_only=True, tag="imported"):
    """The events before this one came from an exported file; ``origin`` is the session's id there.

    ``dropped`` as in ``Forked``.
    """

    origin: str = ""
    dropped: tuple[str, ...] = ()


class RowDamaged(Envelope, frozen=True, kw_only=True, tag="row_damaged"):
    """Stands in for a stored row that can't be read; ``why`` and ``start`` describe the row for a person.

    The store gives it in the row's place and never writes it; the row is unchanged and its content unknown.
    """

    why: str = ""
    size_bytes: int = 0
    start: str = ""
    """How its bytes begin, as far as they can be shown."""


class UnknownEvent(Envelope, frozen=True, kw_only=True, tag="~"):
    """A row of a newer version, kept whole and written back unchanged."""

    raw: msgspec.Raw


Event = (
    SessionStarted
    | Renamed
    | ModelChanged
    | SystemChanged
    | ToolsChanged
    | ToolServerNoticed
    | ParamsChanged
    | PolicyChanged
    | LimitLearnt
    | SettingsChanged
    | MessageAdded
    | MessageReplaced
    | Rewound
    | TurnStarted
    | TurnPaused
    | TurnResumed
    | TurnEnded
    | FellBack
    | HandedOver
    | CallStarted
    | CallEnded
    | CallRetried
    | CallHeld
    | RequestRepaired
    | ToolStarted
    | ToolEnded
    | ToolCallReplaced
    | FilesChanged
    | ChildStarted
    | Queued
    | QueueEdited
    | QueueLeft
    | CompactAsked
    | Pinned
    | CancelAsked
    | Cancelled
    | ApprovalAsked
    | ApprovalGiven
    | GrantGiven
    | GrantRevoked
    | ReadingTaken
    | Calibrated
    | OverheadLearnt
    | InputCounted
    | SizeStated
    | PiecesCounted
    | RuleFlipped
    | ReasoningRefused
    | Pruned
    | EpochChanged
    | CompactionStarted
    | CompactionCommitted
    | CompactionRolledBack
    | Uncompacted
    | Forked
    | Imported
    | RowDamaged
    | UnknownEvent
)


# -- what streams --


class DraftPiece(NamedTuple):
    """A piece of an answer that is still streaming, stored before it is shown. No row of the ledger.

    ``kind`` tells ``text``, ``reasoning`` (thinking) and ``call`` (more of a tool call's arguments) apart; of a
    ``done`` part, ``text`` is the whole part as JSON, with what its provider attached. ``offset`` counts pieces of the
    model call from 0, ``part`` is the part's id. The whole answer follows as ``MessageAdded``.
    """

    call: str
    offset: int
    kind: Literal["text", "reasoning", "call", "done"]
    part: str
    text: str
    call_id: str = ""
    name: str = ""


SessionEvent = Event | DraftPiece
"""What ``Session.events`` gives: each event once it is stored, and between them the pieces of answers that stream."""
