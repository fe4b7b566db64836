"""The Meter: beside any loop, tells what the next request holds.

    meter = ullage.Meter("claude-haiku-4-5", window=200_000)
    reading = meter.before(body)                  # what is about to be sent: a Request, or the provider's own JSON
    answer = client.messages.create(**body)
    meter.after(reading.call, answer.usage, answer.content)
    meter.should_compact()                        # the same number that is displayed

No network, no files, no clock: all it does beside counting is to write two lines to the log at each reported input, and
a warning where a usage says no input.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ullage.codec.applied_edits import read_applied_edits
from ullage.codec.bodies import BodyReader, ReadBody
from ullage.codec.dialects import dialect_for, read_reported, unread_note
from ullage.codec.held import answer_id, continued_as
from ullage.codec.wires import WIRES
from ullage.errors import InputError
from ullage.events import (
    CallEnded,
    CallStarted,
    Envelope,
    Event,
    Fingerprint,
    FirstCall,
    InputCounted,
    MessageAdded,
    Outcome,
    Purpose,
    SentItem,
    SessionStarted,
)
from ullage.installation import part
from ullage.messages import Message, Request
from ullage.meter import fingerprint, rows
from ullage.meter.clearing import notes_of_clearing
from ullage.meter.fold import Fold
from ullage.meter.following import Followed, Following, free_id
from ullage.meter.held_answers import UNMEASURED, room_note
from ullage.meter.input_checks import (
    UNCHANGED,
    check_answer,
    check_body,
    check_context_management,
    check_count,
    check_kind,
    check_outcome,
    check_purpose,
    check_settings,
)
from ullage.meter.plausible import notes_of
from ullage.meter.policy import DEFAULT_TRIGGER
from ullage.meter.reading import Reading, Used
from ullage.meter.rows import PartEstimate
from ullage.meter.sent_items import SentItems, sent_items
from ullage.meter.track import Step
from ullage.meter.window import Limit, Limits
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import NO_ENDPOINTS, read_name
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage
from ullage_programs.facts import NO_SETTINGS, ClientSettings

log = logging.getLogger("ullage.meter")

UNKNOWN_WINDOW = "The window of"
"""How the note on an unknown window begins, for a display with text of its own."""


PINNED = (
    "The last {calls:,} calls reported {tokens:,} tokens each, although messages were added: the provider cuts off "
    "what is more, and the model does not see it. There is no room left."
)


class Meter:
    """What is in the window of one session, from its events or from the requests and usages of an agent's loop.

    Not for sharing between threads. docs/meter.md shows it beside a loop.

    Args:
        model: May name its provider (``anthropic:claude-haiku-4-5``), or one of ``endpoints``.
        wire: The API format of the requests, ``messages``, ``responses``, ``chat`` or ``generateContent``; by default
            the provider's usual one.
        provider: Who serves the model, where ``model`` does not say it.
        window: The context window in tokens; overrides every other source.
        reserve: Tokens kept free for the answer.
        trigger: The compaction threshold: a share of the window up to 1 (0.8 by default), or tokens above.
        auto: Whether there is a threshold at all.
        default_window: The window where none is known.
        calibration: What was learnt earlier; ``meter.calibration`` is what has been learnt by now.
        overhead: What earlier sessions' calls held beyond their logs; ``meter.overhead`` is what this one's did.
        estimator: ``auto`` (a real tokenizer where ``ullage[bpe]`` is installed), ``bpe``, ``pretoken``, ``quarter``,
            ``gemini-cli``, or a function from text to tokens; the numbers of the last three are used as they are.
        policy: Which earlier reasoning is sent back.
        session: The id that its events get.
        endpoints: Servers of the user's own by name (docs/settings.md), as ``ullage.measure.user_endpoints()`` reads
            them.
        client_settings: Those of the program whose log is read, which may set its window and threshold.
        on_event: Called with every event that ``before`` and ``after`` make, after it was applied: together they are
            the session's ledger.

    Raises:
        SettingError: A setting is not possible.
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
        self._following = Following()
        self._sent: Request | None = None
        """The last request of the conversation, without its messages."""
        self._unmeasured = ""  # the call that does so
        self._unread = ""
        """What ``after`` found missing in the last usage that it was given."""
        self._open_calls: dict[str, Purpose] = {}
        self._sent_items = SentItems()
        if model:
            served_by, model = read_name(model, own, provider=provider)
            self.emit(
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
    ) -> Meter:
        """The meter of a session that was folded already, such as one out of a checkpoint; ``fold`` is its own."""
        meter = cls(estimator=fold.estimator, session=fold.session, wire=wire)
        meter._fold = fold
        last = fold.view.last
        meter._following = Following("" if last is None else last.id)
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
        sent: Sequence[SentItem] = (),
    ) -> Reading:
        """The reading of a request that is about to be sent; ``reading.call`` names it for ``after``.

        Only what changed since the last one is counted: messages that stay are known wherever they stand, and what
        left in front of them was compacted.

        Args:
            request: A ``Request`` or the JSON body of one of the four wires.
            call: A name of the caller's own for the call; by default it gets one.
            purpose: ``main`` for a call of the conversation; another one counts as spend and changes no reading.
            mark: Is stored with the call.
            sent: The items of the body (``ullage.meter.sent_items``), where ``request`` is none; by them a later
                call that misses the provider's cache is explained.

        Raises:
            InvalidRequest: None of the wires could have been sent the body.
            WrongType: An argument is of another type. Nothing has changed then.
        """
        check_kind("call", call, str)
        check_kind("mark", mark, str)
        check_purpose(purpose)
        is_body = isinstance(request, Mapping)
        request = self._as_request(request)
        if is_body:
            sent = sent_items(request)
        if purpose == "main":
            self._follow(request)
        return self.start_call(request, call=call, purpose=purpose, mark=mark, sent=sent)

    def start_call(
        self,
        request: Request,
        *,
        call: str = "",
        purpose: Purpose = "main",
        mark: str = "",
        sent: Sequence[SentItem] = (),
    ) -> Reading:
        """The reading of what is in view, which is sent now in a call that it names.

        Args:
            request: What is sent; its messages are those in view.
            call: As in ``before``.
            purpose: As in ``before``.
            mark: As in ``before``.
            sent: As in ``before``.
        """
        name = call or f"call-{self._calls + 1}"
        if purpose == "main":
            self._sent = replace(request, messages=())
            self._unmeasured = (
                name if self._following.lacks_front and request.chained else ""
            )
        reading = self.reading()
        self._open_calls[name] = purpose
        is_kept = bool(sent) and purpose == "main" and not request.chained
        self.emit(
            CallStarted(
                call=name,
                sent=self._sent_items.take(name, sent) if is_kept else None,
                purpose=purpose,
                fingerprint=None if request.chained else self.fingerprint(),
                is_held=bool(request.chained),
                estimate=reading.used.amount,
                snapshot=reading.snapshot_id,
                stream=request.stream,
                mark=mark,
            )
        )
        return replace(reading, call=name)

    def counted(self, request: Request | Mapping[str, Any], tokens: int) -> Reading:
        """The reading of a request that the provider's count endpoint has counted; ``before`` then starts from it.

        A count that can't be true changes nothing.

        Args:
            request: As in ``before``.
            tokens: The endpoint's answer: ``input_tokens`` or ``totalTokens``.

        Raises:
            InvalidRequest: As in ``before``.
            InputError: ``tokens`` is no count.
        """
        check_count("tokens", tokens, "tokens")
        request = self._as_request(request)
        self._follow(request)
        self.emit(
            InputCounted(
                tokens=tokens,
                model=self._fold.model,
                fingerprint=self.fingerprint(),
                estimate=self.reading().used.amount,
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
        """The reading after a call has ended. A failed call changes nothing but the spend.

        Args:
            call: Its name, as ``before`` gave it.
            usage: What the provider reported: its own object, that of a framework (LangChain, pydantic-ai, OpenAI
                Agents, Google ADK, AI SDK, Dexto), or the answer that holds one; ``None`` when nothing was reported.
                One in which no input is found under any name of its provider breaks no loop: a warning in the log
                (``ullage.meter``) and a note of the reading name its fields.
            output: The answer (its content, or a ``Message``), which may also simply come back in the next request.
            outcome: How it ended: ``finished``, ``failed`` or ``cancelled``.
            purpose: That of ``before``, for a check.
            context_management: That field of Anthropic's answer: it says what the server cleared of the request,
                which ``usage`` does not.
            response: The answer's id, by which a later request may continue it on the provider's side; it is read
                from ``output`` where that is the whole answer.

        Raises:
            InputError: ``before`` did not begin the call, or it has ended, or the usage or answer is none. Nothing
                has changed then.
        """
        purpose = self._purpose_of(call, purpose)
        check_outcome(outcome)
        check_context_management(context_management)
        check_answer(output)
        if usage is not None and not isinstance(usage, Usage):
            native = dialect_for(self._fold.wire, self._fold.provider)
            usage = read_reported(native, usage)
            unread = unread_note(usage)
            if unread and unread != self._unread:
                log.warning(unread)
            self._unread = unread
        if usage is not None and context_management is not None:
            cleared = read_applied_edits(context_management)
            usage = replace(usage, cleared=cleared)
        message: Message | None = None
        if output is not None and purpose == "main" and outcome != "failed":
            message = output if isinstance(output, Message) else self.read_answer(output)
        self.emit(
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
            message = replace(message, call=call, id=name)
            self.emit(MessageAdded(message=message))
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
        check_kind("call", call, str)
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

        Args:
            event: The next one of the session's ledger.

        Raises:
            WrongType: It is no event.
        """
        check_kind("event", event, Envelope)
        self._calls += isinstance(event, CallStarted)
        compared = self._fold.track.compared, self._fold.track.last
        self._fold.apply(event)
        last = self._fold.view.last
        self._following.note(event, "" if last is None else last.id)
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
            reading = replace(reading, seq=fold.seq)
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
        if fold.limits.cut is not None:
            notes.append(PINNED.format(calls=fold.pins + 1, tokens=fold.limits.cut))
        if fold.cleared.total and fold.anchor is not None:
            notes.extend(notes_of_clearing(fold.anchor.usage.cleared))
        if window.tokens is None:
            name = fold.model or "this model"
            notes.append(
                f"{UNKNOWN_WINDOW} {name} is unknown: set window=… (or default_window=…)."
            )
        if self._unmeasured and fold.anchor_call != self._unmeasured:
            notes.append(UNMEASURED)
        if self._unread:
            notes.append(self._unread)
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
            rows=rows.rows_of(fold, forecast),
            basis=forecast.basis(fold.anchor_call),
            accuracy=fold.track.accuracy,
            spend=fold.spend,
            compactions=fold.compactions,
            unproven=forecast.unproven,
            notes=tuple(notes),
        )
        if self._sent is not None and self._sent.chained and reading.should_compact():
            notes.append(room_note(fold.wire))
            reading = replace(reading, notes=tuple(notes))
        return reading

    def should_compact(self) -> bool:
        """True when the upper end of the reading has reached the compaction threshold."""
        return self.reading().should_compact()

    def largest(self, count: int = 10) -> tuple[PartEstimate, ...]:
        """The parts that cost most. Goes through the whole view once.

        Args:
            count: The most to give.

        Raises:
            InputError: ``count`` is no such number.
        """
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
    def overhead(self) -> tuple[FirstCall, ...]:
        """What this session's calls held beyond its log: the first one, and the newest of each kind of the others."""
        fold = self._fold
        newest = {call.situation: call for call in fold.after_compactions}
        first = () if fold.first_call is None else (fold.first_call,)
        return (*first, *newest.values())

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in view, in order."""
        return tuple(entry.message for entry in self._fold.view)

    def request(
        self, *, stream: bool = False, messages: tuple[Message, ...] | None = None
    ) -> Request:
        """The next request as the events have it: model, system, tools, parameters and the messages in view.

        A deferred tool is left out unless the provider has a search for it (``State.sent_tools``).

        Args:
            stream: Whether it asks for a streamed answer.
            messages: Those in view, in the order of the request, for a caller that has them already: then they are
                not collected.
        """
        check_kind("stream", stream, bool)
        if messages is not None:
            check_kind("messages", messages, tuple)
            for message in messages[:1]:
                check_kind("message", message, Message)
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
        """What the provider reported for the call that made a message.

        Args:
            message: One of this session.

        Raises:
            WrongType: It is no message.
        """
        check_kind("message", message, Message)
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

    def _repr_html_(self) -> str:
        """The picture of the window, in a notebook."""
        drawn: str = part("ullage.picture.shown").picture_of_meter(self)._repr_html_()
        return drawn

    # -- for programs that write the events themselves --

    @property
    def state(self) -> Fold:
        """All that the events so far say, to look at."""
        return self._fold

    def read_items(
        self, body: Mapping[str, Any], *, wire: str = "", provider: str = ""
    ) -> ReadBody:
        """The request in a body, and the items that its messages were read from.

        Args:
            body: As JSON of one of the wires.
            wire: The body's wire, where the meter was not given it.
            provider: Its provider, likewise.

        Raises:
            InvalidRequest: None of the wires could have been sent it.
        """
        check_body(body)
        return self._bodies.read_items(
            body,
            wire=self._wire or wire or None,
            provider=provider or self._fold.provider or None,
            model=self._fold.model,
        )

    def read_answer(self, output: object) -> Message:
        """The answer to the last request, out of a provider's JSON or an SDK's object.

        Args:
            output: All of the answer, or its content.
        """
        fold = self._fold
        return self._bodies.read_answer(
            fold.wire, output, provider=fold.provider, model=fold.model
        )

    def followed(
        self,
        request: Request,
        known: Sequence[Message] | None = None,
        taken: Container[str] = (),
    ) -> Followed:
        """How a request follows from known messages. Its events are not applied.

        Args:
            request: The new one.
            known: The messages it is compared with; by default those in view.
            taken: Ids that no new message may get.
        """
        if known is None:
            known = self.messages
        return self._following.take(self._fold, request, known, taken)

    def with_held(self, request: Request) -> Request:
        """The request with what the provider holds of it in front, as far as that is in view.

        Args:
            request: One that continues what the provider holds.
        """
        return self._following.with_held(self._fold, request, self.messages)

    def emit(self, event: Event) -> None:
        """Apply an event as the next one of this session's ledger, and tell ``on_event`` of it.

        Args:
            event: Gets the session's id and the next number.
        """
        seq = self._fold.seq + 1
        event = replace(
            event, session=self._session, seq=seq, id=f"{self._session or 'event'}-{seq}"
        )
        if isinstance(event, CallEnded):
            self._open_calls.pop(event.call, None)
        self.apply(event)
        if self._on_event is not None:
            self._on_event(event)

    # -- inside --

    def _as_request(self, request: Request | Mapping[str, Any]) -> Request:
        if isinstance(request, Request):
            self._bodies.note(request)
            return request
        return self.read_items(request).request

    def _follow(self, request: Request) -> None:
        """Events for what the request changes against what is in view."""
        for event in self.followed(request).events:
            self.emit(event)

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
