"""What a person is shown of a session: its events as entries, in the order in which they happened. Pure.

``run``, ``watch``, the chat and its Markdown export draw the same entries, each in its own way. ``notice`` gives the
sentence for a single event; ``Screenplay`` folds all events of a session into its conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from msgspec import structs

from ullage.codec.foreign import parse_json
from ullage.context.surgery import BY_PERSON, STRATEGY
from ullage.display.text import (
    Line,
    Span,
    counted,
    kind_in_words,
    number,
    plain,
    printable,
    shortened,
)
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallRetried,
    CallStarted,
    Cancelled,
    ChildStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    DraftPiece,
    EpochChanged,
    Event,
    FellBack,
    FilesChanged,
    Forked,
    GrantGiven,
    GrantRevoked,
    HandedOver,
    Imported,
    LimitLearnt,
    MessageAdded,
    ModelChanged,
    Pinned,
    Pruned,
    Queued,
    QueueLeft,
    ReadingTaken,
    ReasoningRefused,
    Renamed,
    Rewound,
    RowDamaged,
    RuleFlipped,
    SettingsChanged,
    SizeStated,
    ToolCallReplaced,
    ToolEnded,
    ToolOutcome,
    ToolServerNoticed,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
    Uncompacted,
)
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.limit_texts import WINDOW_SOURCES, threshold_sentence
from ullage.meter.reading import Reading
from ullage.turns.grants import granted_words

LONGEST_ARGUMENT: Final = 40
"""Characters of one argument in a described call."""

LONGEST_VALUE: Final = 60
"""Characters of a setting or a message in a notice."""

NAMED: Final = 5
"""Tools and notes of an MCP server that a notice names; the others are counted."""

OUTCOMES: Final[Mapping[ToolOutcome, str]] = {
    "finished": "",
    "failed": "failed",
    "not_started": "not run",
    "unknown": "outcome unknown",
    "timed_out": "timed out",
    "cancelled": "stopped",
    "denied": "not allowed",
}
"""How a tool call ended, in words; nothing for one that succeeded."""

_TRIGGERS: Final = {
    "point": "the compaction threshold is reached",
    "limit": "the next request would not fit",
    "overflow": "the provider refused the request as too large",
    "asked": "requested",
    "model_changed": "the new model's window is smaller",
}
_STRATEGIES: Final = {
    "summary": "a summary",
    "pieces": "a summary made in pieces",
    "digest": "a digest made without a model",
    "drop": "nothing: the oldest were left out",
    "trim": "shorter ones",
    "server": "a compaction by the provider",
}
_ENDS: Final = {
    "max_steps": "the limit of steps is reached",
    "loop": "the model repeated the same calls",
    "length": "the answer reached the largest output",
    "refused": "the model refused",
    "dropped": "the answer broke off",
    "failed": "a call failed",
    "too_large": "the request can't be made to fit",
    "other": "the provider ended it",
}
_AFTER_A_PAUSE: Final = {
    "failed": "/retry tries again, /model takes another model",
    "budget": "/retry resumes with a new budget",
    "approval": "answer with y or n",
}
_CANCELLED: Final = {
    None: "cancelled",
    "partial_assistant": "cancelled: the partial answer is kept",
    "tools_in_progress": "cancelled: tools were running",
    "compaction_rolled_back": "cancelled: the compaction is undone",
}
_UNDO: Final = "/uncompact undoes it"


# -- entries --


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """A message of a person, or a summary that replaces earlier messages (``origin``)."""

    text: str
    message: str
    origin: str = "said"
    attached: int = 0
    """Images and files beside the text."""
    was_queued: bool = False
    """Sent while the agent worked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEntry:
    """Text of the model, in Markdown. ``is_open``: it still streams."""

    text: str
    part: str
    is_open: bool = False
    interrupted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningEntry:
    """Reasoning as the provider shows it. ``hidden`` counts the characters that only the provider can read."""

    text: str
    part: str
    is_open: bool = False
    hidden: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEntry:
    """A tool call and, once there is one, its result. ``outcome`` is ``None`` until it has ended."""

    name: str
    arguments: str
    call_id: str
    is_open: bool = False
    """The model is still writing it."""
    is_running: bool = False
    is_granted: bool = False
    """It ran without a question, because a grant allows it."""
    asks: bool = False
    """It needs a person's approval."""
    outcome: ToolOutcome | None = None
    result: str | None = None
    is_error: bool = False
    size_bytes: int | None = None
    """Of the whole result, where the model got only a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A line about an event. ``hint`` is the slash command with which a chat can react."""

    line: Line
    hint: str = ""

    @property
    def hinted_line(self) -> Line:
        """The line, and behind it the hint."""
        return (*self.line, Span(f" · {self.hint}", "dim")) if self.hint else self.line


