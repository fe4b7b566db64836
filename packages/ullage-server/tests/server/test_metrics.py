"""What a monitoring system is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.server.served import Local, patiently, script, serving
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    Event,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.store.store import WaitingPlace
from ullage.usage import Usage
from ullage_agent.runtime.label_values import OTHER
from ullage_agent.runtime.policy import MOST_LABEL_VALUES
from ullage_server.live_types import REMEMBERED
from ullage_server.metrics import Metrics
from ullage_server.policy import MOST_PLACES
from ullage_simulators import running

CALLS = "gen_ai_client_inference"
INPUT = f"{CALLS}_usage_input_tokens_total"
HAIKU = ("anthropic", "claude-haiku-4-5")
UNKNOWN = {"gen_ai_provider_name": "", "gen_ai_request_model": ""}


def told(server: Local) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    answer = server.api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def told_at_rest(server: Local) -> dict[tuple[str, ...], float]:
    """Every sample once no session is worked for: a turn's last event is read before its driver has let go."""
    for _ in patiently():
        samples = told(server)
        if samples["ullage_sessions_driving",] == 0:
            return samples
    raise AssertionError(f"A session is worked for without end: {samples}")


async def look(what: str) -> str:
    """Look at something.

    Args:
        what: what to look at
    """
    return what


def test_a_turn_with_a_tool_is_counted_once(tmp_path: Path) -> None:
    calls = {
        "when": {"after": "user"},
        "calls": [{"name": "look", "arguments": {"what": "bung"}}],
    }
    with (
        running(script(calls, {"text": "It was looked at."})) as simulator,
        serving(simulator.url("anthropic"), tmp_path / "s.db", tools=[look]) as server,
    ):
        session = server.api.session("s")
        server.api.say(session, "hello")
        server.api.until(session)
        spend = server.api.get(f"/v1/sessions/{session}/spend").json()["by_purpose"][
            "main"
        ]
        samples = told_at_rest(server)
        assert samples["ullage_sessions_open",] == 1
        assert samples["ullage_turns_total", "", "finished"] == 1
        assert samples[f"{CALLS}_duration_seconds_count", "", *HAIKU] == 2
        assert samples[f"{CALLS}_time_to_first_chunk_seconds_count", *HAIKU] == 2
        assert samples["ullage_tool_calls_total", "finished"] == 1
        for kind in ("input", "output"):
            counted = samples[f"{CALLS}_usage_{kind}_tokens_total", *HAIKU]
            assert counted == spend[kind]
        tokens = spend["input"] + spend["output"]
        assert samples["ullage_tenant_tokens_total", "default"] == tokens
        cost = server.api.get(f"/v1/sessions/{session}/spend").json()["money"]["usd"]
        assert samples["ullage_cost_usd_total", *HAIKU] == pytest.approx(cost)
        assert samples["ullage_tenant_cost_usd_total", "default"] == pytest.approx(cost)
        assert samples["ullage_unpriced_calls_total", *HAIKU] == 0
        route = "/v1/sessions/{session}/messages"
        requests = "http_server_request_duration_seconds_count"
        assert samples[requests, *sorted(["202", route, "POST"])] == 1
        assert samples["ullage_estimate_error_ratio_count",] == 2
        assert samples["ullage_enqueue_seconds_count",] == 1
        assert samples["ullage_store_write_seconds_count", "append"] > 4
        with server.api.stream("GET", f"/v1/sessions/{session}/events?after=0") as answer:
            lines = answer.iter_lines()
            next(lines)
            assert told(server)["ullage_event_streams",] == 1
            lines.close()  # type: ignore[attr-defined]
        while told(server)["ullage_event_streams",]:
            pass


def test_a_call_of_a_subagent_is_counted_in_its_own_session_alone() -> None:
    metrics = Metrics()
    usage = Usage(input=100, output=1)
    metrics.on_event(CallEnded(session="s/call", call="a", usage=usage))
    metrics.on_event(CallEnded(session="s", call="b", purpose="child", usage=usage))
    assert metrics.registry.get_sample_value(INPUT, UNKNOWN) == 100


