"""Writes what a reader finds as numbered events, and keeps the view that they describe.

Every reader writes through ``EventWriter``, so that ids are unique, sequence numbers have no gaps, and a rewind, a
prune or a compaction names exactly the messages that are in the view at that moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ullage.codec.overflow import recognise
from ullage.envelope import COPY_STEPS, LOG_STEPS
from ullage.errors import Overflow, UnreadableInput
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    CompactionCommitted,
    CompactionStarted,
    Envelope,
    Event,
    LimitLearnt,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    Outcome,
    ParamsChanged,
    Pruned,
    Purpose,
    RequestPart,
    Rewound,
    SessionStarted,
    SizeStated,
    SystemChanged,
    ToolsChanged,
    Uncompacted,
)
from ullage.importers.regular import NEWEST_LINES
from ullage.messages import (
    Message,
    Origin,
    Part,
    ProviderItem,
    Role,
    SystemBlock,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.models.providers import canonical
from ullage.usage import Usage

MISSING_RESULT: Final = "result not in the log"
"""``ProviderItem.kind`` of what stands for a tool's result that the log leaves out."""


@dataclass(slots=True)
class _Epoch:
    """An undo record of a compaction: the view before it, and the messages of the new view that are no additions."""

    compaction: str
    before: dict[str, str]
    carried: set[str]