ChatEntry = MessageEntry | AnswerEntry | ReasoningEntry | ToolCallEntry | Notice


# -- single events --


def notice(event: Event) -> Notice | None:
    """What a person is told of one event; ``None`` for events that are shown elsewhere or concern no person."""
    match event:
        case SettingsChanged(source="session"):
            changes = ", ".join(
                f"{printable(key)} = {_value(value)}"
                for key, value in event.settings.items()
            )
            return _notice("dim", f"set: {changes}")
        case GrantGiven():
            allowed = granted_words(event.tool, event.prefix)
            return _notice(
                "dim", f"allowed in this session: {allowed}", "/permissions lists them"
            )
        case GrantRevoked():
            return _notice("dim", "a permission of this session was revoked")
        case Pinned():
            label = "pinned" if event.pinned else "no longer pinned"
            return _notice("dim", f"{label}: {counted(len(event.messages), 'message')}")
        case Renamed():
            return _notice("dim", f"renamed: {printable(event.title)}")
        case Forked():
            origin = f"copied from {printable(event.origin)}, up to its event {event.through:,}"
            return _notice("dim", origin + _without(event.dropped))
        case RowDamaged():
            why = printable(event.why)
            return _notice(
                "warn",
                f"event {event.seq:,} of this session can't be read and is left out: {why}",
            )
        case Imported():
            return _notice(
                "dim",
                f"imported from {printable(event.origin) or 'a file'}"
                + _without(event.dropped),
            )
        case FilesChanged():
            more = "" if event.count == len(event.paths) else " …"
            names = printable(", ".join(event.paths))
            return _notice(
                "dim", f"changed {counted(event.count, 'file')}: {names}{more}"
            )
        case ChildStarted():
            return _notice(
                "dim", f"agent {printable(event.child)} on {printable(event.model)}"
            )
        case ToolServerNoticed():
            return _notice("warn", printable(server_sentence(event)))
        case ReasoningRefused():
            return _notice("warn", UNBOUND)
        case RuleFlipped():
            return _notice("dim", f"learnt: {_learnt_rule(event)}")
        case _:
            return _turn_notice(event) or window_notice(event)


UNBOUND: Final = "the provider did not take earlier reasoning, bound to another conversation; it is left out now"


def _learnt_rule(event: RuleFlipped) -> str:
    if event.kept:
        return "this model counts earlier reasoning; the estimates now include it"
    return "this model does not count earlier reasoning; the estimates now leave it out"


def window_notice(event: Event) -> Notice | None:
    """The notice of an event that changes what a window holds or how large it is; ``None`` for other events."""
    match event:
        case Pruned() if event.reason == BY_PERSON:
            dropped = f"dropped: {counted(len(event.parts), 'tool result')}"
            return _notice("mark", dropped + _sizes(event.before, event.after), _UNDO)
        case Pruned():
            pruned = f"pruned: {counted(len(event.parts), 'old tool result')} cleared"
            rewritten = (
                f", {number(event.rewritten)} written to the cache again"
                if event.rewritten
                else ""
            )
            return _notice(
                "mark", pruned + _sizes(event.before, event.after) + rewritten, _UNDO
            )
        case CompactionStarted():
            return _notice("mark", _compaction_started(event))
        case CompactionCommitted():
            return _notice("mark", _compacted(event), _UNDO)
        case CompactionRolledBack() if event.proposed is not None:
            shown = f"previewed: {printable(event.compaction)}, nothing is changed"
            return _notice("dim", shown, f"/accept {printable(event.compaction)}")
        case CompactionRolledBack() if not event.rung:
            why = printable(event.note or event.reason)
            return _notice("warn", f"compaction failed: {why}")
        case EpochChanged() if event.reasoning_lost:
            return _notice("dim", _lost(event))
        case Uncompacted():
            return _notice("mark", "undone: the view is as it was before")
        case Rewound():
            return _notice(
                "mark", "rewound: later messages left the view and stay in the ledger"
            )
        case ModelChanged():
            return _notice("dim", f"model: {printable(event.model)}")
        case FellBack():
            return _notice("warn", printable(fallback_sentence(event)))
        case HandedOver():
            agent = printable(event.agent) or "the agent that began the session"
            return _notice("mark", f"handed over to {agent}")
        case LimitLearnt() if event.window and event.source != "user":
            return _notice(
                "dim",
                f"window: {number(event.window)} tokens, {WINDOW_SOURCES[event.source]}",
            )
        case SizeStated():
            return _notice(
                "dim", f"{printable(event.by)} says: {number(event.tokens)} tokens"
            )
        case _:
            return None


