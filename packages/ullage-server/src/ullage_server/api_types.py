"""The JSON types of the API beside messages, readings and spend. ``/schema/openapi.json`` shows their docstrings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from ullage.advice.cause import Cause
from ullage.context.lineage import MessageStatus
from ullage.context.surgery import Surgery
from ullage.events import EndReason, PauseReason
from ullage.meter.reading import Reading
from ullage.store.store import PLACE_PATTERN, QueueKind, QueueState
from ullage.turns.loop import CallState
from ullage.turns.standing import ShownStanding
from ullage.watching.status import Status
from ullage_agent.tools.call_text import PieceKind
from ullage_server.live_types import AdviceView, LiveLine
from ullage_server.policy import LONGEST_LINK_H

SessionId = Annotated[
    str,
    Meta(
        pattern="^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$",
        description="An id for a new session.",
    ),
]
MessageId = Annotated[
    str,
    Meta(
        pattern="^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$",
        description="An id of your own for a message: sending it again changes nothing.",
    ),
]
NonNegative = Annotated[int, Meta(ge=0, le=2**53)]
MessageJson = Annotated[
    msgspec.Raw,
    Meta(
        extra_json_schema={"$ref": "#/components/schemas/Message"},
        description="A message.",
    ),
]

AgentState = Literal[
    "idle", "streaming", "executing_tools", "compacting", "waiting", "interrupted"
]
"""What the agent is doing. ``waiting``: for a person, more budget, or after a failure; ``note`` says which.

``interrupted``: the process that worked on the turn ended before the turn, and no process works on it now. A resume or
a message continues it.
"""


class StandingView(ShownStanding, frozen=True, kw_only=True, omit_defaults=False):
    """What a session does now, since when, and why. ``waits`` is for a worker, a rate limit, a quota, or the next
    attempt, until ``until``; ``needs_approval``, ``failed`` and ``paused`` end by what a person does. ``since`` and
    ``until`` are seconds since 1970, ``seq`` is the event that began it. ``kind`` is the error's class, or what stopped
    or delays the turn; ``attempts`` are those of the last model call.
    """


class SessionLine(Struct, frozen=True, kw_only=True):
    """A session in a list. Times are seconds since 1970. ``held_by`` names its driver, to the operator alone."""

    id: str
    title: str
    model: str
    created: float
    changed: float
    seq: int
    held_by: str
    origin: str
    """The session it is a fork of."""
    place: str
    """Where its files are: workers of this place drive it; empty: those without a place."""
    standing: StandingView


class ListedSession(SessionLine, frozen=True, kw_only=True):
    """``used`` tokens of the ``window``, within 1 % of it, by the session's last reading; ``null``: unknown."""

    used: int | None
    window: int | None


class NeedsPerson(Struct, frozen=True, kw_only=True):
    """How many sessions stand in each state in which nothing goes on until a person acts."""

    needs_approval: int = 0
    failed: int = 0
    paused: int = 0


class SessionList(Struct, frozen=True, kw_only=True):
    """``before`` requests the next list; ``null`` if this is the last. ``needs`` counts those of all lists."""

    sessions: tuple[ListedSession, ...]
    before: str | None
    needs: NeedsPerson


class MatchingSession(ListedSession, frozen=True, kw_only=True):
    """A session that was found. ``message`` has the words, and ``excerpt`` is the text around the first one.

    ``message`` is empty where the title has them, and both where ``q`` is the id. ``marks`` are the beginnings and ends
    of the words in ``excerpt``, in UTF-16 code units.
    """

    message: str
    excerpt: str
    marks: tuple[tuple[int, int], ...]


class SearchResult(Struct, frozen=True, kw_only=True):
    """``before`` requests what was found behind these; ``null`` if this is all."""

    sessions: tuple[MatchingSession, ...]
    before: str | None


class OpenToolCall(Struct, frozen=True, kw_only=True):
    """A tool call without a result. In the state ``asked`` it needs a person's approval."""

    call_id: str
    name: str
    arguments: str
    state: CallState
    digest: str


