"""Spans, as an exporter gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    HistogramDataPoint,
    InMemoryMetricReader,
    Metric,
    NumberDataPoint,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.agents import haiku
from tests.processes import run_python
from tests.runtime.gen_ai_conventions import (
    BOUNDARIES,
    COUNTERS,
    OTHERS,
    RENAMED,
    REQUIRED,
    SPANS,
)
from ullage.codec.blocks import Options
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
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.installation import extra_command
from ullage.messages import Message, Request, TextPart
from ullage.meter.meter import Meter
from ullage.usage import Usage
from ullage_agent.runtime.label_values import OTHER
from ullage_agent.runtime.policy import MOST_LABEL_VALUES
from ullage_agent.runtime.session_view import SessionView
from ullage_agent.runtime.subagent import subagent
from ullage_agent.runtime.telemetry import CONTENT, Telemetry
from ullage_simulators import running
from ullage_simulators.scenario import read

NOTHING_KNOWN: dict[str, Any] = {
    "agent": "",
    "description": "",
    "address": "",
    "options": Options(),
    "has_output_type": False,
    "is_compacted": False,
    "tools": {},
    "open_calls": (),
    "first_chunk_at": 0.0,
    "response_id": "",
}

MADE = Fingerprint(endpoint="google", model="gemini-3-flash")


class Seen:
    """A session as a hook sees it."""

    def __init__(self, **known: Any) -> None:
        self.known = SessionView(**{**NOTHING_KNOWN, **known})

    def view(self) -> SessionView:
        return self.known


class Recorder:
    """A tracer whose spans can be looked at."""

    def __init__(self, *, content: bool = False) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.telemetry = Telemetry(
            self.provider, meters=MeterProvider([self.reader]), content=content
        )

    def told(self, *events: Event) -> list[ReadableSpan]:
        """The spans that ended with these events."""
        for event in events:
            self.telemetry.on_event(event)
        return self.spans

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def metrics(self) -> list[Metric]:
        data = self.reader.get_metrics_data()
        return [
            metric
            for resource in ([] if data is None else data.resource_metrics)
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]

    def points(self, name: str) -> list[tuple[float, dict[str, Any]]]:
        """Sum and attributes of each series of a metric."""
        return [
            (cast(HistogramDataPoint, point).sum, dict(point.attributes or {}))
            for metric in self.metrics()
            if metric.name == name
            for point in metric.data.data_points
        ]

    def totals(self, name: str) -> list[tuple[float, dict[str, Any]]]:
        """Value and attributes of each series of a counter."""
        return [
            (cast(NumberDataPoint, point).value, dict(point.attributes or {}))
            for metric in self.metrics()
            if metric.name == name
            for point in metric.data.data_points
        ]


def named(spans: Sequence[ReadableSpan], name: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name == name]


def of(span: ReadableSpan) -> Mapping[str, object]:
    return span.attributes or {}


async def look(what: str) -> str:
    """Look at something.

    Args:
        what: what to look at
    """
    return f"{what}: a secret"


SCRIPT = {
    "answers": [
        {"when": {"contains": "How far"}, "text": "Two hours."},
        {
            "when": {"after": "user"},
            "calls": [
                {"name": "look", "arguments": {"what": "a secret"}},
                {"name": "ask", "arguments": {"task": "How far is it?"}},
            ],
        },
        {"when": {"after": "tool"}, "text": "It is a secret."},
    ]
}


async def run_with(recorder: Recorder, path: Path) -> list[Event]:
    """The ledger of a conversation with a tool and a subagent."""
    with running(read(SCRIPT)) as simulator:
        url = simulator.url("anthropic")
        router = haiku(path / "other.db", name="router", base_url=url)
        agent = haiku(
            path / "s.db",
            name="travel",
            description="Plans journeys.",
            system="A secret prompt.",
            tools=[look, subagent(router, name="ask", description="Ask.")],
            hooks=[recorder.telemetry],
            base_url=url,
            temperature=0.5,
            max_output=900,
        )
        async with agent.session("s") as session:
            await session.ask("Tell me a secret.")
            return await session.history()


async def test_a_turn_of_a_session_is_a_trace_without_content(tmp_path: Path) -> None:
    recorder = Recorder()
    history = await run_with(recorder, tmp_path)
    (turn,) = named(recorder.spans, "invoke_agent travel")
    below = [span for span in recorder.spans if span.parent == turn.context]
    first, second = named(below, "chat claude-haiku-4-5")
    (tool,) = named(recorder.spans, "execute_tool look")
    assert len(recorder.spans) == 7
    for span in (first, second, tool):
        assert span.parent is not None and span.parent.span_id == turn.context.span_id
        assert of(span)["gen_ai.conversation.id"] == "s"
        assert of(span)["gen_ai.agent.name"] == "travel"
    ended = [
        event
        for event in history
        if isinstance(event, CallEnded) and event.purpose == "main"
    ]
    for span, event in zip((first, second), ended, strict=True):
        assert span.kind is SpanKind.CLIENT
        assert event.usage is not None
        assert of(span)["gen_ai.usage.input_tokens"] == event.usage.input
        assert of(span)["gen_ai.usage.output_tokens"] == event.usage.output
        assert of(span)["gen_ai.provider.name"] == "anthropic"
        assert of(span)["gen_ai.request.temperature"] == 0.5
        assert of(span)["gen_ai.request.max_tokens"] == 900
        assert of(span)["gen_ai.response.id"]
        assert cast(float, of(span)["gen_ai.response.time_to_first_chunk"]) > 0
        assert of(span)["server.address"] == "127.0.0.1"
        assert of(span)["ullage.snapshot"]
        assert span.end_time == round(event.at * 1_000_000_000)
    assert of(first)["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert of(turn)["gen_ai.agent.description"] == "Plans journeys."
    assert of(turn)["gen_ai.aggregated_usage.input_tokens"] == sum(
        cast(int, of(span)["gen_ai.usage.input_tokens"]) for span in (first, second)
    )
    assert not [
        value
        for span in recorder.spans
        for value in of(span).values()
        if "secret" in str(value)
    ]


async def test_a_subagent_is_below_the_call_that_asked_it(tmp_path: Path) -> None:
    recorder = Recorder()
    await run_with(recorder, tmp_path)
    (tool,) = named(recorder.spans, "execute_tool ask")
    (turn,) = named(recorder.spans, "invoke_agent router")
    (call,) = [span for span in recorder.spans if span.parent == turn.context]
    assert turn.parent is not None and turn.parent.span_id == tool.context.span_id
    assert of(turn)["gen_ai.conversation.id"] == of(call)["gen_ai.conversation.id"] != "s"
    assert of(call)["gen_ai.agent.name"] == "router"


async def test_with_content_a_trace_has_the_words(tmp_path: Path) -> None:
    recorder = Recorder(content=True)
    await run_with(recorder, tmp_path)
    (tool,) = named(recorder.spans, "execute_tool look")
    (turn,) = named(recorder.spans, "invoke_agent travel")
    first, last = [
        span
        for span in recorder.spans
        if span.parent == turn.context and span.name.startswith("chat")
    ]
    assert of(tool)["gen_ai.tool.call.arguments"] == '{"what":"a secret"}'
    assert of(tool)["gen_ai.tool.call.result"] == "a secret: a secret"
    asked = '{"type":"text","content":"Tell me a secret."}'
    said = '{"type":"text","content":"It is a secret."}'
    assert of(first)["gen_ai.system_instructions"] == (
        '[{"type":"text","content":"A secret prompt."}]'
    )
    assert asked in str(of(first)["gen_ai.input.messages"])
    assert '"tool_call_response"' in str(of(last)["gen_ai.input.messages"])
    assert '"name":"look"' in str(of(first)["gen_ai.tool.definitions"])
    assert said in str(of(last)["gen_ai.output.messages"])
    assert asked in str(of(turn)["gen_ai.input.messages"])
    assert said in str(of(turn)["gen_ai.output.messages"])


async def test_every_name_is_one_of_the_conventions(tmp_path: Path) -> None:
    recorder = Recorder(content=True)
    await run_with(recorder, tmp_path)
    for span in recorder.spans:
        operation = span.name.partition(" ")[0]
        known = {"gen_ai.agent.name", OTHERS, *SPANS[operation], *RENAMED}
        found = {
            name
            for name in of(span)
            if not name.startswith(("ullage.", "gen_ai.aggregated_usage."))
        }
        assert found <= known
        assert of(span).keys() >= REQUIRED[operation]
    told = {metric.name: metric for metric in recorder.metrics()}
    counters = {name: told.pop(name) for name in list(told) if name in COUNTERS}
    assert {"gen_ai.client.inference.usage.input_tokens"} <= counters.keys()
    for name, metric in counters.items():
        assert metric.unit == COUNTERS[name]
        for total in metric.data.data_points:
            assert (total.attributes or {})["gen_ai.token.modality"] == "unknown"
    cost = told.pop(OTHERS)
    assert cost.unit == "{USD}"
    assert told.keys() == BOUNDARIES.keys()
    for name, metric in told.items():
        assert metric.unit == ("{token}" if "token" in name else "s")
        for point in metric.data.data_points:
            assert isinstance(point, HistogramDataPoint)
            assert point.explicit_bounds == pytest.approx(BOUNDARIES[name])


async def test_a_call_costs_what_its_session_spent(tmp_path: Path) -> None:
    recorder = Recorder()
    await run_with(recorder, tmp_path)
    calls = named(recorder.spans, "chat claude-haiku-4-5")
    costs = [cast(float, of(span)[OTHERS]) for span in calls]
    assert min(costs) > 0
    (cost,) = [each for each in recorder.metrics() if each.name == OTHERS]
    points = [cast(HistogramDataPoint, each) for each in cost.data.data_points]
    assert sum(each.sum for each in points) == pytest.approx(sum(costs))


def test_input_tokens_include_the_cache_and_sums_count_nothing_twice() -> None:
    usage = Usage(input=100, output=20, cache_read=70, cache_write=10, reasoning=5)
    spans = Recorder().told(
        TurnStarted(turn="t", session="s", at=1),
        CallStarted(call="c", fingerprint=MADE, session="s", at=2),
        CallEnded(
            call="c",
            usage=usage,
            model="gemini-3-flash-001",
            stop="stop",
            session="s",
            at=3,
        ),
    )
    attributes = spans[0].attributes or {}
    assert attributes["gen_ai.usage.input_tokens"] == 100
    assert attributes["gen_ai.usage.cache_read.input_tokens"] == 70
    assert attributes["gen_ai.usage.cache_creation.input_tokens"] == 10
    assert attributes["gen_ai.usage.reasoning.output_tokens"] == 5
    assert attributes["gen_ai.provider.name"] == "gcp.gemini"
    assert attributes["gen_ai.response.model"] == "gemini-3-flash-001"


@pytest.mark.parametrize(
    ("event", "wrong"),
    [
        (
            CallEnded(
                call="c",
                outcome="failed",
                error_kind="RateLimited",
                error="slow down",
                session="s",
            ),
            "RateLimited",
        ),
        (CallEnded(call="c", outcome="cancelled", session="s"), "cancelled"),
        (CallEnded(call="c", outcome="dropped", session="s"), "dropped"),
    ],
)
def test_a_call_that_did_not_finish_has_its_span_and_says_how_it_ended(
    event: CallEnded, wrong: str
) -> None:
    (span,) = Recorder().told(CallStarted(call="c", fingerprint=MADE, session="s"), event)
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == wrong


def test_a_turn_that_another_process_began_goes_on_in_a_span_of_its_own() -> None:
    spans = Recorder().told(
        CallStarted(call="c", fingerprint=MADE, session="s"),
        CallEnded(call="c", session="s"),
        TurnPaused(turn="t", reason="budget", session="s"),
    )
    call, turn = spans
    assert call.parent is not None and call.parent.span_id == turn.context.span_id
    assert (turn.attributes or {})["ullage.turn.paused"] == "budget"


def test_a_compaction_is_a_span_with_its_calls_below_it() -> None:
    call, compaction, turn = Recorder().told(
        TurnStarted(turn="t", session="s"),
        CompactionStarted(compaction="k", trigger="point", session="s"),
        CompactionRolledBack(compaction="k", reason="too_long", rung="trim", session="s"),
        CallStarted(call="c", purpose="summary", session="s"),
        CallEnded(call="c", purpose="summary", provider="google", model="m", session="s"),
        CompactionCommitted(
            compaction="k", before=900, after=300, rung="summary", session="s"
        ),
        TurnEnded(turn="t", session="s"),
    )
    assert call.name == "chat m" and call.parent == compaction.context
    assert (call.attributes or {})["gen_ai.provider.name"] == "gcp.gemini"
    assert compaction.parent == turn.context
    told = compaction.attributes or {}
    assert told["ullage.strategy"] == "summary"
    assert told["ullage.tokens.after"] == 300
    (event,) = compaction.events
    assert event.name == "ullage.compaction_rolled_back"
    assert (event.attributes or {})["ullage.reason"] == "too_long"


async def test_with_content_a_summary_has_its_words() -> None:
    recorder = Recorder(content=True)
    recorder.told(
        CompactionStarted(compaction="k", trigger="asked", session="s"),
        CallStarted(call="summary-3", purpose="summary", session="s"),
    )
    asked = Message(id="m", role="user", parts=(TextPart(id="t", text="Sum it up."),))
    request = Request(wire="messages", model="m", messages=(asked,))
    reading = replace(Meter().reading(), session="s")
    await recorder.telemetry.before_summary(request, reading)
    summary = Message(id="n", role="user", parts=(TextPart(id="t", text="All of it."),))
    call, compaction = recorder.told(
        CallEnded(call="summary-3", purpose="summary", session="s"),
        CompactionCommitted(compaction="k", summary=summary, session="s"),
    )
    assert "Sum it up." in str(of(call)["gen_ai.input.messages"])
    assert "All of it." in str(of(compaction)["gen_ai.output.messages"])


def test_sessions_that_rest_are_forgotten_and_do_not_mix() -> None:
    recorder = Recorder()
    recorder.told(
        TurnStarted(turn="t", session="a"),
        TurnStarted(turn="t", session="b"),
        ToolStarted(call_id="c", name="x", session="a"),
        ToolEnded(call_id="c", session="b"),
        ToolEnded(call_id="c", session="a"),
        TurnEnded(turn="t", session="a"),
        TurnEnded(turn="t", session="b", reason="failed"),
    )
    assert recorder.telemetry._sessions == {}
    assert [span.name for span in recorder.spans] == [
        "execute_tool x",
        "invoke_agent",
        "invoke_agent",
    ]


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from ullage.errors import MissingExtra
from ullage_agent.runtime.telemetry import Telemetry
try:
    Telemetry()
except MissingExtra as problem:
    print(problem)
"""


