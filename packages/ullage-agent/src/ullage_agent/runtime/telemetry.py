"""OpenTelemetry spans and metrics of turns, model calls and tools, in the GenAI conventions. Needs the extra
``telemetry``.

    agent = ullage.Agent("anthropic:claude-haiku-4-5", hooks=[Telemetry()])

A turn is one span (``invoke_agent NAME``); below it each model call (``chat MODEL``), each tool call (``execute_tool
NAME``), each compaction with its calls, and each wait for an approval. A subagent's turn is below the tool call that
asked it, and an agent that the conversation was handed over to below the call that did so. Spans are made of the
ledger's events: times and numbers are those of the ledger, and a call that failed or was cancelled has its span too.
What a process leaves open when it ends is not exported. Without an exporter nothing is done.

A turn belongs to the trace in which its message was sent, in whichever process it is driven: the ``traceparent`` is in
the ledger (https://www.w3.org/TR/trace-context/). So does the rest of a turn whose driver died. A tool runs inside its
span, so that spans which it makes itself are below it.

The names are those of https://github.com/open-telemetry/semantic-conventions-genai, release v0.1.0 (status:
development); ``docs/gen-ai`` there has ``client-inference.md``, ``gen-ai-agent-spans.md``, ``execute-tool.md`` and
``gen-ai-metrics.md``. A kind of tokens that it renamed has its name of v1.41.0 in spans too
(``non-normative/migration.md``), which dashboards and OpenTelemetry's own instrumentations use. Input tokens include
what was read from and written to a cache, output tokens include reasoning. The usage of a turn is
``gen_ai.aggregated_usage.…``, as in pydantic-ai, so that sums over spans count nothing twice. Names without an equal in
the conventions begin with ``ullage.``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakValueDictionary

from ullage.errors import MissingExtra
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallRetried,
    CallStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    FellBack,
    Fingerprint,
    HandedOver,
    MessageAdded,
    Pruned,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.installation import extra_command
from ullage.masking import Secrets, secrets_in
from ullage.messages import Message, Request, ToolResultPart
from ullage.meter.reading import Reading
from ullage.meter.spend import money_of
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.label_values import LabelValues
from ullage_agent.runtime.policy import TRACED_SESSIONS
from ullage_agent.runtime.session_view import SessionView, Viewed
from ullage_agent.runtime.trace_context import context_of, traceparent_of
from ullage_agent.runtime.traced_content import TracedContent
from ullage_agent.runtime.traced_names import (
    CALL_TOKENS,
    COST,
    DURATIONS,
    FIRST_CHUNK,
    HISTOGRAMS,
    RENAMED,
    SPENT_TOKENS,
    STOPS,
    USAGE,
    Attributes,
    address_of,
    asked,
    known,
    params_of,
    served,
    usage_of,
)

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

NAME: Final = "ullage"

CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that switches content on; its values are those of opentelemetry-util-genai 1.3b0, and of the time before
``true``: https://github.com/open-telemetry/opentelemetry-python-genai."""

IN_SPANS: Final = frozenset({"span_only", "span_and_event", "true"})

FAILED: Final = frozenset({"failed", "dropped", "too_large"})
"""Reasons of a turn's end that are errors."""

INNERMOST: Final = ("compaction", "agent", "turn")
"""What a new span is below, the first one that is open."""


class _Open(NamedTuple):
    """A span that has not ended, since when it runs, and the attributes of its metrics."""

    span: Span
    at: float
    metered: Attributes


@dataclass(slots=True)
class _Session:
    """The open spans of one session, by what they are of: ``turn``, ``agent`` for one that the turn was handed over to,
    ``compaction``, and the ids of calls, of tool calls and of approvals behind their kind.

    ``trace`` is what the turn belongs below. ``ended`` is a span whose end waits for the message beside the event that
    ended it: the id of its call, and when it ended.
    """

    trace: str = ""
    open: dict[str, _Open] = field(default_factory=dict)
    ended: tuple[Span, str, float] | None = None
    request: Request | None = None
    usage: dict[str, int] = field(default_factory=dict)
    """The sums of the turn, by the conventions' names."""
    finish: str = "stop"
    said: list[Message] = field(default_factory=list)
    answer: list[Message] = field(default_factory=list)


