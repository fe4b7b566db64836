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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ullage.clients.facts import NO_SETTINGS, ClientSettings
from ullage.codec.applied_edits import read_applied_edits
from ullage.codec.bodies import BodyReader
from ullage.codec.dialects import dialect_for, normalise
from ullage.codec.wires import WIRES
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
from ullage.meter.plausible import notes_of
from ullage.meter.reading import Reading, Used
from ullage.meter.rows import PartEstimate
from ullage.meter.same_content import same_content
from ullage.meter.track import Step
from ullage.meter.window import DEFAULT_TRIGGER, Limit, Limits
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import NO_ENDPOINTS, read_name
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage

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
    ) -> Reading:
        """The reading of a request that is about to be sent; ``reading.call`` names it for ``after``.

        ``request`` is a ``Request`` or the JSON body of one of the four wires. Only what changed since the last one is
        counted. Raises ``InvalidRequest`` for a body that none of the wires could have been sent.
        """
        request = self._as_request(request)
        self._calls += 1
        name = call or f"call-{self._calls}"
        if purpose == "main":
            self._follow(request)
        reading = self.reading()
        self._emit(
            CallStarted(
                call=name,
                purpose=purpose,
                fingerprint=None if request.chained else self.fingerprint(),
                estimate=Amount(
                    tokens=reading.used.tokens,
                    low=reading.used.low,
                    high=reading.used.high,
                ),
                snapshot=reading.snapshot_id,
                stream=request.stream,
            )
        )
        return msgspec.structs.replace(reading, call=name)

    def counted(self, request: Request | Mapping[str, Any], tokens: int) -> Reading:
        """The reading of a request that the provider's count endpoint has counted; ``before`` then starts from it.

        ``tokens`` is the endpoint's answer: ``input_tokens`` or ``totalTokens``. A count that can't be true changes
        nothing. Raises ``InvalidRequest`` as ``before`` does.
        """
        self._follow(self._as_request(request))
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
        purpose: Purpose = "main",
        context_management: object | None = None,
    ) -> Reading:
        """The reading after a call has ended.

        ``usage`` is what the provider reported (its own object, or ``None`` when it reported none); ``output`` is the
        answer (its content, or a ``Message``), which may also simply come back in the next request.
        ``context_management`` is that field of Anthropic's answer: it says what the server cleared of the request,
        which ``usage`` does not. A failed call changes nothing but the spend.
        """
        if usage is not None and not isinstance(usage, Usage):
            usage = normalise(dialect_for(self._fold.wire, self._fold.provider), usage)
        if usage is not None and context_management is not None:
            cleared = read_applied_edits(context_management)
            usage = msgspec.structs.replace(usage, cleared=cleared)
        self._emit(CallEnded(call=call, outcome=outcome, usage=usage, purpose=purpose))
        if output is not None and purpose == "main" and outcome != "failed":
            message = output if isinstance(output, Message) else self._read_answer(output)
            if message.parts:
                message = msgspec.structs.replace(
                    message, call=call, id=message.id or f"{call}.answer"
                )
                self._emit(MessageAdded(message=message))
        return self.reading()

    # -- from events --

    def apply(self, event: Event) -> None:
        """Apply one event of a session: O(its parts). Never raises for what a session may hold."""
        compared = self._fold.track.compared, self._fold.track.last
        self._fold.apply(event)
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
        breakdown = rows.rows_of(fold, forecast)
        if breakdown.excess:
            notes.append(CUT_ROWS.format(breakdown.excess))
        return Reading(
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
            notes=tuple(notes),
        )

    def should_compact(self) -> bool:
        """True when the upper end of the reading has reached the compaction point."""
        return self.reading().should_compact()

    def largest(self, count: int = 10) -> tuple[PartEstimate, ...]:
        """The parts that cost most. Goes through the whole view once."""
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
        """Which earlier reasoning the application sends."""
        return self._fold.policy

    @property
    def limits(self) -> Limits:
        """What is known of the model's limits, with the settings on top of them."""
        return self._fold.limits

    def __len__(self) -> int:
        """How many messages are in view."""
        return len(self._fold.view)

    def usage_of(self, message: Message) -> Usage | None:
        """What the provider reported for the call that made a message."""
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
        self.apply(event)
        if self._on_event is not None:
            self._on_event(event)

    def _as_request(self, request: Request | Mapping[str, Any]) -> Request:
        if isinstance(request, Request):
            self._bodies.note(request)
            return request
        fold = self._fold
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

    def _follow(self, request: Request) -> None:
        """Events for what the request changes against what is in view."""
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
        self._follow_messages(request.messages, is_chained=bool(request.chained))

    def _follow_messages(
        self, messages: tuple[Message, ...], *, is_chained: bool
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
        if same == len(held) - 1 < len(messages) and self._is_edited(
            held[same], messages[same]
        ):
            self._replace(held[same], messages[same])
            same += 1
        if same < len(held):
            self._diverge(held, messages, same)
            return
        if not is_chained and self._lacks_answer(messages[same:]):
            # The last request again, perhaps with more: what was answered is not in it.
            self._emit(Rewound(to=held[-1].id))
        for message in messages[same:]:
            self._emit(MessageAdded(message=self._as_output(message)))

    def _lacks_answer(self, new: tuple[Message, ...]) -> bool:
        """Whether the last call's answer, which was never shown, is not in the request either."""
        fold = self._fold
        if fold.output is not None or fold.output_left or fold.since.messages:
            return False
        is_answer = bool(new) and new[0].role == "assistant"
        return bool(fold.anchor_call) and len(fold.view) > 0 and not is_answer

    def _is_edited(self, held: Message, sent: Message) -> bool:
        """Whether the application sends the last call's answer back in another form than it came in."""
        return self._fold.is_output(held) and held.role == sent.role

    def _replace(self, old: Message, new: Message) -> None:
        changed = msgspec.structs.replace(
            new, id=old.id, revision=old.revision + 1, call=old.call
        )
        self._emit(MessageReplaced(message=changed))

    def _diverge(
        self, held: list[Message], messages: tuple[Message, ...], same: int
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
            for old, new in zip(gone, come, strict=True):
                self._replace(old, new)
        elif kept and len(come) <= 1:
            self._emit(
                CompactionCommitted(
                    compaction=f"compaction-{self._fold.seq + 1}",
                    summary=come[0] if come else None,
                    summarised=tuple(message.id for message in gone),
                )
            )
        else:
            self._emit(Rewound(to=held[same - 1].id if same else ""))
            for message in new_tail:
                self._emit(MessageAdded(message=self._as_output(message)))

    def _as_output(self, message: Message) -> Message:
        """The answer of the last call may be in the next request only: then it is known by its place."""
        fold = self._fold
        if (
            message.role != "assistant"
            or message.call
            or fold.anchor is None
            or fold.output is not None
        ):
            return message
        return (
            message
            if fold.since.messages
            else msgspec.structs.replace(message, call=fold.anchor.call or None)
        )

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
