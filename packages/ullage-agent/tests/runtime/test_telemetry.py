"""Spans, as an exporter gets them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.agents import haiku
from tests.processes import run_python
from ullage.codec.blocks import Options
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    Fingerprint,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.installation import extra_command
from ullage.usage import Usage
from ullage_agent.runtime.session_view import SessionView
from ullage_agent.runtime.telemetry import Telemetry
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

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(self.provider)

    def told(self, *events: Event) -> list[ReadableSpan]:
        """The spans that ended with these events."""
        for event in events:
            self.telemetry.on_event(event)
        return self.spans

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())


def named(spans: Sequence[ReadableSpan], name: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name == name]


async def look(what: str) -> str:
    """Look at something.

    Args:
        what: what to look at
    """
    return f"{what}: a secret"


async def test_a_turn_of_a_session_is_a_trace_without_content(tmp_path: Path) -> None:
    script = read(
        {
            "answers": [
                {
                    "when": {"after": "user"},
                    "calls": [{"name": "look", "arguments": {"what": "a secret"}}],
                },
                {"when": {"after": "tool"}, "text": "It is a secret."},
            ]
        }
    )
    recorder = Recorder()
    with running(script) as simulator:
        agent = haiku(
            tmp_path / "s.db",
            tools=[look],
            hooks=[recorder.telemetry],
            base_url=simulator.url("anthropic"),
        )
        async with agent.session("s") as session:
            await session.ask("Tell me a secret.")
            history = await session.history()
    first, second = named(recorder.spans, "chat claude-haiku-4-5")
    (tool,) = named(recorder.spans, "execute_tool look")
    (turn,) = named(recorder.spans, "invoke_agent")
    assert len(recorder.spans) == 4
    for span in (first, second, tool):
        assert span.parent is not None and span.parent.span_id == turn.context.span_id
        assert (
            span.attributes is not None
            and span.attributes["gen_ai.conversation.id"] == "s"
        )
    ended = [event for event in history if isinstance(event, CallEnded)]
    for span, event in zip((first, second), ended, strict=True):
        assert span.kind is SpanKind.CLIENT
        assert span.attributes is not None and event.usage is not None
        assert span.attributes["gen_ai.usage.input_tokens"] == event.usage.input
        assert span.attributes["gen_ai.usage.output_tokens"] == event.usage.output
        assert span.attributes["gen_ai.provider.name"] == "anthropic"
        assert span.attributes["ullage.snapshot"]
        assert span.end_time == round(event.at * 1_000_000_000)
    assert first.attributes is not None and first.attributes[
        "gen_ai.response.finish_reasons"
    ] == ("tool_call",)
    assert not [
        value
        for span in recorder.spans
        for value in (span.attributes or {}).values()
        if "secret" in str(value)
    ]


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
    assert told["ullage.compaction.strategy"] == "summary"
    assert told["ullage.compaction.tokens.after"] == 300
    (event,) = compaction.events
    assert event.name == "ullage.attempt_failed"
    assert (event.attributes or {})["ullage.reason"] == "too_long"


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