class EventWriter:
    """Writes the events of one session and keeps its view: the ids of the messages the next request sends."""

    def __init__(
        self,
        session: str = "",
        program: str = "",
        unlogged: tuple[RequestPart, ...] = (),
    ) -> None:
        self.session = session
        self.program = program
        self.unlogged = unlogged
        """What every request holds and the log does not, as far as is known when the first event is written."""
        self.is_subagent = False
        """Whether the whole log is a subagent's."""
        self.cwd = ""
        self.partial = False
        """Whether the log begins in the middle of its conversation."""
        self.keeps_content = True
        """Whether messages keep their parts. Without them only the calls of a log are known, in little memory."""
        self.has_results = True
        """Whether the log has a tool's result as one; in some it is text of the user."""
        self.model = self.wire = self.provider = ""
        self.messages: dict[str, Message] = {}
        """Every message of the session by its id, also those that left the view."""
        self.view: dict[str, str] = {}
        """The ids of the messages in view, in order; each with the last one up to it that is no tool result."""
        self.tool_names: dict[str, str] = {}
        self.at = 0.0
        self._results: dict[str, str] = {}
        self._epochs: list[_Epoch] = []
        self._system: tuple[SystemBlock, ...] = ()
        self._tools: tuple[Tool, ...] = ()
        self._window: dict[str, int] = {}
        self._calls: set[str] = set()
        self._copies: Counter[str] = Counter()
        self._steps_left = LOG_STEPS
        self.written = 0
        """How many events."""
        self._started = False
        self._asked: tuple[str, tuple[str, ...]] = ("", ())
        """The last answer that calls tools, and the ids of its calls."""
        self.missing_results = 0
        """Results of tools that requests must have held and the log does not."""
        self._out: list[Event] = []

    def take(self, *, final: bool = False) -> list[Event]:
        """The events written since the last time; none before the model is known, unless this is the end of the log."""
        if not (self.model or final):
            return []
        out, self._out = self._out, []
        return out

    @property
    def tip(self) -> str:
        """The id of the last message in the view; empty when there is none."""
        return next(reversed(self.view), "")

    @property
    def system(self) -> tuple[SystemBlock, ...]:
        return self._system

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    def unique(self, wanted: str) -> str:
        """An id for a new message: ``wanted``, or a variant of it when that is taken."""
        return self._unused(wanted or f"m{len(self.messages) + 1}", self.messages)

    def reserve(self, role: Role, wanted: str = "") -> str:
        """A unique id for a message that is added later."""
        name = self.unique(wanted)
        self.messages[name] = Message(id=name, role=role)
        return name

    def spend(self, steps: int) -> None:
        """Called before work that grows with what was read so far, with the number of messages it goes through.

        Raises ``UnreadableInput`` when a log asks for too much of it: its lines are few, but reading them is not.
        """
        self._steps_left -= steps
        if self._steps_left < 0:
            raise UnreadableInput(
                "This log compacts, rewinds or changes a long conversation too often to be followed: "
                f"more than {LOG_STEPS:,} messages would be gone through. {NEWEST_LINES}"
            )

    # -- what requests are made of --

    def use_model(self, model: str, wire: str, provider: str) -> None:
        """The model that the following calls ask."""
        provider = canonical(provider)
        if (model, wire, provider) == (self.model, self.wire, self.provider) or not model:
            return
        known = bool(self.model)
        self.model, self.wire, self.provider = model, wire, provider
        if known and self._started:
            self._put(ModelChanged, model=model, wire=wire, provider=provider)
            self._put_window(model)
        elif self._out and isinstance(self._out[0], SessionStarted):
            self._out[0] = msgspec.structs.replace(
                self._out[0], model=model, wire=wire, provider=provider
            )

    def use_system(self, blocks: Iterable[SystemBlock], *, is_part: bool = False) -> None:
        """The system prompt, or ``is_part`` of it: requests hold more than the log."""
        system = tuple(blocks)
        if system != self._system:
            self.spend(len(system) * COPY_STEPS)
            self._system = system
            self._put(SystemChanged, system=system, is_part=is_part)

    def use_tools(self, tools: Iterable[Tool], *, is_part: bool = False) -> None:
        """The tools that are declared, or ``is_part`` of them: requests hold more than the log."""
        declared = tuple(tools)
        if declared != self._tools:
            self.spend(len(declared))
            self._tools = declared
            self._put(ToolsChanged, tools=declared, is_part=is_part)

    def use_params(self, params: dict[str, object]) -> None:
        if params:
            self._put(ParamsChanged, params=params)

    def learn_window(self, model: str, window: int | None) -> None:
        """A context window that the log itself names."""
        if window is not None and self._window.get(model) != window:
            self._window[model] = window
            self._put_window(model)

    def _put_window(self, model: str) -> None:
        window = self._window.get(model)
        if window is not None:
            self._put(LimitLearnt, model=model, source="log", window=window)

    def say_size(
        self,
        by: str,
        tokens: int,
        *,
        known: int | None = None,
        beside: Amount | None = None,
    ) -> None:
        """The program says of itself how full the window is now; ``SizeStated`` says what the numbers mean."""
        self._put(
            SizeStated,
            by=by,
            tokens=tokens,
            known=known,
            beside=beside,
        )

    # -- messages --

    def add(self, message: Message) -> None:
        self._remember(message)
        if message.id not in self.view:
            self._show(message.id)
        self._put(MessageAdded, message=message)

    def say(
        self, name: str, role: Role, parts: Iterable[Part], origin: Origin = "said"
    ) -> None:
        """Add a message of these parts."""
        self.add(Message(id=name, role=role, parts=tuple(parts), origin=origin))

    def replace(self, message: Message) -> None:
        """New content for a message of the session, with a higher revision."""
        self._remember(message)
        self._put(MessageReplaced, message=message)

    def results_of(self, call_ids: Iterable[str]) -> list[str]:
        """The results of these tool calls, by the names of their parts."""
        return [self._results[call] for call in call_ids if call in self._results]

    def prune(self, parts: Sequence[str], notice: str = "", reason: str = "") -> None:
        """These results were cleared."""
        if parts:
            self.spend(len(self.view))
            more = {"notice": notice} if notice else {}
            self._put(Pruned, parts=tuple(parts), reason=reason, **more)

    def call(
        self,
        call: str,
        message: Message | None,
        usage: Usage | None,
        *,
        purpose: Purpose = "main",
        outcome: Outcome = "finished",
        stop: str = "",
        error: str = "",
        model: str = "",
        provider: str = "",
        started: float = 0,
        stream: bool = True,
    ) -> None:
        """One model call that ended now, with its answer if that went into the view.

        An ``error`` that refuses the request for its size is read for the size and the limit that it names.
        """
        if purpose == "main" and message is not None:
            self._stand_in_for_results()
        call = self._unique_call(call)
        now, self.at = self.at, started or self.at
        self._put(CallStarted, call=call, purpose=purpose, stream=stream)
        self.at = now
        refusal = recognise(None, error) if outcome == "failed" else None
        is_overflow = refusal is not None and refusal.is_of_tokens
        self._put(
            CallEnded,
            call=call,
            outcome=outcome,
            purpose=purpose,
            stop=stop,
            usage=usage,
            error=error,
            error_kind=Overflow.__name__ if is_overflow else "",
            counted=refusal.measures.count if is_overflow and refusal else None,
            model=model,
            provider=canonical(provider),
        )
        if refusal is not None and refusal.limits:
            self._put(LimitLearnt, model=self.model, source="error", **refusal.limits)
        if message is not None:
            self.add(msgspec.structs.replace(message, call=call))

    # -- the view as a whole --

    def compact(
        self,
        summary: Message | None,
        *,
        keep: Container[str] = (),
        trigger: str = "",
        before: int | None = None,
        after: int | None = None,
        summary_tokens: int | None = None,
        is_automatic: bool = False,
        added: tuple[Message, ...] = (),
        puts_back: bool = False,
    ) -> None:
        """All messages of the view but ``keep`` are replaced by ``summary``, and ``added`` follow.

        ``before`` is what the program counted; with ``is_automatic`` it compacted because that was too much.
        ``puts_back`` as in ``CompactionCommitted``.
        """
        self.spend(len(self.view))
        name = f"c{len(self._epochs) + 1}-{self.written + 1}"
        kept = [message for message in self.view if message in keep]
        left = tuple(message for message in self.view if message not in keep)
        new = [] if summary is None else [summary]
        for message in (*new, *added):
            self._remember(message)
        names = [message.id for message in new] + kept
        names += [message.id for message in added]
        self._epochs.append(_Epoch(name, self.view, set(names)))
        self._show_only(names)
        self._put(CompactionStarted, compaction=name, trigger=trigger)
        self._put(
            CompactionCommitted,
            compaction=name,
            summary=summary,
            summarised=left,
            summary_tokens=summary_tokens,
            before=before,
            after=after,
            is_automatic=is_automatic,
            added=added,
            puts_back=puts_back,
        )

    def rewind(self, to: str) -> bool:
        """Rewinds the conversation to the message ``to`` (empty: to the start). False if it can't be reached.

        Compactions that happened after ``to`` are undone first.
        """
        if to and to not in self.view and not self._was_compacted(to):
            return False
        while self._epochs and (to not in self.view if to else True):
            epoch = self._epochs.pop()
            added = [message for message in self.view if message not in epoch.carried]
            self._show_only([*epoch.before, *added])
            self._put(Uncompacted, compaction=epoch.compaction)
        if self.tip != to:
            while self.tip != to:
                self.view.popitem()
            self.spend(len(self.view))
            self._put(Rewound, to=to)
        return True

    def _was_compacted(self, message: str) -> bool:
        """Whether the message can come back into the view by undoing compactions."""
        self.spend(len(self._epochs))
        return any(message in epoch.before for epoch in self._epochs)

    def rewind_to_last(self, messages: Sequence[str]) -> None:
        """Rewinds to the last of these messages that is in view; a compaction may have moved some."""
        wanted = set(messages)
        last = next((message for message in reversed(self.view) if message in wanted), "")
        self.rewind(last or (messages[-1] if messages else ""))

    # -- inside --

    def _stand_in_for_results(self) -> None:
        """A request holds a result for each call: one that is not in the log is an item of unknown content.

        Exported and trimmed logs leave results out.
        """
        answer, asked = self._asked
        self._asked = ("", ())
        missing = [call for call in asked if call not in self._results]
        if not missing or answer not in self.view or not self.has_results:
            return
        self.missing_results += len(missing)
        name = self.unique(f"{answer}.missing")
        parts: list[Part] = []
        for place in range(len(missing)):
            parts.append(ProviderItem(id=f"{name}/{place}", kind=MISSING_RESULT))
        self.add(Message(id=name, role="tool", parts=tuple(parts)))

    def _remember(self, message: Message) -> None:
        if not self.keeps_content:
            message = msgspec.structs.replace(message, parts=())
        self.messages[message.id] = message
        if message.role == "assistant":
            calls = [part.call_id for part in message.of_type(ToolCallPart)]
            self._asked = (message.id, tuple(calls)) if calls else self._asked
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                self._results[part.call_id] = part.id
            elif isinstance(part, ToolCallPart):
                self.tool_names[part.call_id] = part.name

    def _unique_call(self, wanted: str) -> str:
        name = self._unused(wanted or f"call{len(self._calls) + 1}", self._calls)
        self._calls.add(name)
        return name

    def _unused(self, wanted: str, taken: Container[str]) -> str:
        """``wanted``, or its first variant that is not taken. Variants once found taken are not tried again."""
        if wanted not in taken:
            return wanted
        copy = max(2, self._copies[wanted])
        while (candidate := f"{wanted}@{copy}") in taken:
            copy += 1
        self._copies[wanted] = copy
        return candidate

    def _show(self, message: str) -> None:
        """The message is the last of the view now."""
        is_result = self.messages[message].role == "tool"
        self.view[message] = self.view[self.tip] if is_result and self.view else message

    def _show_only(self, messages: Iterable[str]) -> None:
        """The view holds these messages now."""
        self.view = {}
        for message in messages:
            self._show(message)

    def _put(self, kind: type[Envelope], **fields: Any) -> None:
        if not self._started:
            self._started = True
            self._write(
                SessionStarted,
                model=self.model,
                wire=self.wire,
                provider=self.provider,
                cwd=self.cwd,
                program=self.program,
                partial=self.partial,
                unlogged=self.unlogged,
                is_subagent=self.is_subagent,
            )
        self._write(kind, **fields)

    def _write(self, kind: type[Envelope], **fields: Any) -> None:
        self.written += 1
        event: Any = kind(
            session=self.session,
            seq=self.written,
            id=f"e{self.written}",
            at=self.at,
            **fields,
        )
        self._out.append(event)
