"""The current trace as the ledger holds it: a ``traceparent`` (https://www.w3.org/TR/trace-context/)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span


def context_of(trace: str) -> Context | None:
    """The context that a ``traceparent`` describes; ``None``, which is the current one, for none."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if not trace:
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": trace})


def current_trace() -> str:
    """The ``traceparent`` of the current span; empty where there is none, or where OpenTelemetry is not in use."""
    if "opentelemetry.trace" not in sys.modules:
        return ""
    from opentelemetry import trace

    return traceparent_of(trace.get_current_span())


def traceparent_of(span: Span) -> str:
    """The ``traceparent`` of what is below this span; empty for a span that is not recorded anywhere."""
    from opentelemetry.trace import set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span))
    return carrier.get("traceparent", "")