def test_a_turn_that_failed_names_its_error_and_one_that_recovered_none() -> None:
    metrics = Metrics()
    turns = metrics.registry.get_sample_value

    def tell(*events: Event) -> None:
        for event in events:
            metrics.on_event(replace(event, session="s"))

    busy = CallEnded(call="a", outcome="failed", error_kind="Overloaded")
    tell(TurnStarted(turn="1"), busy, TurnPaused(turn="1", reason="failed"))
    failed = {"reason": "failed", "error": "Overloaded"}
    assert turns("ullage_turns_total", failed) == 1
    tell(TurnStarted(turn="2"), busy, CallEnded(call="b"), TurnEnded(turn="2"))
    assert turns("ullage_turns_total", {"reason": "finished", "error": ""}) == 1
    tell(TurnStarted(turn="3"), TurnPaused(turn="3", reason="budget", until=9.0))
    assert turns("ullage_turns_total", {"reason": "budget", "error": "quota"}) == 1


def test_sessions_that_wait_are_counted_with_the_age_of_the_oldest(
    tmp_path: Path,
) -> None:
    nobody = "http://127.0.0.1:9"
    with serving(nobody, tmp_path / "s.db", tries=1) as server:
        for name in ("one", "other"):
            server.api.say(server.api.session(name), "hello")
        for _ in patiently():
            samples = told(server)
            if samples["ullage_sessions", "failed"] == 2:
                break
        assert samples["ullage_sessions", "needs_approval"] == 0
        assert 0 < samples["ullage_sessions_oldest_seconds", "failed"] < 60
        assert samples["ullage_sessions_oldest_seconds", "paused"] == 0


def test_names_of_models_that_nothing_confirms_are_no_series() -> None:
    metrics = Metrics()

    def call(model: str, **how: Any) -> None:
        made = CallEnded(session="s", call=model, purpose="title", model=model, **how)
        metrics.on_event(made)

    for number in range(200):
        call(f"made-up-{number}", outcome="failed", error_kind="NotFound")
    for number in range(150):
        call(f"answers-{number}")
    call("claude-haiku-4-5", provider="anthropic", outcome="failed")
    told = generate_latest(metrics.registry).decode()
    models = set(re.findall('ullage_unpriced_calls_total{.*model="([^"]*)"', told))
    assert len(models) == MOST_LABEL_VALUES + 1
    assert OTHER in models and not any(each.startswith("made-up") for each in models)


def test_an_error_is_a_share_of_the_actual_and_only_of_calls_that_finished() -> None:
    metrics = Metrics()
    estimate = Amount(tokens=90, low=80, high=100)
    metrics.on_event(CallStarted(session="s", call="a", estimate=estimate))
    metrics.on_event(CallEnded(session="s", call="a", usage=Usage(input=100, output=1)))
    metrics.on_event(CallStarted(session="s", call="b", estimate=estimate))
    metrics.on_event(
        CallEnded(session="s", call="b", outcome="cancelled", usage=Usage(input=100))
    )
    metrics.on_event(CallEnded(session="s", call="c", usage=Usage(input=100)))
    value = metrics.registry.get_sample_value
    assert value("ullage_estimate_error_ratio_count") == 1
    assert value("ullage_estimate_error_ratio_bucket", {"le": "-0.1"}) == 1
    assert value("ullage_estimate_error_ratio_bucket", {"le": "-0.2"}) == 0
    assert value(INPUT, UNKNOWN) == 300


def test_calls_that_never_end_are_forgotten() -> None:
    metrics = Metrics()
    estimate = Amount(tokens=90, low=80, high=100)
    for number in range(REMEMBERED + 5):
        metrics.on_event(CallStarted(session="s", call=str(number), estimate=estimate))
    metrics.on_event(CallEnded(session="s", call="0", usage=Usage(input=100)))
    assert metrics.registry.get_sample_value("ullage_estimate_error_ratio_count") == 0


def test_places_are_counted_up_to_a_bound_and_the_rest_together() -> None:
    metrics = Metrics()
    places = [WaitingPlace(f"p{number}", 2, float(number)) for number in range(60)]
    metrics.note_waiting(places)
    told = generate_latest(metrics.registry).decode()
    assert told.count("ullage_sessions_waiting{") == MOST_PLACES + 2
    assert 'ullage_sessions_waiting{place="p59"} 2.0' in told
    assert 'ullage_longest_wait_seconds{place="p59"} 59.0' in told
    assert 'ullage_sessions_waiting{place="(other)"} 20.0' in told
    assert 'ullage_longest_wait_seconds{place="(other)"} 9.0' in told
    metrics.note_waiting([])
    told = generate_latest(metrics.registry).decode()
    assert told.count("ullage_sessions_waiting{") == 1