def test_without_the_package_it_says_what_to_install() -> None:
    said = run_python("-c", WITHOUT, check=True)
    assert extra_command("telemetry") in said.stdout


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_turn_continued_elsewhere_belongs_to_the_request_that_began_it() -> None:
    first, second = Recorder(), Recorder()
    began = TurnStarted(session="s", turn="t", trace=TRACE)
    first.told(began, CallStarted(session="s", call="a", fingerprint=MADE))
    second.telemetry.on_driven("s", TRACE, Seen())
    spans = second.told(
        CallEnded(session="s", call="a", outcome="cancelled"),
        CallStarted(session="s", call="b", fingerprint=MADE),
        CallEnded(session="s", call="b"),
        TurnEnded(session="s", turn="t"),
    )
    (chat,), (turn,) = named(spans, "chat gemini-3-flash"), named(spans, "invoke_agent")
    assert turn.parent is not None
    assert f"{turn.parent.trace_id:032x}-{turn.parent.span_id:016x}" in TRACE
    assert chat.parent == turn.context
    (own,) = first.told(TurnEnded(session="s", turn="t"))[-1:]
    assert own.parent == turn.parent


def test_what_a_paused_turn_does_later_is_in_the_same_trace() -> None:
    recorder = Recorder()
    spans = recorder.told(
        TurnStarted(turn="t", session="s"),
        ApprovalAsked(call_id="c", session="s", at=10),
        TurnPaused(turn="t", reason="approval", session="s", at=11),
        ToolStarted(call_id="c", name="pay", session="s", at=70),
        ToolEnded(call_id="c", session="s", at=71),
        TurnEnded(turn="t", session="s", at=72),
    )
    first, waited, tool, rest = spans
    assert rest.parent is not None and rest.parent.span_id == first.context.span_id
    assert tool.parent == rest.context
    assert waited.name == "approval" and waited.parent == first.context
    assert (waited.start_time, waited.end_time) == (10 * 10**9, 70 * 10**9)
    assert of(waited)["ullage.approved"] is True
    assert not recorder.telemetry._sessions


