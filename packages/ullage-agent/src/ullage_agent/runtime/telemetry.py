"""OpenTelemetry spans of turns, model calls and tools, in the GenAI conventions. Needs the extra ``telemetry``.

    agent = ullage.Agent("anthropic:claude-haiku-4-5", hooks=[Telemetry()])

A turn is one span (``invoke_agent``); below it each model call (``chat MODEL``), summaries included, and each tool call
(``execute_tool NAME``). They are made of the ledger's events: times and numbers are those of the ledger, and a call
that failed or was cancelled has its span too. What a process leaves open when it ends is not exported. No content is
recorded: no prompt, answer, argument or result. Without an exporter it does nothing.

A turn belongs to the trace of the request that began it, in whichever process it is driven: the request's
``traceparent`` is in the ledger (https://www.w3.org/TR/trace-context/). So does the rest of a turn whose driver died.

The names are those of https://github.com/open-telemetry/semantic-conventions-genai (status: development, schema
gen-ai/1.42.0): input tokens include what was read from and written to a cache, output tokens include reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ullage.errors import MissingExtra
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    CompactionRolledBack,
    Event,
    Fingerprint,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.installation import extra_command
from ullage.models.providers import canonical, provider_named
from ullage_agent.runtime.hooks import Hook

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider

NAME: Final = "ullage"

NANOSECONDS: Final = 1_000_000_000

STOPS: Final[Mapping[str, str]] = {"tool_calls": "tool_call", "refused": "content_filter"}
"""Reasons to stop whose name in the conventions is not ours."""

_Attributes = dict[str, str | int | float | bool | list[str]]


@dataclass(slots=True)
class _Session:
    """The open spans of one session. ``turn`` is the span of the current turn, ``trace`` what it belongs below."""

    turn: Span | None = None
    trace: str = ""
    calls: dict[str, Span] = field(default_factory=dict)
    tools: dict[str, Span] = field(default_factory=dict)


class Telemetry(Hook):
    """Spans of everything that this process does for its sessions. ``provider`` is whose tracer is used.

    Raises ``MissingExtra`` without the package ``opentelemetry-api``.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError as problem:
            raise MissingExtra(
                f"Spans need OpenTelemetry. Install it: {extra_command('telemetry')}"
            ) from problem
        self._api = trace
        self._tracer: Tracer = trace.get_tracer(NAME, tracer_provider=provider)
        self._sessions: dict[str, _Session] = {}

    def on_driven(self, session: str, trace: str) -> None:
        """See ``Hook.on_driven``: the rest of a turn has a span below the same request."""
        if trace:
            self._sessions.setdefault(session, _Session()).trace = trace

    def on_event(self, event: Event) -> None:
        """See ``Hook.on_event``."""
        session = self._sessions.setdefault(event.session, _Session())
        match event:
            case TurnStarted():
                session.trace = event.trace
                self._turn(session, event)
            case CallStarted():
                self._call_started(session, event)
            case CallEnded():
                self._call_ended(session, event)
            case ToolStarted():
                self._turn(session, event)
                attributes: _Attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": event.name,
                    "gen_ai.tool.call.id": event.call_id,
                    "gen_ai.tool.type": "function",
                }
                session.tools[event.call_id] = self._span(
                    f"execute_tool {event.name}", session, event, attributes
                )
            case ToolEnded():
                wrong = "" if event.outcome == "finished" else event.outcome
                self._end(session.tools.pop(event.call_id, None), event, wrong)
            case CompactionCommitted() | CompactionRolledBack():
                self._compaction(session, event)
            case TurnEnded() | TurnPaused():
                self._turn_over(session, event)
            case _:
                pass
        is_open = session.turn or session.trace or session.calls or session.tools
        if not is_open:
            del self._sessions[event.session]

    # -- turns --

    def _turn(self, session: _Session, event: Event) -> Span:
        """The span of the current turn; the rest of a turn that another process began has a span of its own."""
        if session.turn is None:
            attributes: _Attributes = {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.conversation.id": event.session,
            }
            session.turn = self._tracer.start_span(
                "invoke_agent",
                context=context_of(session.trace),
                attributes=attributes,
                start_time=_time(event),
            )
        return session.turn

    def _turn_over(self, session: _Session, event: TurnEnded | TurnPaused) -> None:
        turn, session.turn, session.trace = session.turn, None, ""
        if turn is not None:
            name = (
                "ullage.turn.ended"
                if isinstance(event, TurnEnded)
                else "ullage.turn.paused"
            )
            turn.set_attribute(name, event.reason)
            self._end(
                turn,
                event,
                event.reason
                if event.reason in ("failed", "dropped", "too_large")
                else "",
            )

    def _compaction(
        self, session: _Session, event: CompactionCommitted | CompactionRolledBack
    ) -> None:
        if session.turn is None:
            return
        attributes: _Attributes = {
            "ullage.compaction": event.compaction,
            "ullage.rung": event.rung,
        }
        name = "ullage.compaction.rolled_back"
        if isinstance(event, CompactionCommitted):
            name = "ullage.compaction.committed"
            attributes |= {
                "ullage.tokens.before": event.before or 0,
                "ullage.tokens.after": event.after or 0,
            }
        else:
            attributes["ullage.reason"] = event.reason
        session.turn.add_event(name, attributes, timestamp=_time(event))

    # -- calls --

    def _call_started(self, session: _Session, event: CallStarted) -> None:
        if event.purpose == "child":
            return  # the child's own session has its span
        made = event.fingerprint or Fingerprint()
        model, provider = (
            made.model,
            provider_named(made.endpoint).telemetry or canonical(made.endpoint),
        )
        attributes: _Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "ullage.purpose": event.purpose,
            "ullage.snapshot": event.snapshot,
        }
        if event.estimate is not None:
            attributes["ullage.estimate.tokens"] = event.estimate.tokens
            attributes["ullage.estimate.low"] = event.estimate.low
            attributes["ullage.estimate.high"] = event.estimate.high
        if provider:
            attributes["gen_ai.provider.name"] = provider
        if event.purpose == "main":
            self._turn(session, event).set_attributes(
                {"gen_ai.provider.name": provider, "gen_ai.request.model": model}
            )
        kind = self._api.SpanKind.CLIENT
        session.calls[event.call] = self._span(
            f"chat {model}".strip(), session, event, attributes, kind
        )

    def _call_ended(self, session: _Session, event: CallEnded) -> None:
        span = session.calls.pop(event.call, None)
        if span is None:
            return
        span.set_attributes(_usage(event))
        if event.model:
            span.set_attribute("gen_ai.response.model", event.model)
        if event.stop:
            span.set_attribute(
                "gen_ai.response.finish_reasons", [STOPS.get(event.stop, event.stop)]
            )
        wrong = "" if event.outcome == "finished" else event.error_kind or event.outcome
        self._end(span, event, wrong, event.error)

    # -- spans --

    def _span(
        self,
        name: str,
        session: _Session,
        event: Event,
        attributes: _Attributes,
        kind: SpanKind | None = None,
    ) -> Span:
        """Below the turn, where there is one: a summary may be made at rest."""
        return self._tracer.start_span(
            name,
            context=None
            if session.turn is None
            else self._api.set_span_in_context(session.turn),
            kind=kind or self._api.SpanKind.INTERNAL,
            attributes={**attributes, "gen_ai.conversation.id": event.session},
            start_time=_time(event),
        )

    def _end(self, span: Span | None, event: Event, wrong: str, text: str = "") -> None:
        if span is None:
            return
        if wrong:
            span.set_attribute("error.type", wrong)
            span.set_status(self._api.Status(self._api.StatusCode.ERROR, text or wrong))
        span.end(end_time=_time(event))


def context_of(trace: str) -> Context | None:
    """The context that a ``traceparent`` describes; ``None``, which is the current one, for none."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if not trace:
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": trace})


def _usage(event: CallEnded) -> _Attributes:
    """The reported usage as attributes."""
    usage = event.usage
    if usage is None:
        return {}
    fields = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    reported: _Attributes = {
        name: tokens for name, tokens in fields.items() if tokens is not None
    }
    if usage.placeholder or not usage.final:
        reported["ullage.usage.estimated"] = True
    return reported


def _time(event: Event) -> int | None:
    return round(event.at * NANOSECONDS) if event.at else None
