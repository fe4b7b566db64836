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
``gen-ai-metrics.md``. What that release renamed has its name of v1.41.0 too (``non-normative/migration.md``), which
dashboards and OpenTelemetry's own instrumentations use. Input tokens include what was read from and written to a cache,
output tokens include reasoning. The usage of a turn is ``gen_ai.aggregated_usage.…``, as in pydantic-ai, so that sums
over spans count nothing twice. Names without an equal in the conventions begin with ``ullage.``.
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
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.policy import TRACED_SESSIONS
from ullage_agent.runtime.session_view import SessionView, Viewed
from ullage_agent.runtime.trace_context import context_of, traceparent_of
from ullage_agent.runtime.traced_content import TracedContent
from ullage_agent.runtime.traced_names import (
    CALL_DURATION,
    FIRST_CHUNK,
    INSTRUMENTS,
    STOPS,
    USAGE,
    Attributes,
    address_of,
    asked,
    named,
    params_of,
    served,
    usage_of,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider

NAME: Final = "ullage"

NANOSECONDS: Final = 1_000_000_000

CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that switches content on; its values are those of opentelemetry-util-genai 1.3b0, and of the time before
``true``: https://github.com/open-telemetry/opentelemetry-python-genai."""

IN_SPANS: Final = frozenset({"span_only", "span_and_event", "true"})

FAILED: Final = frozenset({"failed", "dropped", "too_large"})
"""Reasons of a turn's end that are errors."""


class _Open(NamedTuple):
    """A span that has not ended, since when it runs, and the attributes of its metrics."""

    span: Span
    at: float
    metered: Attributes


class _Ending(NamedTuple):
    """A span that ends at ``at`` and waits for the message beside the event that ended it."""

    span: Span
    at: float
    id: str
    """Of the model call or the tool call."""
    finish: str = ""


@dataclass(slots=True)
class _Session:
    """The open spans of one session. ``agent`` is that of an agent that the turn was handed over to, ``trace`` what the
    turn belongs below."""

    trace: str = ""
    turn: _Open | None = None
    agent: Span | None = None
    compaction: Span | None = None
    calls: dict[str, _Open] = field(default_factory=dict)
    tools: dict[str, _Open] = field(default_factory=dict)
    approvals: dict[str, Span] = field(default_factory=dict)
    ending: _Ending | None = None
    request: Request | None = None
    usage: dict[str, int] = field(default_factory=dict)
    """The sums of the turn, by the conventions' names."""
    finish: str = ""
    said: list[Message] = field(default_factory=list)
    answer: Message | None = None

    @property
    def innermost(self) -> Span | None:
        """What a new span is below."""
        turn = None if self.turn is None else self.turn.span
        return self.compaction or self.agent or turn

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is open."""
        open_spans = self.turn or self.calls or self.tools or self.approvals
        return not (open_spans or self.trace or self.compaction or self.ending)


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
        self._meters: dict[str, Histogram] = {
            name: meter.create_histogram(
                name, unit, explicit_bucket_boundaries_advisory=boundaries
            )
            for name, (unit, boundaries) in INSTRUMENTS.items()
        }
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
        tool = self._session(session).tools.get(call_id)
        if tool is None:
            return nullcontext()
        return self._api.use_span(
            tool.span, record_exception=False, set_status_on_exception=False
        )

    async def before_call(self, request: Request, reading: Reading) -> None:
        """See ``Hook.before_call``: the request is kept for the span of the call."""
        self._session(reading.session).request = request

    def on_event(self, event: Event) -> None:
        """See ``Hook.on_event``."""
        session = self._session(event.session)
        self._end_waiting(session, event)
        match event:
            case TurnStarted():
                session.trace = event.trace
                self._turn(session, event)
            case MessageAdded(message=message) if self._content and session.turn:
                if message.role == "user":
                    session.said.append(message)
                elif message.role == "assistant":
                    session.answer = message
            case HandedOver():
                self._handed_over(session, event)
            case CallStarted():
                self._call_started(session, event)
            case CallRetried() if event.call in session.calls:
                span = session.calls[event.call].span
                waited = {"attempt": event.attempt, "wait_s": event.wait_s}
                _add_event(span, event, "retry", {**waited, "error": event.error})
            case CallEnded():
                self._call_ended(session, event)
            case ApprovalAsked():
                self._approval_asked(session, event)
            case ApprovalGiven():
                self._approved(session, event, is_given=event.approved)
            case ToolStarted():
                self._tool_started(session, event)
            case ToolEnded():
                self._tool_ended(session, event)
            case CompactionStarted():
                self._compaction_started(session, event)
            case CompactionCommitted() | Pruned() | CompactionRolledBack():
                self._compaction_ended(session, event)
            case FellBack() if session.turn is not None:
                failed = {"model": event.model, "error_kind": event.error_kind}
                _add_event(session.turn.span, event, "fell_back", failed)
            case TurnEnded() | TurnPaused():
                self._turn_over(session, event)
            case _:
                pass
        if self._sessions[event.session].is_at_rest:
            del self._sessions[event.session]

    def _session(self, session: str) -> _Session:
        found = self._sessions.setdefault(session, _Session())
        if len(self._sessions) > TRACED_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return found

    def _view(self, event: Event) -> SessionView | None:
        driven = self._driven.get(event.session)
        return None if driven is None else driven.view()

    # -- turns --

    def _turn(self, session: _Session, event: Event) -> None:
        """Begin the span of the turn, where none is open: the rest of a turn that another process began has one too."""
        if session.turn is None:
            view = self._view(event)
            agent = "" if view is None else view.agent
            attributes = {} if view is None else asked(view)
            if view is not None and view.description:
                attributes["gen_ai.agent.description"] = view.description
            span = self._agent_span(
                agent, event, context_of(session.trace) or self._root, attributes
            )
            session.turn = _Open(span, event.at, named(agent))

    def _agent_span(
        self, agent: str, event: Event, context: Context, attributes: Attributes
    ) -> Span:
        return self._tracer.start_span(
            f"invoke_agent {agent}".strip(),
            context=context,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.conversation.id": event.session,
                **named(agent),
                **attributes,
            },
            start_time=_time(event.at),
        )

    def _handed_over(self, session: _Session, event: HandedOver) -> None:
        if session.turn is None:
            return
        tool = session.tools.get(event.call_id)
        above = session.turn.span if tool is None else tool.span
        if session.agent is not None:
            session.agent.end(_time(event.at))
        context = self._api.set_span_in_context(above)
        session.agent = self._agent_span(event.agent, event, context, {})

    def _turn_over(self, session: _Session, event: TurnEnded | TurnPaused) -> None:
        turn = session.turn
        if turn is None:
            session.trace = ""
            return
        for inner in (session.compaction, session.agent):
            if inner is not None:
                inner.end(_time(event.at))
        is_ended = isinstance(event, TurnEnded)
        attributes: Attributes = {
            f"gen_ai.aggregated_usage.{kind}": tokens
            for kind, tokens in session.usage.items()
        }
        attributes[f"ullage.turn.{'ended' if is_ended else 'paused'}"] = event.reason
        if session.finish:
            attributes["gen_ai.response.finish_reasons"] = [session.finish]
        if self._content is not None:
            if session.said:
                said = self._content.messages(session.said)
                attributes["gen_ai.input.messages"] = said
            if session.answer is not None:
                attributes["gen_ai.output.messages"] = self._content.messages(
                    [session.answer], session.finish or "stop"
                )
        turn.span.set_attributes(attributes)
        wrong = event.reason if event.reason in FAILED else ""
        self._fail(turn.span, wrong)
        turn.span.end(_time(event.at))
        self._measure(turn, event, wrong, "gen_ai.invoke_agent.duration")
        # What a paused turn does later is in the same trace.
        trace = "" if is_ended else session.trace or traceparent_of(turn.span)
        self._sessions[event.session] = _Session(trace, approvals=session.approvals)

    # -- compactions --

    def _compaction_started(self, session: _Session, event: CompactionStarted) -> None:
        attributes: Attributes = {
            "ullage.compaction.id": event.compaction,
            "ullage.compaction.trigger": event.trigger,
        }
        session.compaction = self._span("compaction", session, event, attributes)

    def _compaction_ended(
        self,
        session: _Session,
        event: CompactionCommitted | Pruned | CompactionRolledBack,
    ) -> None:
        span = session.compaction
        if span is None:
            return
        if isinstance(event, CompactionRolledBack) and event.rung:
            failed = {"strategy": event.rung, "reason": event.reason}
            _add_event(span, event, "attempt_failed", failed)
            return
        if isinstance(event, CompactionRolledBack):
            self._fail(span, event.reason, event.note)
        else:
            span.set_attribute("ullage.compaction.tokens.before", event.before or 0)
            span.set_attribute("ullage.compaction.tokens.after", event.after or 0)
        if isinstance(event, CompactionCommitted):
            span.set_attribute("ullage.compaction.strategy", event.rung)
        span.end(_time(event.at))
        session.compaction = None

    # -- calls of the model --

    def _call_started(self, session: _Session, event: CallStarted) -> None:
        if event.purpose == "child":
            return  # the child's own session has its span
        made = event.fingerprint or Fingerprint()
        model, view = made.model, self._view(event)
        metered: Attributes = {"gen_ai.operation.name": "chat"}
        metered |= served(made.endpoint, model)
        attributes: Attributes = {
            "ullage.purpose": event.purpose,
            "ullage.snapshot": event.snapshot,
        }
        if event.stream:
            attributes["gen_ai.request.stream"] = True
        if event.estimate is not None:
            attributes["ullage.estimate.tokens"] = event.estimate.tokens
            attributes["ullage.estimate.low"] = event.estimate.low
            attributes["ullage.estimate.high"] = event.estimate.high
        if event.purpose == "main":
            self._turn(session, event)
            if view is not None:
                metered |= address_of(view.address)
                attributes |= asked(view)
            if session.request is not None:
                attributes |= self._request(session.request)
        span = self._span(
            f"chat {model}".strip(),
            session,
            event,
            {**metered, **attributes},
            self._api.SpanKind.CLIENT,
        )
        session.calls[event.call] = _Open(span, event.at, metered)
        session.request = None

    def _request(self, request: Request) -> Attributes:
        """What the request holds: parameters, and its content where that is on."""
        found = params_of(request.params)
        if self._content is not None:
            found["gen_ai.input.messages"] = self._content.messages(request.messages)
            if request.system:
                found["gen_ai.system_instructions"] = self._content.system(request.system)
            if request.tools:
                found["gen_ai.tool.definitions"] = self._content.tools(request.tools)
        return found

    def _call_ended(self, session: _Session, event: CallEnded) -> None:
        call = session.calls.pop(event.call, None)
        if call is None:
            return
        view = self._view(event) if event.purpose == "main" else None
        attributes = usage_of(event)
        if event.provider and event.purpose != "main":  # known only now
            call.metered.update(served(event.provider, event.model))
            call.span.update_name(f"chat {event.model}".strip())
        if event.model:
            call.metered["gen_ai.response.model"] = event.model
        finish = STOPS.get(event.stop, event.stop)
        if finish:
            attributes["gen_ai.response.finish_reasons"] = [finish]
        if view is not None and view.response_id:
            attributes["gen_ai.response.id"] = view.response_id
        if view is not None and view.first_chunk_at:
            first = max(0.0, view.first_chunk_at - call.at)
            attributes["gen_ai.response.time_to_first_chunk"] = first
            self._record(first, call.metered, *FIRST_CHUNK)
        call.span.set_attributes({**call.metered, **attributes})
        wrong = "" if event.outcome == "finished" else event.error_kind or event.outcome
        self._fail(call.span, wrong, event.error)
        self._measure(call, event, wrong, *CALL_DURATION)
        self._count(session, event, call.metered)
        ending = _Ending(call.span, event.at, event.call, finish or "stop")
        if event.purpose == "main":
            session.finish = finish
        self._end_later(session, ending)

    def _count(self, session: _Session, event: CallEnded, metered: Attributes) -> None:
        """The reported tokens of a call, in the sums of its turn and as metrics."""
        usage = event.usage
        if usage is None:
            return
        for name, kinds in USAGE.items():
            tokens = getattr(usage, name)
            for kind in kinds if tokens is not None else ():
                session.usage[kind] = session.usage.get(kind, 0) + tokens
        if usage.placeholder:
            return
        for kind, tokens in (("input", usage.input), ("output", usage.output)):
            if tokens is not None:
                self._record(
                    tokens, metered, f"gen_ai.client.inference.operation.{kind}_tokens"
                )
                self._record(
                    tokens,
                    {**metered, "gen_ai.token.type": kind},
                    "gen_ai.client.token.usage",
                )

    # -- tools and approvals --

    def _approval_asked(self, session: _Session, event: ApprovalAsked) -> None:
        view = self._view(event)
        open_calls = () if view is None else view.open_calls
        names = [call.name for call in open_calls if call.call_id == event.call_id]
        attributes: Attributes = {"gen_ai.tool.call.id": event.call_id}
        if names:
            attributes["gen_ai.tool.name"] = names[0]
        session.approvals[event.call_id] = self._span(
            f"approval {''.join(names[:1])}".strip(), session, event, attributes
        )

    def _approved(
        self,
        session: _Session,
        event: ApprovalGiven | ToolStarted | ToolEnded,
        *,
        is_given: bool,
    ) -> None:
        """End the wait for a person: at the answer, or where this process learns of it by what follows."""
        span = session.approvals.pop(event.call_id, None)
        if span is not None:
            span.set_attribute("ullage.approved", is_given)
            span.end(_time(event.at))

    def _tool_started(self, session: _Session, event: ToolStarted) -> None:
        self._turn(session, event)
        self._approved(session, event, is_given=True)
        view = self._view(event)
        metered: Attributes = {
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.type": "function",
            **named("" if view is None else view.agent),
        }
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.call.id": event.call_id,
        }
        if view is not None:
            if event.name in view.tools:
                declared = view.tools[event.name].declaration
                attributes["gen_ai.tool.description"] = declared.description
            arguments = [
                call.arguments
                for call in view.open_calls
                if call.call_id == event.call_id
            ]
            if self._content is not None and arguments:
                attributes["gen_ai.tool.call.arguments"] = self._content.value(
                    arguments[0]
                )
        span = self._span(
            f"execute_tool {event.name}", session, event, {**metered, **attributes}
        )
        session.tools[event.call_id] = _Open(span, event.at, metered)

    def _tool_ended(self, session: _Session, event: ToolEnded) -> None:
        self._approved(session, event, is_given=False)
        tool = session.tools.pop(event.call_id, None)
        if tool is None:
            return
        wrong = "" if event.outcome == "finished" else event.outcome
        self._fail(tool.span, wrong)
        self._measure(tool, event, wrong, "gen_ai.execute_tool.duration")
        self._end_later(session, _Ending(tool.span, event.at, event.call_id))

    # -- spans --

    def _span(
        self,
        name: str,
        session: _Session,
        event: Event,
        attributes: Attributes,
        kind: SpanKind | None = None,
    ) -> Span:
        """Below the turn, where there is one: a summary may be made at rest."""
        above = session.innermost
        context = self._root
        if above is not None:
            context = self._api.set_span_in_context(above)
        view = self._view(event)
        return self._tracer.start_span(
            name,
            context=context,
            kind=kind or self._api.SpanKind.INTERNAL,
            attributes={
                "gen_ai.conversation.id": event.session,
                **named("" if view is None else view.agent),
                **attributes,
            },
            start_time=_time(event.at),
        )

    def _end_later(self, session: _Session, ending: _Ending) -> None:
        """End the span, after the message that follows at once where its content is recorded."""
        if self._content is None:
            ending.span.end(_time(ending.at))
        else:
            session.ending = ending

    def _end_waiting(self, session: _Session, event: Event) -> None:
        ending, session.ending = session.ending, None
        if ending is None:
            return
        if isinstance(event, MessageAdded) and self._content is not None:
            message = event.message
            if message.call == ending.id:
                said = self._content.messages([message], ending.finish)
                ending.span.set_attribute("gen_ai.output.messages", said)
            for part in message.of_type(ToolResultPart):
                if part.call_id == ending.id:
                    result = self._content.value(part.text)
                    ending.span.set_attribute("gen_ai.tool.call.result", result)
        ending.span.end(_time(ending.at))

    def _fail(self, span: Span, wrong: str, text: str = "") -> None:
        """Mark the span as failed, if something is wrong."""
        if wrong:
            span.set_attribute("error.type", wrong)
            span.set_status(self._api.Status(self._api.StatusCode.ERROR, text or wrong))

    # -- metrics --

    def _measure(self, begun: _Open, event: Event, wrong: str, *names: str) -> None:
        """Record how long it took, where both times are known."""
        if begun.at and event.at:
            metered = {**begun.metered, "error.type": wrong} if wrong else begun.metered
            self._record(max(0.0, event.at - begun.at), metered, *names)

    def _record(self, value: float, attributes: Attributes, *names: str) -> None:
        for name in names:
            self._meters[name].record(value, attributes)


def _add_event(
    span: Span, event: Event, name: str, details: Mapping[str, str | float]
) -> None:
    attributes = {f"ullage.{each}": value for each, value in details.items()}
    span.add_event(f"ullage.{name}", attributes, timestamp=_time(event.at))


def _time(at: float) -> int | None:
    return round(at * NANOSECONDS) if at else None
