"""The Meter: beside any loop, tells what the next request holds.

    meter = ullage.Meter("claude-haiku-4-5", window=200_000)
    reading = meter.before(body)                  # what is about to be sent: a Request, or the provider's own JSON
    answer = client.messages.create(**body)
    meter.after(reading.call, answer.usage, answer.content)
    meter.should_compact()                        # the same number that is displayed

No network, no files, no clock: all it does beside counting is to write two lines to the log at each reported input.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import msgspec

from ullage.codec.applied_edits import read_applied_edits
from ullage.codec.bodies import BodyReader
from ullage.codec.dialects import dialect_for, read_reported
from ullage.codec.held import answer_id, continued_as, keeps_head
from ullage.codec.wires import WIRES
from ullage.errors import InputError
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    Fingerprint,
    FirstCall,
    InputCounted,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    Outcome,
    ParamsChanged,
    Purpose,
    Rewound,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import Message, Request
from ullage.meter import fingerprint, rows
from ullage.meter.clearing import notes_of_clearing
from ullage.meter.fold import Fold
from ullage.meter.foreign_compaction import foreign_compaction
from ullage.meter.held_answers import UNMEASURED, HeldAnswers, room_note
from ullage.meter.input_checks import (
    UNCHANGED,
    check_answer,
    check_body,
    check_context_management,
    check_count,
    check_event,
    check_flag,
    check_message,
    check_messages,
    check_outcome,
    check_purpose,
    check_settings,
    check_text,
)
from ullage.meter.plausible import notes_of
from ullage.meter.reading import Reading, Used
from ullage.meter.rows import PartEstimate
from ullage.meter.same_content import is_edited_in_place, same_content
from ullage.meter.track import Step
from ullage.meter.window import DEFAULT_TRIGGER, Limit, Limits
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import NO_ENDPOINTS, read_name
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage
from ullage_programs.facts import NO_SETTINGS, ClientSettings

log = logging.getLogger("ullage.meter")

UNKNOWN_WINDOW = "The window of"
"""How the note on an unknown window begins, for a display with text of its own."""

CUT_ROWS = (
    "The rows are cut to fit: what they hold must cost {0:,} tokens more than the total."
)


class Meter:
    """What is in the window of one session, from its events or from the requests and usages of an agent's loop.

    ``model`` may name its provider (``anthropic:claude-haiku-4-5``), or one of ``endpoints``, the user's table of
    endpoints (docs/settings.md). ``window`` overrides every other source; ``default_window`` is used where the window
    is unknown. ``reserve`` is kept for the answer. ``trigger`` is the compaction threshold, a share of the window up to
    1 (0.8 if it is not set) or tokens above; ``auto=False`` means never. ``calibration`` is what was learnt earlier;
    ``meter.calibration`` is what has been learnt by now. ``overhead`` are first calls of earlier sessions,
    ``meter.first_call`` is this one's. ``client_settings`` are those of the program whose log is read, which may set
    its window and threshold.

    ``estimator`` is ``auto`` (a real tokenizer where ``ullage[bpe]`` is installed), ``bpe``, ``pretoken``, ``quarter``,
    ``gemini-cli``, or a function from text to tokens; the numbers of the last three are used as they are. ``on_event``
    is called with every event that ``before`` and ``after`` make, after it was applied: together they are the session's
    ledger.

    Not for sharing between threads. Raises ``SettingError`` for impossible settings.
    """

    def __init__(
        self,
        model: str = "",
        *,
        wire: str = "",
        provider: str = "",
        window: int | None = None,
        reserve: int | None = None,
        trigger: float | int | None = None,
        auto: bool = True,
        default_window: int | None = None,
        calibration: Calibration | None = None,
        overhead: Sequence[FirstCall] = (),
        estimator: str | Callable[[str], float] = "auto",
        policy: ReasoningPolicy | None = None,
        session: str = "",
        endpoints: Mapping[str, object] = NO_ENDPOINTS,
        client_settings: ClientSettings = NO_SETTINGS,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        check_settings(
            {
                "model": model,
                "wire": wire,
                "provider": provider,
                "session": session,
                "window": window,
                "default_window": default_window,
                "reserve": reserve,
                "trigger": trigger,
                "auto": auto,
                "estimator": estimator,
                "calibration": calibration,
                "policy": policy,
                "client_settings": client_settings,
                "overhead": overhead,
                "on_event": on_event,
            }
        )
        own = read_endpoints(endpoints, WIRES)
        limits = Limits(
            window=None if window is None else Limit(tokens=window, source="user"),
            reserve=reserve,
            trigger=DEFAULT_TRIGGER if trigger is None else trigger,
            has_trigger=trigger is not None,
            auto=auto,
            default_window=default_window,
        )
        self._fold = Fold(
            limits=limits,
            calibration=calibration or Calibration(),
            earlier_calls=tuple(overhead),
            client_settings=client_settings,
            estimator=estimator,
            policy=policy or ReasoningPolicy(),
        )
        self._on_event = on_event
        self._reading: Reading | None = None
        self._read_at = 0
        self._calls = 0
        self._session = session
        self._wire = wire
        self._bodies = BodyReader()
        self._matched: list[tuple[Message, Message]] = []
        self._held = HeldAnswers()
        self._sent: Request | None = None
        """The last request of the conversation, without its messages."""
        self._lacks_front = False  # whether it continues what the ledger does not have
        self._unmeasured = ""  # the call that does so
        self._open_calls: dict[str, Purpose] = {}
        if model:
            served_by, model = read_name(model, own, provider=provider)
            self._emit(
                SessionStarted(
                    model=model, wire=wire or served_by.wire, provider=served_by.name
                )
            )

    @classmethod
    def _of(
        cls,
        fold: Fold,
        *,
        wire: str = "",
        on_event: Callable[[Event], None] | None = None,
    ) -> Meter:
        """The meter of a session that was folded already, such as one out of a checkpoint; ``fold`` is its own."""
        meter = cls(
            estimator=fold.estimator, session=fold.session, wire=wire, on_event=on_event
        )
        meter._fold = fold
        last = fold.view.last
        meter._held = HeldAnswers("" if last is None else last.id)
        meter._calls = (
            fold.seq
        )  # no fewer than there were calls, so that no name is given twice
        return meter

    # -- beside a loop --

    def before(
        self,
        request: Request | Mapping[str, Any],
        *,
        call: str = "",
        purpose: Purpose = "main",
        mark: str = "",
        replaced: bool = False,
    ) -> Reading:
        """The reading of a request that is about to be sent; ``reading.call`` names it for ``after``.

        ``request`` is a ``Request`` or the JSON body of one of the four wires. Only what changed since the last one is
        counted. ``replaced`` says that the loop has put a summary in the place of earlier messages since then: the
        ledger has a compaction. ``mark`` is stored with the call (``ullage.meter.lanes``). Raises ``InvalidRequest``
        for a body that none of the wires could have been sent, ``WrongType`` for an argument of another type; then
        nothing has changed.
        """
        check_text("call", call)
        check_text("mark", mark)
        check_flag("replaced", replaced)
        check_purpose(purpose)
        request = self._as_request(request)
        if purpose == "main":
            is_answered = self._is_answer_in_view
            if replaced and self._note_compaction(request):
                is_answered = True
            self._follow(request, is_answered=is_answered)
        return self._start_call(request, call=call, purpose=purpose, mark=mark)

    def _start_call(
        self,
        request: Request,
        *,
        call: str = "",
        purpose: Purpose = "main",
        mark: str = "",
    ) -> Reading:
        """The reading of what is in view, which is sent now in a call that it names."""
        self._calls += 1
        name = call or f"call-{self._calls}"
        if purpose == "main":
            self._sent = msgspec.structs.replace(request, messages=())
            self._unmeasured = name if self._lacks_front and request.chained else ""
        reading = self.reading()
        self._open_calls[name] = purpose
        self._emit(
            CallStarted(
                call=name,
                purpose=purpose,
                fingerprint=None if request.chained else self.fingerprint(),
                is_held=bool(request.chained),
                estimate=Amount(
                    tokens=reading.used.tokens,
                    low=reading.used.low,
                    high=reading.used.high,
                ),
                snapshot=reading.snapshot_id,
                stream=request.stream,
                mark=mark,
            )
        )
        return msgspec.structs.replace(reading, call=name)

    def counted(self, request: Request | Mapping[str, Any], tokens: int) -> Reading:
        """The reading of a request that the provider's count endpoint has counted; ``before`` then starts from it.

        ``tokens`` is the endpoint's answer: ``input_tokens`` or ``totalTokens``. A count that can't be true changes
        nothing. Raises ``InvalidRequest`` as ``before`` does, and ``InputError`` for what is no count.
        """
        check_count("tokens", tokens, "tokens")
        request = self._as_request(request)
        self._follow(request, is_answered=self._is_answer_in_view)
        used = self.reading().used
        self._emit(
            InputCounted(
                tokens=tokens,
                model=self._fold.model,
                fingerprint=self.fingerprint(),
                estimate=Amount(tokens=used.tokens, low=used.low, high=used.high),
            )
        )
        return self.reading()

    def after(
        self,
        call: str,
        usage: Usage | Mapping[str, Any] | object | None,
        output: Message | object | None = None,
        *,
        outcome: Outcome = "finished",
        purpose: Purpose | None = None,
        context_management: object | None = None,
        response: str = "",
    ) -> Reading:
        """The reading after a call has ended.

        ``usage`` is what the provider reported: its own object, that of a framework (LangChain, pydantic-ai, OpenAI
        Agents, Google ADK, AI SDK, Dexto), or the answer that holds one; ``None`` when nothing was reported. ``output``
        is the answer (its content, or a ``Message``), which may also simply come back in the next request. ``purpose``
        is that of ``before``. ``context_management`` is that field of Anthropic's answer: it says what the server
        cleared of the request, which ``usage`` does not. ``response`` is the answer's id, by which a later request may
        continue it on the provider's side; it is read from ``output`` where that is the whole answer. A failed call
        changes nothing but the spend.

        Raises ``InputError`` for a call that ``before`` did not begin or that has ended, and for a usage or answer that
        is none; then nothing has changed.
        """
        purpose = self._purpose_of(call, purpose)
        check_outcome(outcome)
        check_context_management(context_management)
        check_answer(output)
        if usage is not None and not isinstance(usage, Usage):
            native = dialect_for(self._fold.wire, self._fold.provider)
            usage = read_reported(native, usage)
        if usage is not None and context_management is not None:
            cleared = read_applied_edits(context_management)
            usage = msgspec.structs.replace(usage, cleared=cleared)
        message: Message | None = None
        if output is not None and purpose == "main" and outcome != "failed":
            message = output if isinstance(output, Message) else self._read_answer(output)
        self._emit(
            CallEnded(
                call=call,
                outcome=outcome,
                usage=usage,
                purpose=purpose,
                continued_as=self._continued_as(response, output),
            )
        )
        if message is not None and message.parts:
            taken = self._fold.view.entries
            name = free_id(message.id or f"{call}.answer", taken)
            message = msgspec.structs.replace(message, call=call, id=name)
            self._emit(MessageAdded(message=message))
        return self.reading()

    def _continued_as(
        self,
        response: str,
        output: object,
    ) -> str:
        """What a later request calls the answer to the last one, or its conversation."""
        sent = self._sent
        if sent is None:
            return ""
        if not response:
            response = answer_id(sent.wire, output)
        return continued_as(sent, response)

    def _purpose_of(self, call: object, given: Purpose | None) -> Purpose:
        """The purpose of an open call. Raises ``InputError`` for another call, or another purpose."""
        check_text("call", call)
        assert isinstance(call, str)
        began = self._open_calls.get(call)
        if began is None:  # of a session that was opened again
            began = "main" if call in self._fold.pending else None
            began = "summary" if call in self._fold.summaries else began
        if began is None:
            raise InputError(
                f"There is no open call {call!r:.60}: give the `call` of the reading that `before` returned, once. "
                f"{UNCHANGED}"
            )
        if given is None:
            return began
        check_purpose(given)
        if given != began:
            raise InputError(
                f"The call {call!r:.60} was begun with purpose={began!r}, and not {given!r}. {UNCHANGED}"
            )
        return given

    # -- from events --

    def apply(self, event: Event) -> None:
        """Apply one event of a session: O(its parts). Never raises for what a session may hold.

        Raises ``WrongType`` for what is no event.
        """
        check_event(event)
        compared = self._fold.track.compared, self._fold.track.last
        self._fold.apply(event)
        last = self._fold.view.last
        self._held.note(event, "" if last is None else last.id)
        if (self._fold.track.compared, self._fold.track.last) != compared:
            self._log_actual()

    # -- what it says --

    def reading(self) -> Reading:
        """The window now: at rest, as if the next request began a user turn. O(rows), whatever the history's length."""
        fold, reading = self._fold, self._reading
        if reading is None or (self._read_at, reading.session) != (
            fold.revision,
            fold.session,
        ):
            reading = self._read()
            self._read_at = fold.revision
        elif reading.seq != fold.seq:
            reading = msgspec.structs.replace(reading, seq=fold.seq)
        self._reading = reading
        return reading

    def _read(self) -> Reading:
        fold = self._fold
        forecast = fold.forecast()
        window, reserve, input_limit, threshold = fold.limits.denominators
        tokens, low, high = forecast.tokens, forecast.low, forecast.high
        content = (
            fold.session,
            fold.revision,
            fold.model,
            tokens,
            low,
            high,
            window.tokens,
        )
        notes = [*forecast.notes, *notes_of(fold.reports)]
        if fold.cleared.total and fold.anchor is not None:
            notes.extend(notes_of_clearing(fold.anchor.usage.cleared))
        if window.tokens is None:
            name = fold.model or "this model"
            notes.append(
                f"{UNKNOWN_WINDOW} {name} is unknown: set window=… (or default_window=…)."
            )
        if self._unmeasured and fold.anchor_call != self._unmeasured:
            notes.append(UNMEASURED)
        breakdown = rows.rows_of(fold, forecast)
        if breakdown.excess:
            notes.append(CUT_ROWS.format(breakdown.excess))
        reading = Reading(
            snapshot_id=fingerprint.digest(repr(content)),
            session=fold.session,
            seq=fold.seq,
            model=fold.model,
            window=window,
            input_limit=input_limit,
            threshold=threshold,
            used=Used(tokens=tokens, low=low, high=high),
            reserve=reserve,
            free=None if window.tokens is None else window.tokens - reserve - tokens,
            rows=breakdown.rows,
            basis=forecast.basis(fold.anchor_call),
            accuracy=fold.track.accuracy,
            spend=fold.spend,
            compactions=fold.compactions,
            unproven=forecast.unproven,
            notes=tuple(notes),
        )
        if self._sent is not None and self._sent.chained and reading.should_compact():
            notes.append(room_note(fold.wire))
            reading = msgspec.structs.replace(reading, notes=tuple(notes))
        return reading

    def should_compact(self) -> bool:
        """True when the upper end of the reading has reached the compaction threshold."""
        return self.reading().should_compact()

    def largest(self, count: int = 10) -> tuple[PartEstimate, ...]:
        """The parts that cost most. Goes through the whole view once. Raises ``InputError`` for no such number."""
        check_count("count", count, "parts")
        return rows.largest(self._fold, count)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every main call so far: estimate, reported input, and what happened before it."""
        return tuple(self._fold.track.steps)

    @property
    def calibration(self) -> Calibration:
        """What has been learnt, for another Meter or a store."""
        return self._fold.calibration

    @property
    def first_call(self) -> FirstCall | None:
        """What this session's first call held beyond its log, for meters of later sessions or a store."""
        return self._fold.first_call

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in view, in order."""
        return tuple(entry.message for entry in self._fold.view)

    def request(
        self, *, stream: bool = False, messages: tuple[Message, ...] | None = None
    ) -> Request:
        """The next request as the events have it: model, system, tools, parameters and the messages in view.

        A deferred tool is left out unless the provider has a search for it (``State.sent_tools``).

        A caller that has the messages already, in the order of the request, gives them: then they are not collected.
        """
        check_flag("stream", stream)
        check_messages(messages)
        fold = self._fold
        return Request(
            wire=fold.wire,
            model=fold.model,
            provider=fold.provider,
            system=fold.system or (),
            tools=fold.sent_tools,
            messages=self.messages if messages is None else messages,
            params=fold.params,
            stream=stream,
        )

    @property
    def policy(self) -> ReasoningPolicy:
        """Which earlier reasoning is sent: by the application's policy, less what the provider would refuse."""
        fold = self._fold
        return fold.sent_policy if fold.refuses_changes else fold.policy

    @property
    def limits(self) -> Limits:
        """What is known of the model's limits, with the settings on top of them."""
        return self._fold.limits

    def __len__(self) -> int:
        """How many messages are in view."""
        return len(self._fold.view)

    def __bool__(self) -> bool:
        """True: a meter without messages is one, too."""
        return True

    def usage_of(self, message: Message) -> Usage | None:
        """What the provider reported for the call that made a message. Raises ``WrongType`` for what is none."""
        check_message(message)
        return self._fold.usages.get(message.call or "")

    def fingerprint(self) -> Fingerprint:
        """Names the exact content of the next request."""
        fold = self._fold
        return Fingerprint(
            wire=fold.wire,
            endpoint=fold.provider,
            model=fold.model,
            system=fingerprint.of_system(fold.system or ()),
            tools=fingerprint.of_tools(fold.tools or ()),
            digest=fold.view.digest,
            count=len(fold.view),
        )

    # -- inside --

    def _emit(self, event: Event) -> None:
        seq = self._fold.seq + 1
        event = msgspec.structs.replace(
            event, session=self._session, seq=seq, id=f"{self._session or 'event'}-{seq}"
        )
        if isinstance(event, CallEnded):
            self._open_calls.pop(event.call, None)
        self.apply(event)
        if self._on_event is not None:
            self._on_event(event)

    def _as_request(self, request: Request | Mapping[str, Any]) -> Request:
        if isinstance(request, Request):
            self._bodies.note(request)
            return request
        fold = self._fold
        check_body(request)
        return self._bodies.read(
            request,
            wire=self._wire or None,
            provider=fold.provider or None,
            model=fold.model,
        )

    def _read_answer(self, output: object) -> Message:
        fold = self._fold
        return self._bodies.read_answer(
            fold.wire, output, provider=fold.provider, model=fold.model
        )

    @property
    def _is_answer_in_view(self) -> bool:
        """Whether the answer of the last call is in view, or left it; if not, the next request may bring it."""
        fold = self._fold
        if fold.output is not None or fold.output_left or fold.since.messages:
            return True
        return not fold.anchor_call or not len(fold.view)

    def _follow(self, request: Request, *, is_answered: bool) -> None:
        """Events for what the request changes against what is in view."""
        if request.chained:
            request = self._with_held(request, self.messages)
        self._follow_head(request)
        self._follow_messages(
            request.messages, is_chained=bool(request.chained), is_answered=is_answered
        )

    def _with_held(self, request: Request, known: Sequence[Message]) -> Request:
        """The request with what the provider holds of it, as far as it is in ``known`` messages and in the ledger."""
        front = self._held.front(request.chained, known)
        self._lacks_front = not front
        taken = {message.id for message in front}
        added: list[Message] = []
        for message in request.messages:
            name = free_id(message.id, taken)
            taken.add(name)
            added.append(msgspec.structs.replace(message, id=name))
        whole = msgspec.structs.replace(
            request,
            messages=(*front, *added),
        )
        if not keeps_head(request.wire):
            return whole
        fold = self._fold
        return msgspec.structs.replace(
            whole,
            system=fold.system or (),
            tools=fold.tools or (),
        )

    def _follow_head(self, request: Request) -> None:
        """Events for another model, system prompt, tools or parameters."""
        fold = self._fold
        if (request.model, request.wire, request.provider or fold.provider) != (
            fold.model,
            fold.wire,
            fold.provider,
        ):
            self._emit(
                ModelChanged(
                    model=request.model or fold.model,
                    wire=request.wire,
                    provider=request.provider or fold.provider,
                )
            )
        if fold.system is None or fold.system != request.system:
            self._emit(SystemChanged(system=request.system))
        if fold.tools is None or fold.tools != request.tools:
            self._emit(ToolsChanged(tools=request.tools))
        if fold.params != request.params:
            self._emit(ParamsChanged(params=request.params))

    def _follow_messages(
        self, messages: tuple[Message, ...], *, is_chained: bool, is_answered: bool
    ) -> None:
        held = [entry.message for entry in self._fold.view]
        # A pair that was the same in the last request is not compared again: messages do not change.
        known, self._matched = self._matched, []
        for old, new in zip(held, messages, strict=False):
            same = len(self._matched)
            is_known = (
                same < len(known) and known[same][0] is old and known[same][1] is new
            )
            if not is_known and old is not new and not same_content(old, new):
                break
            self._matched.append((old, new))
        same = len(self._matched)
        if is_chained and same < len(held):
            # The provider's copy is no part of the request: nothing in it can have been edited.
            self._rewind(held, same)
            held = held[:same]
        if same == len(held) - 1 < len(messages) and self._is_edited(
            held[same], messages[same]
        ):
            self._replace(held[same], messages[same])
            same += 1
        if same < len(held):
            self._diverge(held, messages, same, is_answered=is_answered)
            return
        added = messages[same:]
        if not is_answered and _begins_with_answer(added):
            self._emit(MessageAdded(message=self._as_answer(added[0])))
            added = added[1:]
        elif not is_chained and self._lacks_answer(added):
            # The last request again, perhaps with more: what was answered is not in it.
            self._emit(Rewound(to=held[-1].id))
        for message in added:
            self._emit(MessageAdded(message=message))

    def _note_compaction(self, request: Request) -> bool:
        """Events for what the loop's own compaction has left out; whether the answer that is to come is part of it."""
        held = self.messages
        name = f"compaction-{self._fold.seq + 1}"
        committed = foreign_compaction(held, request.messages, name)
        if committed is None:
            return False
        self._emit(committed)
        # Behind messages that were kept follows the answer; behind a summary of all, any text.
        return held[-1].id in committed.summarised

    def _lacks_answer(self, new: tuple[Message, ...]) -> bool:
        """Whether the last call's answer, which was never shown, is not in the request either."""
        return not self._is_answer_in_view and not _begins_with_answer(new)

    def _as_output(self, message: Message) -> Message:
        """The message, as the answer of the last call where that is not in view yet and this may be it."""
        if message.role != "assistant" or self._is_answer_in_view:
            return message
        return self._as_answer(message)

    def _is_edited(self, held: Message, sent: Message) -> bool:
        """Whether the application sends the last call's answer back in another form than it came in."""
        return self._fold.is_output(held) and held.role == sent.role

    def _replace(self, old: Message, new: Message) -> None:
        changed = msgspec.structs.replace(
            new, id=old.id, revision=old.revision + 1, call=old.call
        )
        self._emit(MessageReplaced(message=changed))

    def _diverge(
        self,
        held: list[Message],
        messages: tuple[Message, ...],
        same: int,
        *,
        is_answered: bool,
    ) -> None:
        """The request is no extension: edits in place, a shorter history, or another one."""
        old_tail, new_tail = held[same:], messages[same:]
        kept = 0
        while kept < min(len(old_tail), len(new_tail)) and same_content(
            old_tail[-1 - kept], new_tail[-1 - kept]
        ):
            kept += 1
        gone, come = old_tail[: len(old_tail) - kept], new_tail[: len(new_tail) - kept]
        if len(gone) == len(come):
            self._leave_answer(held)
            for old, new in zip(gone, come, strict=True):
                self._replace(old, new)
        elif is_edited_in_place(old_tail, new_tail):
            for old, new in zip(old_tail, new_tail, strict=False):
                if not same_content(old, new):
                    self._replace(old, new)
            added = new_tail[len(old_tail) :]
            if not is_answered and _begins_with_answer(added):
                added = (self._as_answer(added[0]), *added[1:])
            for message in added:
                self._emit(MessageAdded(message=message))
        elif kept and len(come) <= 1:
            self._leave_answer(held)
            self._emit(
                CompactionCommitted(
                    compaction=f"compaction-{self._fold.seq + 1}",
                    summary=come[0] if come else None,
                    summarised=tuple(message.id for message in gone),
                )
            )
        else:
            self._rewind(held, same)
            for message in new_tail:
                self._emit(MessageAdded(message=message))

    def _rewind(self, held: Sequence[Message], count: int) -> None:
        """Events for a request that has only the first messages of those in view."""
        self._leave_answer(held)
        self._emit(Rewound(to=held[count - 1].id if count else ""))

    def _leave_answer(self, held: Sequence[Message]) -> None:
        """An event for an answer that never came into view, before messages around it leave."""
        if not self._is_answer_in_view:
            self._emit(Rewound(to=held[-1].id))

    def _as_answer(self, message: Message) -> Message:
        """The answer of the last call that comes with the next request: it is known by its place."""
        anchor = self._fold.anchor
        if message.call or anchor is None:
            return message
        return msgspec.structs.replace(message, call=anchor.call or None)

    def _log_actual(self) -> None:
        last = self._fold.track.last
        if (
            last is None
            or last.actual is None
            or last.error is None
            or last.error_percent is None
        ):
            return
        log.info(
            "Context estimate: estimated=%d, actual=%d, error=%+d (%+.1f%%)",
            last.estimated,
            last.actual,
            last.error,
            last.error_percent,
        )
        ratio = rows.message_ratio(self._fold, last.actual + self._fold.cleared.total)
        if ratio is not None:
            log.info(
                "Context calibration: actual=%d, estimate=%d, ratio=%.2f",
                round(ratio.reported),
                round(ratio.estimated),
                ratio.reported / ratio.estimated,
            )


def free_id(name: str, *taken: Container[str]) -> str:
    """The name, or one like it if a message has it already."""
    free, number = name, 1
    while any(free in ids for ids in taken):
        number += 1
        free = f"{name}~known{number}"
    return free


def _begins_with_answer(messages: tuple[Message, ...]) -> bool:
    """Whether the model wrote the first of these."""
    return bool(messages) and messages[0].role == "assistant"