def test_a_denied_call_ends_its_wait_and_has_no_span_of_its_own() -> None:
    waited, _ = Recorder().told(
        TurnStarted(turn="t", session="s"),
        ApprovalAsked(call_id="c", session="s"),
        ApprovalGiven(call_id="c", approved=False, session="s"),
        ToolEnded(call_id="c", outcome="denied", session="s"),
        TurnEnded(turn="t", session="s"),
    )
    assert of(waited)["ullage.approved"] is False


def test_an_agent_handed_over_to_is_below_the_call_that_did_so() -> None:
    spans = Recorder().told(
        TurnStarted(turn="t", session="s"),
        ToolStarted(call_id="h", name="hand_over", session="s"),
        HandedOver(agent="billing", call_id="h", session="s"),
        ToolEnded(call_id="h", session="s"),
        CallStarted(call="c", fingerprint=MADE, session="s"),
        CallEnded(call="c", session="s"),
        TurnEnded(turn="t", session="s"),
    )
    tool, call, other, turn = spans
    assert other.name == "invoke_agent billing" and other.parent == tool.context
    assert call.parent == other.context and tool.parent == turn.context


def test_a_conversation_handed_over_at_rest_has_no_span() -> None:
    recorder = Recorder()
    assert recorder.told(HandedOver(agent="billing", session="s")) == []
    assert not recorder.telemetry._sessions