class Telemetry(Hook):
    """Spans and metrics of everything that this process does for its sessions, and for those of their subagents.

    Put it behind hooks that change requests: it records what it is given.

    Args:
        provider: Whose tracer is used; OpenTelemetry's global one by default.
        meters: Whose meter is used; the global one by default.
        content: Whether messages, system prompts, declarations of tools, arguments and results are recorded, each up to
            a length (``policy.TRACED_TEXT``) and without the values of variables that are named as secrets are. By
            default as ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` says (``span_only``, ``span_and_event``,
            ``true``), else not.
        environment: The process's own by default.

    Raises:
        MissingExtra: The package ``opentelemetry-api`` is not installed.
    """

    is_inherited = True

    def __init__(
        self,
        provider: TracerProvider | None = None,
        *,
        meters: MeterProvider | None = None,
        content: bool | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
            from opentelemetry.context import Context
        except ImportError as problem:
            raise MissingExtra(
                f"Spans need OpenTelemetry. Install it: {extra_command('telemetry')}"
            ) from problem
        self._api = trace
        self._root = Context()
        self._tracer: Tracer = trace.get_tracer(NAME, tracer_provider=provider)
        meter = metrics.get_meter(NAME, meter_provider=meters)
        self._histograms: dict[str, Histogram] = {
            name: meter.create_histogram(
                name, unit, explicit_bucket_boundaries_advisory=boundaries
            )
            for name, (unit, boundaries) in HISTOGRAMS.items()
        }
        self._spent: dict[str, Counter] = {
            kind: meter.create_counter(f"{SPENT_TOKENS}.{kind}", "{token}")
            for kind in USAGE
        }
        self._values = LabelValues()
        known = os.environ if environment is None else environment
        if content is None:
            content = known.get(CONTENT, "").strip().lower() in IN_SPANS
        self._content = TracedContent(Secrets(secrets_in(known))) if content else None
        self._sessions: dict[str, _Session] = {}
        self._driven: WeakValueDictionary[str, Viewed] = WeakValueDictionary()

    # -- what the runtime calls --

    def on_driven(self, session: str, trace: str, driven: Viewed) -> None:
        """See ``Hook.on_driven``: the rest of a turn has a span below the same request."""
        self._driven[session] = driven
        if trace:
            self._session(session).trace = trace

    def around_tool(self, session: str, call_id: str) -> AbstractContextManager[object]:
        """See ``Hook.around_tool``: spans of the tool itself are below its span."""
        tool = self._session(session).open.get(f"tool {call_id}")
        if tool is None:
            return nullcontext()
        return self._api.use_span(
            tool.span, record_exception=False, set_status_on_exception=False
        )

    async def before_call(self, request: Request, reading: Reading) -> None:
        """See ``Hook.before_call``: the request is kept for the span of the call."""
        self._session(reading.session).request = request

    async def before_summary(self, request: Request, reading: Reading) -> None:
        """See ``Hook.before_summary``: its call has begun already."""
        for key, call in self._session(reading.session).open.items():
            if key.startswith("call summary") and self._content is not None:
                call.span.set_attributes(self._content.request(request))

    def on_event(self, event: Event) -> None:
        """See ``Hook.on_event``."""
        session = self._session(event.session)
        self._end_waiting(session, event)
        match event:
            case TurnStarted():
                session.trace = event.trace
                self._turn(session, event)
            case MessageAdded(message=message) if message.role == "user":
                session.said.append(message)
            case MessageAdded(message=message) if message.role == "assistant":
                session.answer = [message]
            case HandedOver() if "turn" in session.open:
                self._end(session, "agent", event)
                above = session.open.get(f"tool {event.call_id}")
                self._agent(session, "agent", event, event.agent, {}, above)
            case CallStarted() if event.purpose != "child":  # a child has its own spans
                self._call_started(session, event)
            case CallRetried(call=call):
                self._note(session, f"call {call}", event, "attempt", "wait_s", "error")
            case CallEnded():
                self._call_ended(session, event)
            case ApprovalAsked() | ApprovalGiven() | ToolStarted() | ToolEnded():
                self._tool(session, event)
            case FellBack():
                self._note(session, "turn", event, "model", "error_kind")
            case TurnEnded() | TurnPaused():
                session = self._turn_over(session, event)
            case _:
                self._compaction(session, event)
        if not (session.open or session.trace or session.ended):
            del self._sessions[event.session]

    def _session(self, session: str) -> _Session:
        found = self._sessions.setdefault(session, _Session())
        if len(self._sessions) > TRACED_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return found

    def _view(self, event: Event) -> SessionView:
        driven = self._driven.get(event.session)
        return SessionView() if driven is None else driven.view()

    # -- turns --

    def _turn(self, session: _Session, event: Event) -> None:
        """Begin the span of the turn, where none is open: the rest of a turn that another process began has one too."""
        if "turn" not in session.open:
            view = self._view(event)
            described = known({"gen_ai.agent.description": view.description})
            self._agent(session, "turn", event, view.agent, described | asked(view))

    def _agent(
        self,
        session: _Session,
        key: str,
        event: Event,
        agent: str,
        attributes: Attributes,
        above: _Open | None = None,
    ) -> None:
        attributes["gen_ai.operation.name"] = "invoke_agent"
        metered = known({"gen_ai.agent.name": agent})
        name = f"invoke_agent {agent}"
        self._start(session, key, name, event, attributes, metered, above)

    def _turn_over(self, session: _Session, event: TurnEnded | TurnPaused) -> _Session:
        is_ended = isinstance(event, TurnEnded)
        attributes: Attributes = {
            f"gen_ai.aggregated_usage.{kind}": tokens
            for kind, tokens in session.usage.items()
        }
        attributes[f"ullage.turn.{'ended' if is_ended else 'paused'}"] = event.reason
        if self._content is not None:
            said = ("gen_ai.input.messages", session.said, "")
            answer = ("gen_ai.output.messages", session.answer, session.finish)
            for name, messages, finish in (said, answer):
                if messages:
                    attributes[name] = self._content.messages(messages, finish)
        later = _Session()
        if not is_ended:  # what the turn does later is in the same trace
            waiting = [key for key in session.open if key.startswith("approval")]
            later.open = {key: session.open.pop(key) for key in waiting}
            turn = session.open.get("turn")
            later.trace = session.trace or (
                "" if turn is None else traceparent_of(turn.span)
            )
        wrong = event.reason if event.reason in FAILED else ""
        for key in [key for key in session.open if key != "turn"]:
            self._end(session, key, event)
        self._end_waiting(session, event)
        self._end(session, "turn", event, attributes, wrong)
        self._sessions[event.session] = later
        return later

    # -- calls of the model --

    def _call_started(self, session: _Session, event: CallStarted) -> None:
        request = session.request if event.purpose == "main" else None
        session.request = None
        made = event.fingerprint or Fingerprint()
        endpoint, model = made.endpoint, made.model
        if request is not None:  # one that hooks replaced has no fingerprint
            endpoint, model = request.provider, request.model
        metered: Attributes = {"gen_ai.operation.name": "chat"}
        metered |= served(endpoint, model)
        attributes = known(
            {
                "ullage.purpose": event.purpose,
                "ullage.snapshot": event.snapshot,
                "gen_ai.request.stream": event.stream,
            }
        )
        if event.estimate is not None:
            for size in ("tokens", "low", "high"):
                attributes[f"ullage.estimate.{size}"] = getattr(event.estimate, size)
        if event.purpose == "main":
            view = self._view(event)
            self._turn(session, event)
            metered |= address_of(view.address)
            attributes |= asked(view)
        if request is not None:
            attributes |= params_of(request.params)
        key = f"call {event.call}"
        self._start(session, key, f"chat {model}", event, attributes, metered)
        span = session.open[key].span
        if request is not None and self._content is not None and span.is_recording():
            span.set_attributes(self._content.request(request))

    def _call_ended(self, session: _Session, event: CallEnded) -> None:
        key = f"call {event.call}"
        if key not in session.open:
            return
        call = session.open[key]
        used = usage_of(event)
        attributes: Attributes = {
            f"gen_ai.usage.{kind}": tokens for kind, tokens in used.items()
        }
        before, now = RENAMED
        if now in used:
            attributes[f"gen_ai.usage.{before}"] = used[now]
        view = self._view(event)
        metered = call.metered | known({"gen_ai.response.model": event.model})
        if event.purpose == "main":
            session.finish = STOPS.get(event.stop, event.stop) or "stop"
            attributes |= known({"gen_ai.response.id": view.response_id})
            if view.first_chunk_at:
                first = max(0.0, view.first_chunk_at - call.at)
                attributes["gen_ai.response.time_to_first_chunk"] = first
                self._record(FIRST_CHUNK, first, metered)
        elif event.provider:  # a summary's is known only now
            metered |= served(event.provider, event.model)
            call.span.update_name(f"chat {event.model}")
        if event.stop:
            finish = STOPS.get(event.stop, event.stop)
            attributes["gen_ai.response.finish_reasons"] = [finish]
        for kind, tokens in used.items():
            session.usage[kind] = session.usage.get(kind, 0) + tokens
        money = money_of(event, view.provider, view.model)
        if money.priced:
            attributes[COST] = money.usd
            self._record(COST, money.usd, metered)
        usage = event.usage
        if usage is not None and (usage.placeholder or not usage.final):
            attributes["ullage.usage.estimated"] = True
        else:
            self._count_tokens(used, metered)
        wrong = "" if event.outcome == "finished" else event.error_kind or event.outcome
        session.open[key] = call._replace(metered=metered)
        self._end(session, key, event, metered | attributes, wrong, event.error)

    def _count_tokens(self, used: Mapping[str, int], metered: Attributes) -> None:
        for kind in ("input_tokens", "output_tokens"):
            if kind in used:
                self._record(f"{CALL_TOKENS}.{kind}", used[kind], metered)
        spent = self._bounded(metered) | {"gen_ai.token.modality": "unknown"}
        for kind, tokens in used.items():
            self._spent[kind].add(tokens, spent)

    # -- tools, approvals, compactions --

    def _tool(
        self,
        session: _Session,
        event: ApprovalAsked | ApprovalGiven | ToolStarted | ToolEnded,
    ) -> None:
        """The wait for a person ends at the answer, or where this process learns of it by what follows."""
        call = event.call_id
        if isinstance(event, ApprovalAsked):
            self._tool_started(session, "approval", event)
            return
        is_denied = isinstance(event, ApprovalGiven) and not event.approved
        approved = not (is_denied or isinstance(event, ToolEnded))
        self._end(session, f"approval {call}", event, {"ullage.approved": approved})
        if isinstance(event, ToolStarted):
            self._turn(session, event)
            self._tool_started(session, "tool", event)
        elif isinstance(event, ToolEnded):
            wrong = "" if event.outcome == "finished" else event.outcome
            self._end(session, f"tool {call}", event, wrong=wrong)

    def _tool_started(
        self, session: _Session, kind: str, event: ApprovalAsked | ToolStarted
    ) -> None:
        view = self._view(event)
        name = event.name if isinstance(event, ToolStarted) else ""
        attributes: Attributes = {"gen_ai.tool.call.id": event.call_id}
        for call in view.open_calls:
            if call.call_id == event.call_id:
                name = name or call.name
                if self._content is not None:
                    arguments = self._content.value(call.arguments)
                    attributes["gen_ai.tool.call.arguments"] = arguments
        if name in view.tools:
            declared = view.tools[name].declaration
            attributes |= known({"gen_ai.tool.description": declared.description})
        metered = known({"gen_ai.tool.name": name, "gen_ai.agent.name": view.agent})
        operation = kind
        if kind == "tool":
            operation = "execute_tool"
            attributes["gen_ai.operation.name"] = operation
            metered["gen_ai.tool.type"] = "function"
        key = f"{kind} {event.call_id}"
        self._start(session, key, f"{operation} {name}", event, attributes, metered)

    def _compaction(self, session: _Session, event: Event) -> None:
        key = "compaction"
        attributes: Attributes
        match event:
            case CompactionStarted():
                attributes = {"ullage.trigger": event.trigger}
                self._start(session, key, key, event, attributes)
            case CompactionRolledBack() if event.rung:
                self._note(session, key, event, "rung", "reason")
            case CompactionRolledBack() if event.proposed is not None:
                attributes = {"ullage.strategy": event.strategy}
                self._end(session, key, event, attributes)
            case CompactionRolledBack():
                self._end(session, key, event, wrong=event.reason, text=event.note)
            case CompactionCommitted() | Pruned():
                attributes = {
                    "ullage.strategy": getattr(event, "rung", "clear"),
                    "ullage.tokens.before": event.before or 0,
                    "ullage.tokens.after": event.after or 0,
                }
                summary = getattr(event, "summary", None)
                if summary is not None and self._content is not None:
                    said = self._content.messages([summary], "stop")
                    attributes["gen_ai.output.messages"] = said
                self._end(session, key, event, attributes)

    # -- spans and metrics --

    def _start(
        self,
        session: _Session,
        key: str,
        name: str,
        event: Event,
        attributes: Attributes,
        metered: Attributes | None = None,
        above: _Open | None = None,
    ) -> None:
        """Begin a span: by default below the innermost open one, where there is one. A summary may be made at rest."""
        inner = [session.open[each] for each in INNERMOST if each in session.open]
        above = above or next(iter(inner), None)
        context = context_of(session.trace) or self._root
        if above is not None:
            context = self._api.set_span_in_context(above.span)
        kinds = self._api.SpanKind
        metered = metered or {}
        span = self._tracer.start_span(
            name.strip(),
            context=context,
            kind=kinds.CLIENT if key.startswith("call") else kinds.INTERNAL,
            attributes={
                "gen_ai.conversation.id": event.session,
                **known({"gen_ai.agent.name": self._view(event).agent}),
                **metered,
                **attributes,
            },
            start_time=_time(event.at),
        )
        session.open[key] = _Open(span, event.at, metered)

    def _end(
        self,
        session: _Session,
        key: str,
        event: Event,
        attributes: Attributes | None = None,
        wrong: str = "",
        text: str = "",
    ) -> None:
        """End a span, if it is open; after the message that follows at once, where its content is recorded."""
        begun = session.open.pop(key, None)
        if begun is None:
            return
        span, at, metered = begun
        span.set_attributes(attributes or {})
        if wrong:
            span.set_attribute("error.type", wrong)
            span.set_status(self._api.Status(self._api.StatusCode.ERROR, text or wrong))
        kind, _, call = key.partition(" ")
        if at and event.at:
            took = max(0.0, event.at - at)
            if kind in DURATIONS:
                failed = known({"error.type": wrong})
                self._record(DURATIONS[kind], took, metered | failed)
        if call and self._content is not None:
            self._end_waiting(session, event)
            session.ended = (span, call, event.at)
        else:
            span.end(_time(event.at))

    def _end_waiting(self, session: _Session, event: Event) -> None:
        if session.ended is None:
            return
        span, call, at = session.ended
        session.ended = None
        if isinstance(event, MessageAdded) and self._content is not None:
            if event.message.call == call:
                said = self._content.messages([event.message], session.finish)
                span.set_attribute("gen_ai.output.messages", said)
            for part in event.message.of_type(ToolResultPart):
                if part.call_id == call:
                    result = self._content.value(part.text)
                    span.set_attribute("gen_ai.tool.call.result", result)
        span.end(_time(at))

    def _note(self, session: _Session, key: str, event: Event, *fields: str) -> None:
        """These fields of the event as an event of an open span."""
        if key in session.open:
            found = {f"ullage.{name}": getattr(event, name) for name in fields}
            name = f"ullage.{type(event).__struct_config__.tag}"
            session.open[key].span.add_event(name, found, timestamp=_time(event.at))

    def _record(self, name: str, value: float, attributes: Attributes) -> None:
        self._histograms[name].record(value, self._bounded(attributes))

    def _bounded(self, attributes: Attributes) -> Attributes:
        """Metrics keep each value for good, and callers name models."""
        return {
            name: self._values.bounded(name, value) if isinstance(value, str) else value
            for name, value in attributes.items()
        }


def _time(at: float) -> int | None:
    """Nanoseconds; ``None`` where no time is known."""
    return round(at * 1e9) if at else None
