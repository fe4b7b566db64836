"""The trace of a request that sends a message, as it is stored with the message."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from tests.server.served import serving
from ullage_server.traces import RequestTraces, checked_trace

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nothing",
        TRACE.upper(),
        TRACE + "-more",
        TRACE.replace("00-4", "ff-4"),
        "00-" + "0" * 32 + "-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01",
        TRACE + "\n",
    ],
)
def test_what_is_no_traceparent_is_ignored(header: str | None) -> None:
    assert checked_trace(header) == ""
    assert checked_trace(TRACE) == TRACE


def test_a_span_of_the_request_lies_between_the_sender_and_the_turn() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with RequestTraces(provider).sending(TRACE, "s") as stored:
        pass
    (span,) = exporter.get_finished_spans()
    assert span.kind is SpanKind.SERVER
    assert span.parent is not None
    assert f"{span.parent.trace_id:032x}" in TRACE
    assert f"{span.parent.span_id:016x}" in TRACE
    assert stored == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"


def test_without_spans_a_sent_trace_is_stored(provider: str, tmp_path: Path) -> None:
    with serving(provider, tmp_path / "s.db") as server:
        session = server.api.session("s")
        sent = server.api.post(
            f"/v1/sessions/{session}/messages",
            json={"text": "Hello."},
            headers={"traceparent": TRACE},
        )
        assert sent.status_code == 202
        assert server.api.until_event(session, "queued").data["trace"] == TRACE
        assert server.api.until_event(session, "turn_started").data["trace"] == TRACE