def fallback_sentence(event: FellBack) -> str:
    """Which model answers, after which one, and why: ``b answers after a: rate limited``."""
    failed, _, error = event.error.partition(": ")
    words = kind_in_words(event.error_kind)
    return f"{event.model} answers after {failed}: {words or error}"


def report_notice(event: ReadingTaken) -> Notice | None:
    """What is done with a report that can't be true; of several calls in a row the first is told."""
    return _notice("warn", event.note) if event.note else None


def near_limit_notice(threshold: int) -> Notice:
    """The alert before the window is full."""
    return _notice(
        "warn", f"near the limit: the compaction threshold is {number(threshold)} tokens"
    )


def near_threshold_notice(reading: Reading) -> Notice:
    """The same in the session of another program, with the threshold's owner."""
    sentence = threshold_sentence(reading.threshold)
    if reading.compaction_point is None:
        sentence = f"an input may have {number(reading.input_limit or 0)} tokens"
    return _notice("warn", f"near the limit: {sentence}")


def _notice(style: str, text: str, hint: str = "") -> Notice:
    return Notice(line=(Span(text, style),), hint=hint)


def _compaction_started(event: CompactionStarted) -> str:
    why = _TRIGGERS.get(event.trigger, printable(event.trigger))
    sentence = f"compacting: {why}" if why else "compacting"
    if event.high is None or event.limit is None:
        return sentence
    return f"{sentence}, {number(event.high)} of {number(event.limit)}"


def _compacted(event: CompactionCommitted) -> str:
    gone = len(event.summarised) + len(event.dropped)
    if event.rung == STRATEGY:
        parts = len(event.replaced)
        what = (
            counted(gone, "message") if gone else f"parts of {counted(parts, 'message')}"
        )
        return f"dropped: {what}{_sizes(event.before, event.after)}"
    before = counted(gone, "message") if gone else "the kept messages"
    fallback = "a summary" if event.summary else printable(event.rung) or "less"
    after = _STRATEGIES.get(event.rung, fallback)
    return f"compacted: {before} became {after}{_sizes(event.before, event.after)}"


def _lost(event: EpochChanged) -> str:
    lost = f"{number(event.reasoning_lost or 0)} tokens of earlier thinking"
    return f"{lost} are no longer sent ({printable(event.reason)})"


