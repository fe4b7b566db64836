"""Spans and metrics of `ullage serve` and `ullage admin worker`, sent to the collector that OpenTelemetry's own
variables name.

https://opentelemetry.io/docs/specs/otel/protocol/exporter/ describes ``OTEL_EXPORTER_OTLP_ENDPOINT`` and the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.errors import MissingExtra
from ullage.installation import extra_command
from ullage_agent.runtime.policy import FLUSHED_IN_MS

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from ullage_agent.runtime.hooks import Hook

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
OF_TRACES: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
OF_METRICS: Final = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
OFF: Final = "OTEL_SDK_DISABLED"


class Exported(NamedTuple):
    """Where what a process measures goes; ``None`` for what no collector takes."""

    spans: TracerProvider | None = None
    metrics: MeterProvider | None = None

    def hooks(self) -> list[Hook]:
        """The hook that makes spans and metrics of turns, model calls and tools, where they go somewhere."""
        from ullage_agent.runtime.telemetry import Telemetry

        if self.spans is None and self.metrics is None:
            return []
        return [Telemetry(self.spans, meters=self.metrics)]


def is_exporting(environment: Mapping[str, str], *endpoints: str) -> bool:
    """Whether the environment names a collector, by one of these variables."""
    is_off = environment.get(OFF, "").lower() == "true"
    return not is_off and any(environment.get(name) for name in endpoints)


@contextmanager
def exporting(service: str, environment: Mapping[str, str]) -> Iterator[Exported]:
    """Where spans and metrics of this process go. Raises ``MissingExtra``."""
    has_spans = is_exporting(environment, ENDPOINT, OF_TRACES)
    has_metrics = is_exporting(environment, ENDPOINT, OF_METRICS)
    has_metrics &= environment.get("OTEL_METRICS_EXPORTER") != "none"
    if not (has_spans or has_metrics):
        yield Exported()
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (
            OTLPMetricExporter,
        )
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as problem:
        raise MissingExtra(
            f"{ENDPOINT} is set, and sending spans and metrics needs more than is installed ({problem.name}). Install "
            f"it: {extra_command('otlp')}"
        ) from problem
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": service}
    resource = Resource.create(named)
    with ExitStack() as stack:
        spans = metrics = None
        if has_spans:
            spans = TracerProvider(resource=resource, shutdown_on_exit=False)
            processor = BatchSpanProcessor(OTLPSpanExporter())
            spans.add_span_processor(processor)
            stack.callback(processor.force_flush, FLUSHED_IN_MS)
        if has_metrics:
            reader = PeriodicExportingMetricReader(OTLPMetricExporter())
            metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
            stack.callback(metrics.shutdown, FLUSHED_IN_MS)
        yield Exported(spans, metrics)