async def test_a_request_that_hooks_replaced_has_its_model() -> None:
    recorder = Recorder()
    request = Request(wire="messages", model="claude-x", provider="anthropic")
    reading = replace(Meter().reading(), session="s")
    await recorder.telemetry.before_call(request, reading)
    (call,) = recorder.told(
        CallStarted(call="c", session="s"), CallEnded(call="c", session="s")
    )
    assert call.name == "chat claude-x"
    assert of(call)["gen_ai.provider.name"] == "anthropic"


def test_what_a_turn_leaves_open_ends_with_it_with_content_too() -> None:
    recorder = Recorder(content=True)
    spans = recorder.told(
        TurnStarted(turn="t", session="s"),
        ToolStarted(call_id="a", name="x", session="s"),
        ToolStarted(call_id="b", name="y", session="s"),
        TurnEnded(turn="t", session="s", reason="cancelled"),
    )
    assert [span.name for span in spans] == [
        "execute_tool x",
        "execute_tool y",
        "invoke_agent",
    ]
    assert not recorder.telemetry._sessions


def test_retries_and_fallbacks_are_events() -> None:
    call, turn = Recorder().told(
        TurnStarted(turn="t", session="s"),
        CallStarted(call="c", fingerprint=MADE, session="s"),
        CallRetried(call="c", attempt=1, wait_s=2.0, error="busy", session="s"),
        CallEnded(call="c", outcome="failed", error_kind="Overloaded", session="s"),
        FellBack(turn="t", model="b", error_kind="Overloaded", session="s"),
        TurnEnded(turn="t", session="s"),
    )
    assert [
        (one.name, dict(one.attributes or {})) for one in (*call.events, *turn.events)
    ] == [
        (
            "ullage.call_retried",
            {"ullage.attempt": 1, "ullage.wait_s": 2.0, "ullage.error": "busy"},
        ),
        ("ullage.fell_back", {"ullage.model": "b", "ullage.error_kind": "Overloaded"}),
    ]