def _sizes(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return ""
    return f", {number(before)} → {number(after)} tokens"


def _without(dropped: Sequence[str]) -> str:
    return f", without {printable(', '.join(dropped))}" if dropped else ""


def _value(value: object) -> str:
    if value is None:
        return "default"
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return shortened(printable(text), LONGEST_VALUE) or "none"


def _turn_notice(event: Event) -> Notice | None:
    match event:
        case CallRetried(attempt=0):
            return _notice(
                "warn", f"{printable(event.error)} Waiting {event.wait_s:.0f} s"
            )
        case CallRetried():
            return _notice(
                "warn",
                f"{retry_sentence(event.error, event.wait_s)} (attempt {event.attempt + 1})",
            )
        case CallEnded(outcome="failed" | "dropped") if event.error:
            purpose = "" if event.purpose == "main" else f"{event.purpose} call: "
            return _notice("bad", purpose + printable(event.error))
        case Cancelled():
            return _notice("warn", _CANCELLED[event.persisted])
        case TurnPaused() if event.reason != "approval":
            note = f": {printable(event.note)}" if event.note else ""
            return _notice(
                "warn", f"paused ({event.reason}){note}", _AFTER_A_PAUSE[event.reason]
            )
        case TurnResumed():
            return _notice("dim", "resumed")
        case TurnEnded() if event.reason not in ("finished", "cancelled"):
            note = f": {printable(event.note)}" if event.note else ""
            return _notice(
                "warn", f"ended, {_ENDS.get(event.reason, event.reason)}{note}"
            )
        case _:
            return None


def retry_sentence(error: str, wait_s: float) -> str:
    """Why a call is repeated, and when."""
    why = (
        printable(error)
        .removesuffix(" Wait, then try again.")
        .removesuffix(" Try again.")
    )
    return f"{why} Trying again in {wait_s:.1f} s"


def server_sentence(event: ToolServerNoticed) -> str:
    """What changed about an MCP server, without a line break of its own."""
    if event.problem:
        problem = event.problem.rstrip(".")
        return f"MCP server {event.server} can't be used, so its tools are missing: {problem}. It is tried again."
    changes: list[str] = []
    for label, names in (
        ("new", event.added),
        ("gone", event.removed),
        ("changed", event.changed),
    ):
        if names:
            changes.append(f"{label} {_first_names(names)}")
    parts = [f"its tools changed ({'; '.join(changes)})"] if changes else []
    if event.notes:
        parts.append(_first_names(event.notes))
    return f"MCP server {event.server}: {'; '.join(parts) or 'it can be used now'}"


def _first_names(names: Sequence[str]) -> str:
    more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


# -- calls and messages in words --


def described(name: str, arguments: str) -> str:
    """A call as a person would write it: ``read(path=notes.md)``."""
    values = arguments_of(arguments)
    if values is None:
        return f"{printable(name)}(…)"
    shown: list[str] = []
    for key, value in values.items():
        written = (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )
        shown.append(
            f"{printable(str(key))}={shortened(printable(written), LONGEST_ARGUMENT)}"
        )
    return f"{printable(name)}({shortened(', '.join(shown), 2 * LONGEST_ARGUMENT)})"


def arguments_of(text: str) -> Mapping[str, object] | None:
    """The arguments of a call; ``None`` for text that is no JSON object."""
    try:
        arguments = parse_json(text or "{}")
    except ValueError:
        return None
    return arguments if isinstance(arguments, Mapping) else None


# -- the fold --


class Screenplay:
    """A session's conversation. Text that streams grows its entry; the message that ends it replaces the entry."""

    def __init__(self) -> None:
        self._entries: list[ChatEntry] = []
        self._pieces: dict[int, list[str]] = {}
        """What streamed since the entries were looked at, by the place of the entry."""
        self.undoable: list[str] = []
        """Compactions and prunes that can be undone, oldest first."""
        self.prompts: list[str] = []
        """Messages of people, oldest first."""
        self.queued: dict[str, str] = {}
        """The text of messages that were sent while the agent worked and are not delivered, by id."""
        self.is_in_turn = False
        self._fallback = ""
        """The model that a turn fell back to, until its change is seen."""
        self._place: dict[str, int] = {}
        self._written: list[str] = []
        """The parts of the answer that streams."""
        self._was_cancelled = False
        self._asked: set[str] = set()
        """Calls of this turn that still need a person's approval."""
        self._failed_with = ""
        self._is_report_noted = False

    @property
    def entries(self) -> list[ChatEntry]:
        """The entries as they are now. Joining what streamed is left to this look, so that a piece is cheap."""
        for place, pieces in self._pieces.items():
            entry, text = self._entries[place], "".join(pieces)
            match entry:
                case AnswerEntry() | ReasoningEntry():
                    self._entries[place] = replace(entry, text=entry.text + text)
                case ToolCallEntry():
                    self._entries[place] = replace(
                        entry, arguments=entry.arguments + text
                    )
        self._pieces.clear()
        return self._entries

    def call(self, call_id: str) -> ToolCallEntry | None:
        """The entry of a tool call."""
        place = self._place.get(call_id)
        entry = None if place is None else self.entries[place]
        return entry if isinstance(entry, ToolCallEntry) else None

    def apply_all(self, events: Iterable[Event | DraftPiece]) -> None:
        """Take in many events."""
        for event in events:
            self.apply(event)

    def apply(self, event: Event | DraftPiece) -> EntryChange:
        """Take in one event or piece of an answer."""
        if isinstance(event, DraftPiece):
            return EntryChange(self._piece(event))
        before = len(self._entries)
        first = self._fold(event)
        told = self._notice(event)
        if told is not None:
            self._entries.append(told)
        return EntryChange(min(before, first), told)

    def _fold(self, event: Event) -> int:
        """Bring the entries up to the event; gives the place of the first that changed."""
        match event:
            case MessageAdded():
                return self._message(event.message)
            case ToolStarted():
                return self._change(
                    event.call_id,
                    is_running=True,
                    asks=False,
                    is_granted=bool(event.grant),
                )
            case ToolEnded():
                ended = {"outcome": event.outcome, "size_bytes": event.size_bytes}
                return self._change(event.call_id, is_running=False, asks=False, **ended)
            case ToolCallReplaced():
                return self._change(event.call_id, arguments=event.arguments)
            case ApprovalAsked():
                self._asked.add(event.call_id)
                return self._change(event.call_id, asks=True)
            case ApprovalGiven():
                self._asked.discard(event.call_id)
                return self._change(event.call_id, asks=False)
            case CallStarted(purpose="main"):
                self._written = []
            case CallEnded(purpose="main", outcome="failed"):
                self._failed_with = event.error
                return self._drop_unfinished()
            case TurnStarted():
                self.is_in_turn = True
            case Queued() if self.is_in_turn:
                self.queued[event.message.id] = event.message.text
            case CompactionCommitted() if event.compaction:
                self.undoable.append(event.compaction)
            case Pruned() if event.prune:
                self.undoable.append(event.prune)
            case Rewound() if event.rewind:
                self.undoable.append(event.rewind)
            case Uncompacted() if event.compaction in self.undoable:
                del self.undoable[self.undoable.index(event.compaction) :]
        return len(self._entries)

    def _notice(self, event: Event) -> Notice | None:
        """The notice of an event where the conversation so far changes its wording, or makes it superfluous."""
        match event:
            case SettingsChanged() if not self._entries:
                return None
            case FellBack():
                self._fallback = event.model
            case ModelChanged():
                fallback, self._fallback = self._fallback, ""
                if fallback.endswith(event.model):
                    return None
            case ReadingTaken():
                was_noted, self._is_report_noted = self._is_report_noted, bool(event.note)
                return None if was_noted else report_notice(event)
            case QueueLeft(how="returned" | "withdrawn"):
                label = "returned, not sent" if event.how == "returned" else "withdrawn"
                text = self.queued.pop(event.message_id, "a queued message")
                return _notice(
                    "warn", f"{label}: {shortened(printable(text), LONGEST_VALUE)}"
                )
            case Cancelled(persisted=None) if self._asked:
                self._was_cancelled = True
                return _notice(
                    "warn", "cancelled: the call that needed your approval was not run"
                )
            case Cancelled():
                self._was_cancelled = True
            case TurnEnded():
                was_told, self._was_cancelled, self.is_in_turn = (
                    self._was_cancelled,
                    False,
                    False,
                )
                self._asked.clear()
                if event.reason == "cancelled" and not was_told:
                    return _notice("warn", "cancelled")
            case TurnPaused(reason="failed") if (
                event.note and event.note == self._failed_with
            ):
                return notice(structs.replace(event, note=""))
            case Rewound() if self.is_in_turn:
                return _notice("warn", "the answer broke off and is requested again")
        return notice(event)

    # -- text that streams --

    def _piece(self, piece: DraftPiece) -> int:
        place = self._place.get(piece.part)
        if place is None:
            if piece.kind == "done":
                return len(self._entries)
            place = self._begin(piece)
            self._written.append(piece.part)
        if piece.kind == "done":
            self._close(place)
        else:
            self._pieces.setdefault(place, []).append(piece.text)
        return place

    def _close(self, place: int) -> None:
        entry = self.entries[place]
        if isinstance(entry, AnswerEntry | ReasoningEntry | ToolCallEntry):
            self._entries[place] = replace(entry, is_open=False)

    def _begin(self, piece: DraftPiece) -> int:
        place = self._place[piece.part] = len(self._entries)
        match piece.kind:
            case "text":
                self._entries.append(AnswerEntry(text="", part=piece.part, is_open=True))
            case "reasoning":
                self._entries.append(
                    ReasoningEntry(text="", part=piece.part, is_open=True)
                )
            case "call" | "done":
                self._place[piece.call_id] = place
                self._entries.append(
                    ToolCallEntry(
                        name=piece.name, arguments="", call_id=piece.call_id, is_open=True
                    )
                )
        return place

    def _drop_unfinished(self) -> int:
        """Take out what a failed attempt had begun to write."""
        places = sorted(
            {self._place[part] for part in self._written if part in self._place}
        )
        self._written = []
        if not places:
            return len(self._entries)
        gone = set(places)
        self._entries = [
            entry for place, entry in enumerate(self.entries) if place not in gone
        ]
        moved = {
            place: place - sum(one < place for one in places)
            for place in self._place.values()
        }
        self._place = {
            name: moved[place] for name, place in self._place.items() if place not in gone
        }
        return places[0]

    # -- messages --

    def _message(self, message: Message) -> int:
        first = len(self._entries)
        match message.role:
            case "assistant":
                for part in message.parts:
                    first = min(first, self._part(part, message))
                self._written = []
            case "tool":
                for result in message.of_type(ToolResultPart):
                    first = min(first, self._result(result))
            case _:
                self._add_message(message)
        return first

    def _add_message(self, message: Message) -> None:
        text = message.text
        attached = sum(isinstance(part, ImagePart | FilePart) for part in message.parts)
        was_queued = self.queued.pop(message.id, None) is not None
        self._entries.append(
            MessageEntry(
                text=text,
                message=message.id,
                origin=message.origin,
                attached=attached,
                was_queued=was_queued,
            )
        )
        if message.origin == "said" and text:
            self.prompts.append(text)

    def _part(self, part: object, message: Message) -> int:
        match part:
            case TextPart() if part.text:
                why = message.interrupted or ""
                interrupted = "" if why == "cancelled" else why  # ``Cancelled`` tells it
                answer = AnswerEntry(
                    text=part.text, part=part.id, interrupted=interrupted
                )
                return self._put(part.id, answer)
            case ReasoningPart() if part.text or part.opaque_size:
                return self._put(
                    part.id,
                    ReasoningEntry(text=part.text, part=part.id, hidden=part.opaque_size),
                )
            case ToolCallPart():
                place = self._put(
                    part.id,
                    ToolCallEntry(
                        name=part.name, arguments=part.arguments, call_id=part.call_id
                    ),
                )
                self._place[part.call_id] = place
                return place
            case _:
                return len(self._entries)

    def _put(self, name: str, entry: ChatEntry) -> int:
        """Put the entry in the place of the one that streamed, or at the end."""
        place = self._place.setdefault(name, len(self._entries))
        if place == len(self._entries):
            self._entries.append(entry)
        else:
            self.entries[place] = entry
        return place

    def _result(self, result: ToolResultPart) -> int:
        changes = {
            "result": result.text,
            "is_error": result.is_error,
            "is_running": False,
            "asks": False,
        }
        if result.call_id not in self._place:
            self._place[result.call_id] = len(self._entries)
            self._entries.append(
                ToolCallEntry(name=result.name, arguments="", call_id=result.call_id)
            )
        return self._change(result.call_id, **changes)

    def _change(self, call_id: str, **changes: object) -> int:
        place = self._place.get(call_id)
        if place is None:
            return len(self._entries)
        entry = self._entries[place]
        if isinstance(entry, ToolCallEntry):
            self._entries[place] = replace(entry, **changes)  # type: ignore[arg-type]
        return place


class EntryChange(NamedTuple):
    """What one event changed: the entries from a place on, and the notice that was added, if any."""

    first: int
    notice: Notice | None = None


def as_markdown(title: str, entries: Iterable[ChatEntry]) -> str:
    """The conversation as one Markdown text: a heading for each speaker, fences around what tools take and give."""
    sections = [f"# {printable(title)}"]
    sections += [_section(entry) for entry in entries]
    return "\n\n".join(sections) + "\n"


def _section(entry: ChatEntry) -> str:
    match entry:
        case MessageEntry():
            return (
                f"## {'Summary' if entry.origin == 'summary' else 'You'}\n\n{entry.text}"
            )
        case AnswerEntry():
            interrupted = (
                f"\n\n*interrupted: {entry.interrupted}*" if entry.interrupted else ""
            )
            return f"## Model\n\n{entry.text}{interrupted}"
        case ReasoningEntry():
            return "### Reasoning\n\n" + _fenced(
                entry.text or f"({entry.hidden} characters not shown by the provider)"
            )
        case ToolCallEntry():
            call = f"### Call of {entry.name}\n\n{_fenced(entry.arguments)}"
            return call if entry.result is None else f"{call}\n\n{_fenced(entry.result)}"
        case Notice():
            return f"*{plain(entry.line)}*"


def _fenced(text: str) -> str:
    """The text in a fence that is longer than any inside it."""
    longest = 0
    for line in text.split("\n"):
        run = line.lstrip()
        if run.startswith("```"):
            longest = max(longest, len(run))
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