class SessionState(SessionLine, frozen=True, kw_only=True):
    """The state of a session. ``seq`` is its newest event: following from there misses nothing."""

    state: AgentState
    turn: str
    """The current turn; empty at rest."""
    paused: PauseReason | Literal[""]
    ended: EndReason | Literal[""]
    """How the last turn ended."""
    note: str
    """Why it waits: for a person or more budget, after a failure, or for how long for the provider."""
    open: tuple[OpenToolCall, ...]
    queued: int
    status: Status | None
    damaged: tuple[int, ...] = ()
    """Numbers of unreadable events, which are left out."""


class NewSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session to create. ``settings`` have the names of docs/settings.md.

    ``place`` is where its files are; it never changes.
    """

    id: SessionId | None = None
    model: str = ""
    place: Annotated[str, Meta(pattern=PLACE_PATTERN)] | None = None
    settings: dict[str, Any] = {}


class NewFork(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A copy up to and including the event ``through``; by default of the whole session."""

    id: SessionId | None = None
    through: NonNegative | None = None


class NewLink(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how many hours the link opens the session, at most as long as the token that makes it."""

    hours: Annotated[float, Meta(gt=0, le=LONGEST_LINK_H)] = 24


class Link(Struct, frozen=True, kw_only=True):
    """A token that reads one session until it ``expires``, in seconds since 1970. ``name`` revokes it."""

    name: str
    token: str
    expires: float


class Created(Struct, frozen=True, kw_only=True):
    """The new session."""

    id: str


class CreatedFork(Created, frozen=True, kw_only=True):
    """The copy. ``dropped`` names what was not copied: unfinished work, settings with authority, grants."""

    dropped: tuple[str, ...]


class Import(Struct, frozen=True, kw_only=True):
    """The imported session. ``skipped`` are unusable lines by number, with the reason.

    ``dropped`` names what was not imported: unfinished work, settings with authority, grants.
    """

    id: str
    events: int
    kept: int
    skipped: tuple[SkippedLine, ...]
    dropped: tuple[str, ...]


class SkippedLine(Struct, frozen=True, kw_only=True):
    """A skipped line, from 1; 0 is the whole file."""

    line: int
    reason: str


class SentFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of any type that the session's model takes, as base64; its type is told by its bytes."""

    name: str = ""
    data: bytes


class MessageContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message's content: text, images (PNG, JPEG, GIF, WebP, BMP) or PDFs as base64, and files with their names."""

    text: str = ""
    images: tuple[bytes, ...] = ()
    files: tuple[SentFile, ...] = ()


class NewMessage(MessageContent, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to the agent, whatever it is doing.

    A ``steer`` is delivered before the next model call; a ``follow_up`` after the turn.
    """

    kind: QueueKind = "steer"
    id: MessageId | None = None


class Acknowledged(Struct, frozen=True, kw_only=True):
    """The message is stored. ``position`` is its place in the queue, from 1; 0 after its delivery.

    ``new`` is false if a message with that id, or with that ``Idempotency-Key``, was sent before.
    """

    id: str
    position: int
    at: float
    state: QueueState
    new: bool


class PendingMessage(Struct, frozen=True, kw_only=True):
    """A message in the queue. ``position`` counts from 1 in the order of delivery."""

    id: str
    position: int
    at: float
    kind: QueueKind
    message: MessageJson


class Queue(Struct, frozen=True, kw_only=True):
    """The queued messages in the order of delivery."""

    queue: tuple[PendingMessage, ...]


class Withdrawn(Struct, frozen=True, kw_only=True):
    """The withdrawn message."""

    message: MessageJson


class MessagePage(Struct, frozen=True, kw_only=True):
    """Messages in view, oldest first. ``before`` requests the previous page; ``null`` on the first page."""

    messages: Annotated[
        tuple[msgspec.Raw, ...],
        Meta(extra_json_schema={"items": {"$ref": "#/components/schemas/Message"}}),
    ]
    total: int
    before: str | None


class CancelOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``finish`` lets running tools finish; by default the session's setting decides."""

    tools: Literal["stop", "finish"] | None = None


class CancelResult(Struct, frozen=True, kw_only=True):
    """The effect of a cancel. ``persisted`` is what was stored; ``returned`` are undelivered messages."""

    cancelled: bool
    persisted: (
        Literal["partial_assistant", "tools_in_progress", "compaction_rolled_back"] | None
    )
    returned: Annotated[
        tuple[msgspec.Raw, ...],
        Meta(extra_json_schema={"items": {"$ref": "#/components/schemas/Message"}}),
    ]


class Approval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision on a tool call that needs approval; ``reason`` says why it is refused, for the model.

    ``digest`` identifies the exact call that was shown: a decision on any other call is refused. ``always`` allows such
    calls, as the question offers them, in this session or in every session with its root.
    """

    approved: bool
    reason: str = ""
    digest: str = ""
    always: Literal["session", "project"] | None = None


class CallPieceView(Struct, frozen=True, kw_only=True):
    """A piece of a line. ``escape`` is an escaped character, ``note`` is from Ullage; all others are from the call."""

    text: str
    kind: PieceKind


class QuestionView(Struct, frozen=True, kw_only=True):
    """A call that needs approval. ``lines`` show all of it, made from the arguments that will run.

    ``offer`` describes what ``always`` would allow; empty if it can't be given.
    """

    call_id: str
    name: str
    digest: str
    lines: tuple[tuple[CallPieceView, ...], ...]
    offer: str


class Questions(Struct, frozen=True, kw_only=True):
    """The calls that need approval, in order."""

    approvals: tuple[QuestionView, ...]


class WaitingApproval(Struct, frozen=True, kw_only=True):
    """A call that needs approval, at ``POST /v1/sessions/{session}/approvals/{call_id}`` with its ``digest``.

    ``root`` is the session that a person talks to: another one where a subagent asks. ``arguments`` are as the model
    wrote them, and cut where their ``size`` in characters is larger; ``null`` if they were not found near the question.
    """

    session: str
    root: str
    title: str
    model: str
    place: str
    call_id: str
    tool: str
    arguments: str | None
    size: int | None
    digest: str
    at: float


class ApprovalList(Struct, frozen=True, kw_only=True):
    """``before`` requests the next list; ``null`` if this is the last."""

    approvals: tuple[WaitingApproval, ...]
    before: str | None


class GrantLine(Struct, frozen=True, kw_only=True):
    """Calls that need no further approval: every call of ``tool``, or commands that begin with ``prefix``."""

    id: str
    scope: Literal["session", "project"]
    tool: str
    prefix: tuple[str, ...]
    at: float


class GrantList(Struct, frozen=True, kw_only=True):
    """The grants of this session and of its project."""

    grants: tuple[GrantLine, ...]


class CompactOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``instructions`` are for the summary. With ``up_to`` what stands before this message leaves, and no more.

    With ``from`` this message and what stands behind it leaves. Only one of the two.
    """

    instructions: str = ""
    up_to: str = ""
    from_: str = field(default="", name="from")


class AcceptOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``summary`` is a text in the place of the preview's own; ``null`` keeps that."""

    summary: str | None = None


class DropOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``places`` are ids of messages or parts, or ``FIRST..LAST`` for a stretch of messages.

    With ``dry_run`` nothing is done. ``loses_reasoning`` allows that reasoning behind the cut gets lost.
    """

    places: tuple[str, ...]
    dry_run: bool = False
    loses_reasoning: bool = False


class DroppableList(Struct, frozen=True, kw_only=True):
    """The largest parts in view, the largest first, each with what dropping it would do."""

    droppable: tuple[Surgery, ...]


class UncompactOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The compaction or prune to undo."""

    compaction: str


class PinOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No compaction may change these messages; ``pinned`` false allows it again."""

    messages: tuple[str, ...]
    pinned: bool = True


class NewTitle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The session's title from now on: one line of at most 200 characters."""

    title: str


class RewindOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conversation continues from this message; empty: from the start. ``files`` restores what tools changed."""

    to: str
    files: bool = False


class SettingsView(Struct, frozen=True, kw_only=True):
    """``own`` are this session's settings; ``effective`` the values in effect from all sources. No secrets.

    ``narrowed`` names the session's own settings that have no or only partial effect, and why.
    """

    own: dict[str, Any]
    effective: dict[str, Any]
    narrowed: dict[str, str]
    warnings: tuple[str, ...] = ()
    """Warnings before a command runs here: that it can't be confined."""


class StepLine(Struct, frozen=True, kw_only=True):
    """One main call: estimate and reported input. ``tokens`` is the reported input, or the estimate without one.

    ``grown`` is the difference to the previous call. ``marks`` are the events in between: ``prune``, ``compaction``,
    ``model``, ``rewind``. ``first``: nothing was known but the request.
    ``refused``: the reported input that can't be true. ``cause``: why it paid again for tokens that were cached.
    """

    number: int
    call: str
    at: float
    estimated: int
    low: int
    high: int
    actual: int | None
    error: int | None
    error_percent: float | None
    tokens: int
    grown: int | None
    marks: tuple[str, ...]
    first: bool
    refused: int | None
    cause: Cause | None = None


class Steps(Struct, frozen=True, kw_only=True):
    """Every main call so far, oldest first."""

    steps: tuple[StepLine, ...]


class LargeItem(Struct, frozen=True, kw_only=True):
    """One part in view and what it costs. ``position`` is its message's place in view, from 1; ``label`` says what
    a tool call or its result was about."""

    message: str
    part: str
    row: str
    name: str
    tokens: int
    position: int
    label: str
    preview: str


class Largest(Struct, frozen=True, kw_only=True):
    """The largest parts, largest first."""

    largest: tuple[LargeItem, ...]


class PassageLine(Struct, frozen=True, kw_only=True):
    """A change to a message, or to the summary that replaced it."""

    status: MessageStatus
    compaction: str
    into: str
    why: str


class Where(Struct, frozen=True, kw_only=True):
    """Where a message is. ``holder`` is the message in view that represents it; empty for none."""

    message: str
    status: MessageStatus
    holder: str
    pinned: bool
    passages: tuple[PassageLine, ...]
    text: str
    """The same as a sentence."""


class LogFacts(Struct, frozen=True, kw_only=True):
    """The facts about a log."""

    format: str
    program: str
    title: str
    session: str
    calls: int
    lines: int | None
    """``null`` for a session in a database."""
    skipped_lines: int
    skipped: dict[str, int]
    """How many lines were skipped, by reason."""
    other_sessions: int


class LogView(Struct, frozen=True, kw_only=True):
    """What fills the window of another agent's session."""

    reading: Reading
    log: LogFacts
    steps: tuple[StepLine, ...]
    largest: tuple[LargeItem, ...]
    advice: AdviceView


class LiveView(LogView, frozen=True, kw_only=True):
    """What fills the window of a session that runs. Without ``is_whole`` the middle of a very large log is left out."""

    line: LiveLine
    is_running: bool
    is_whole: bool


class AccessView(Struct, frozen=True, kw_only=True):
    """What a token allows; ``name`` is empty if none is required. ``expires`` is in seconds since 1970.

    ``tenant`` is whose sessions it sees. With a ``session`` it reads that one alone. ``live``: it sees the sessions
    that run on the server's machine.
    """

    name: str
    tenant: str
    scopes: tuple[Literal["read", "write", "approve", "admin"], ...]
    expires: float | None = None
    session: str = ""
    live: bool = False


class Health(Struct, frozen=True, kw_only=True):
    """``ok``: the process answers."""

    status: Literal["ok"]
    version: str
    open_sessions: int


class Readiness(Struct, frozen=True, kw_only=True):
    """``lacks`` names what is wrong: ``draining``, ``store``, ``dispatch``."""

    ready: bool
    lacks: tuple[str, ...] = ()


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request failed (RFC 9457), and in ``next``, what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    next: str = ""
    errors: tuple[FieldProblem, ...] = ()


class FieldProblem(Struct, frozen=True, kw_only=True):
    """A problem with one field of a request."""

    field: str
    message: str


class CountLeft(Struct, frozen=True, kw_only=True):
    """A limit of the day, what was used of it at all servers, and what is left."""

    limit: int
    used: int
    left: int


class MoneyLeft(Struct, frozen=True, kw_only=True):
    """The same in US dollars, by list prices."""

    limit: float
    used: float
    left: float


class QuotaView(Struct, frozen=True, kw_only=True):
    """The quota of one UTC day; ``null`` where there is no limit.

    ``day`` is its date, ``ends`` when the next one begins, in seconds since 1970. A tenant without a quota has neither.
    """

    tenant: str
    day: str
    ends: float | None
    sessions: CountLeft | None
    tokens: CountLeft | None
    usd: MoneyLeft | None