def test_durations_and_tokens_are_metrics() -> None:
    recorder = Recorder()
    recorder.told(
        TurnStarted(turn="t", session="s", at=100),
        CallStarted(call="c", fingerprint=MADE, session="s", at=101),
        CallEnded(call="c", usage=Usage(input=7, output=2), session="s", at=104),
        CallStarted(call="d", fingerprint=MADE, session="s", at=104),
        CallEnded(call="d", outcome="failed", error_kind="BadKey", session="s", at=106),
        ToolStarted(call_id="k", name="look", session="s", at=106),
        ToolEnded(call_id="k", outcome="failed", session="s", at=107),
        TurnEnded(turn="t", session="s", at=110),
    )
    call = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3-flash",
    }
    assert recorder.points("gen_ai.client.inference.duration") == [
        (3.0, call),
        (2.0, {**call, "error.type": "BadKey"}),
    ]
    for kind, tokens in (("input", 7), ("output", 2)):
        size = recorder.points(f"gen_ai.client.inference.operation.{kind}_tokens")
        assert size == [(tokens, call)]
        (spent,) = recorder.totals(f"gen_ai.client.inference.usage.{kind}_tokens")
        assert spent == (tokens, {**call, "gen_ai.token.modality": "unknown"})
    look = {"gen_ai.tool.name": "look", "gen_ai.tool.type": "function"}
    assert recorder.points("gen_ai.execute_tool.duration") == [
        (1.0, {**look, "error.type": "failed"})
    ]
    assert recorder.points("gen_ai.invoke_agent.duration") == [(10.0, {})]


