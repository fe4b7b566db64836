"""Spans of `ullage serve` and `ullage admin worker`, sent to a collector that OpenTelemetry's own variables name.

https://opentelemetry.io/docs/specs/otel/protocol/exporter/ describes ``OTEL_EXPORTER_OTLP_ENDPOINT`` and the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ullage.errors import MissingExtra
from ullage.installation import extra_command

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from ullage_agent.runtime.hooks import Hook

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
OFF: Final = "OTEL_SDK_DISABLED"

FLUSHED_IN_MS: Final = 2_000
"""How long the end of the program waits for a collector to take the last spans."""


def is_exporting(environment: Mapping[str, str]) -> bool:
    """Whether the environment names a collector."""
    is_off = environment.get(OFF, "").lower() == "true"
    return not is_off and any(environment.get(name) for name in ENDPOINTS)


@contextmanager
def exported_spans(
    service: str, environment: Mapping[str, str]
) -> Iterator[TracerProvider | None]:
    """Where spans of this process go, ``None`` without a collector. Raises ``MissingExtra``."""
    if not is_exporting(environment):
        yield None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as problem:
        raise MissingExtra(
            f"{ENDPOINTS[0]} is set, and sending spans needs more than is installed ({problem.name}). Install it: "
            f"{extra_command('otlp')}"
        ) from problem
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": service}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    processor = BatchSpanProcessor(OTLPSpanExporter())
    provider.add_span_processor(processor)
    try:
        yield provider
    finally:
        processor.force_flush(FLUSHED_IN_MS)


def span_hooks(provider: TracerProvider | None) -> list[Hook]:
    """The hook that makes spans of turns, model calls and tools, where they go somewhere."""
    from ullage_agent.runtime.telemetry import Telemetry

    return [] if provider is None else [Telemetry(provider)]
