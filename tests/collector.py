"""A collector of spans and metrics for tests: OTLP over HTTP, as OpenTelemetry's exporter sends it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)


class CollectedSpan(NamedTuple):
    """A span as it arrived; ids are hexadecimal. ``instance`` tells processes of a service apart."""

    service: str
    instance: str
    name: str
    trace: str
    id: str
    parent: str


class Collector:
    """What arrived at ``url``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._spans: list[CollectedSpan] = []
        self.metrics: set[str] = set()
        """The names of those that arrived."""

    @property
    def spans(self) -> list[CollectedSpan]:
        with self._lock:
            return list(self._spans)

    def take_metrics(self, body: bytes) -> None:
        request = ExportMetricsServiceRequest.FromString(body)
        with self._lock:
            self.metrics |= {
                metric.name
                for resource in request.resource_metrics
                for scope in resource.scope_metrics
                for metric in scope.metrics
            }

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        with self._lock:
            for resource in request.resource_spans:
                named = {
                    each.key: each.value.string_value
                    for each in resource.resource.attributes
                }
                self._spans += [
                    CollectedSpan(
                        named["service.name"],
                        named.get("service.instance.id", ""),
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                    )
                    for scope in resource.scope_spans
                    for span in scope.spans
                ]


@contextmanager
def collecting() -> Iterator[Collector]:

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path.endswith("/metrics"):
                collector.take_metrics(body)
            else:
                collector.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