def test_models_that_callers_make_up_share_one_series_of_a_metric() -> None:
    recorder = Recorder()
    for number in range(MOST_LABEL_VALUES + 20):
        made = replace(MADE, model=f"made-up-{number}")
        recorder.told(
            CallStarted(call="c", fingerprint=made, session="s", at=1),
            CallEnded(call="c", session="s", at=2),
        )
    points = recorder.points("gen_ai.client.inference.duration")
    assert len(points) == MOST_LABEL_VALUES + 1
    assert points[-1][0] == 20.0
    assert points[-1][1]["gen_ai.request.model"] == OTHER


def test_a_tool_runs_inside_its_span() -> None:
    recorder = Recorder()
    recorder.told(ToolStarted(call_id="c", name="look", session="s"))
    with recorder.telemetry.around_tool("s", "c"):
        recorder.provider.get_tracer("a user's").start_span("own").end()
    with recorder.telemetry.around_tool("s", "unknown"):
        pass
    own, tool = recorder.told(ToolEnded(call_id="c", session="s"))
    assert own.parent == tool.context


async def test_a_turn_is_below_the_span_in_which_its_message_was_sent(
    tmp_path: Path,
) -> None:
    recorder = Recorder()
    tracer = recorder.provider.get_tracer("a user's")
    with running() as simulator:
        agent = haiku(
            tmp_path / "s.db",
            hooks=[recorder.telemetry],
            base_url=simulator.url("anthropic"),
        )
        async with agent.session() as session:
            with tracer.start_as_current_span("request") as request:
                await session.ask("Hello.")
            await session.ask("And again.")
    below, alone = named(recorder.spans, "invoke_agent")
    assert below.parent is not None
    assert below.parent.span_id == request.get_span_context().span_id
    assert alone.parent is None


@pytest.mark.parametrize("value", ["span_only", "SPAN_AND_EVENT", "true", " true "])
def test_the_conventions_variable_switches_content_on(value: str) -> None:
    assert Telemetry(environment={CONTENT: value})._content is not None
    assert Telemetry(content=False, environment={CONTENT: value})._content is None


@pytest.mark.parametrize("value", ["", "no_content", "event_only", "false"])
def test_content_is_off_otherwise(value: str) -> None:
    assert Telemetry(environment={CONTENT: value})._content is None
    assert Telemetry(environment={})._content is None


def test_sessions_that_wait_for_good_are_forgotten_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ullage_agent.runtime.telemetry.TRACED_SESSIONS", 3)
    recorder = Recorder()
    for name in range(5):
        recorder.told(
            TurnStarted(turn="t", session=f"s{name}"),
            TurnPaused(turn="t", reason="approval", session=f"s{name}"),
        )
    assert list(recorder.telemetry._sessions) == ["s2", "s3", "s4"]
