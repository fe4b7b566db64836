"""Where spans and metrics of the programs go: to the collector of OpenTelemetry's own variables."""

from __future__ import annotations

import time

import pytest
from opentelemetry.sdk.trace import TracerProvider

from tests.collector import collecting
from ullage.events import CallEnded, CallStarted, ToolEnded, ToolStarted, TurnEnded
from ullage.usage import Usage
from ullage_agent.cli.exporting import ENDPOINT, Exported, exporting
from ullage_agent.runtime.telemetry import CONTENT, Telemetry

URL = "http://127.0.0.1:9"
"""Nothing listens there."""


@pytest.mark.parametrize(
    ("environment", "spans", "metrics"),
    [
        ({}, False, False),
        ({ENDPOINT: URL}, True, True),
        ({ENDPOINT: URL, "OTEL_SDK_DISABLED": "true"}, False, False),
        ({ENDPOINT: URL, "OTEL_METRICS_EXPORTER": "none"}, True, False),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": URL}, False, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL}, True, False),
    ],
)
def test_only_a_named_collector_gets_anything(
    environment: dict[str, str], spans: bool, metrics: bool
) -> None:
    with exporting("a", environment) as exported:
        assert (exported.spans is not None) == spans
        assert (exported.metrics is not None) == metrics
        assert len(exported.hooks()) == (spans or metrics)


def test_all_arrives_before_the_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        with exporting("ullage-server", {ENDPOINT: collector.url}) as exported:
            (hook,) = exported.hooks()
            hook.on_event(CallStarted(call="c", session="s", at=1))
            hook.on_event(
                CallEnded(
                    call="c",
                    session="s",
                    at=2,
                    usage=Usage(input=7),
                    error="",
                    model="m",
                )
            )
            hook.on_event(TurnEnded(turn="t", session="s"))
        assert {span.service for span in collector.spans} == {"ullage-server"}
        assert {
            "gen_ai.client.inference.duration",
            "gen_ai.client.inference.usage.input_tokens",
        } <= collector.metrics


def test_content_is_exported_only_where_the_conventions_variable_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (hook,) = Exported(TracerProvider()).hooks()
    assert isinstance(hook, Telemetry) and hook._content is None
    monkeypatch.setenv(CONTENT, "span_only")
    (hook,) = Exported(TracerProvider()).hooks()
    assert isinstance(hook, Telemetry) and hook._content is not None


def test_a_collector_that_is_away_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ENDPOINT, URL)
    with exporting("ullage-server", {ENDPOINT: URL}) as exported:
        (hook,) = exported.hooks()
        hook.on_event(ToolStarted(call_id="c", session="s", at=1))
        hook.on_event(ToolEnded(call_id="c", session="s", at=2))
        ends = time.monotonic()
    assert time.monotonic() - ends < 60
