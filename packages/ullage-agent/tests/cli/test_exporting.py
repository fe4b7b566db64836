"""Where spans of the programs go: to the collector of OpenTelemetry's own variables."""

from __future__ import annotations

import time

import pytest
from opentelemetry.sdk.trace import TracerProvider

from tests.collector import collecting
from ullage_agent.cli.exporting import exported_spans, is_exporting, span_hooks
from ullage_agent.runtime.telemetry import CONTENT, Telemetry


def test_only_a_named_collector_gets_spans() -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert is_exporting(named)
    assert not is_exporting({})
    assert not is_exporting({**named, "OTEL_SDK_DISABLED": "true"})
    with exported_spans("a", {}) as nothing:
        assert nothing is None
        assert span_hooks(nothing) == []


def test_spans_arrive_before_the_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with exported_spans("ullage-server", environment) as provider:
            assert provider is not None
            provider.get_tracer("t").start_span("one").end()
        ((service, *_),) = collector.spans
        assert service == "ullage-server"


def test_content_is_exported_only_where_the_conventions_variable_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (hook,) = span_hooks(TracerProvider())
    assert isinstance(hook, Telemetry) and hook._content is None
    monkeypatch.setenv(CONTENT, "span_only")
    (hook,) = span_hooks(TracerProvider())
    assert isinstance(hook, Telemetry) and hook._content is not None


def test_a_collector_that_is_away_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with exported_spans("ullage-server", environment) as provider:
        assert provider is not None
        provider.get_tracer("t").start_span("one").end()
        ends = time.monotonic()
    assert time.monotonic() - ends < 60
