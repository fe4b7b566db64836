"""One trace over processes: the request at a server, and the turn at the worker that drives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collector import CollectedSpan, Collector, collecting
from tests.machines import PIECE_S, STORY, hurry, machines
from tests.server.served import patiently, script
from ullage_simulators import running

TRACE_ID, SENDER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
LEASE = ("--dispatch", "lease")


def until(collector: Collector, *names: str) -> list[CollectedSpan]:
    """The spans, once these are among them."""
    for _ in patiently():
        spans = collector.spans
        if {span.name for span in spans} >= set(names):
            return spans
    raise AssertionError(f"Only these arrived: {collector.spans}")


def test_the_trace_of_a_request_continues_at_the_worker_and_at_the_one_that_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        running(script(STORY, delay_s=PIECE_S)) as simulator,
        collecting() as collector,
    ):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "200")
        with machines(
            simulator.url("anthropic"), tmp_path, server=LEASE, workers=(LEASE, LEASE)
        ) as cluster:
            with cluster.servers[0].api() as api:
                api.session("s")
                sent = api.post(
                    "/v1/sessions/s/messages",
                    json={"text": "Tell me."},
                    headers={"traceparent": f"00-{TRACE_ID}-{SENDER}-01"},
                )
                assert sent.status_code == 202
            cluster.until_called(["s"])
            driver = cluster.drivers(["s"])["s"]
            killed = 0 if driver.startswith("worker0-") else 1
            cluster.workers[killed].kill()
            cluster.until_driven(["s"], f"worker{1 - killed}")
            hurry(simulator)
            cluster.until_rest(["s"])
            spans = until(collector, "invoke_agent", "chat claude-haiku-4-5")
            for _ in patiently():
                if "gen_ai.client.inference.duration" in collector.metrics:
                    break
            assert "operation.cost" in collector.metrics
    by_name = {span.name: span for span in spans}
    request = by_name["POST /v1/sessions/{session}/messages"]
    turn, chat = by_name["invoke_agent"], by_name["chat claude-haiku-4-5"]
    assert {span.trace for span in spans} == {TRACE_ID}
    assert (request.service, request.parent) == ("ullage-server", SENDER)
    assert (turn.service, turn.parent) == ("ullage-worker", request.id)
    assert (chat.service, chat.parent) == ("ullage-worker", turn.id)
