"""What a monitoring system is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.server.served import Local, patiently, script, serving
from ullage.errors import SessionNotFound
from ullage.events import Amount, CallEnded, CallStarted, CancelAsked, TurnEnded
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import WaitingPlace
from ullage.usage import Usage
from ullage_server.live_types import REMEMBERED
from ullage_server.metrics import MOST_PLACES, Metrics, measured
from ullage_simulators import running


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
        assert samples["ullage_turns_total", "finished"] == 1
        assert samples["ullage_model_calls_total", "", "finished", "main"] == 2
        assert samples["ullage_tool_calls_total", "finished"] == 1
        assert samples["ullage_tokens_total", "input"] == spend["input"]
        assert samples["ullage_tokens_total", "output"] == spend["output"]
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


async def test_only_what_was_stored_is_counted(tmp_path: Path) -> None:
    metrics = Metrics()
    inner = SqliteStore(tmp_path / "s.db")
    store = measured(inner, metrics)
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    await store.command("s", [CancelAsked()])
    assert len(await store.append(lease, [TurnEnded(turn="1")], after=0, exact=True)) == 1
    assert (
        metrics.registry.get_sample_value("ullage_turns_total", {"reason": "finished"})
        is None
    )
    await store.append(lease, [TurnEnded(turn="1")], after=0)
    assert (
        metrics.registry.get_sample_value("ullage_turns_total", {"reason": "finished"})
        == 1
    )
    with pytest.raises(SessionNotFound):
        await store.command("nobody", [CancelAsked()])
    await asyncio.to_thread(lambda: None)
    await inner.close()


def test_an_error_is_a_share_of_the_actual_and_only_of_calls_that_finished() -> None:
    metrics = Metrics()
    estimate = Amount(tokens=90, low=80, high=100)
    metrics.note(CallStarted(session="s", call="a", estimate=estimate))
    metrics.note(CallEnded(session="s", call="a", usage=Usage(input=100, output=1)))
    metrics.note(CallStarted(session="s", call="b", estimate=estimate))
    metrics.note(
        CallEnded(session="s", call="b", outcome="cancelled", usage=Usage(input=100))
    )
    metrics.note(CallEnded(session="s", call="c", usage=Usage(input=100)))
    value = metrics.registry.get_sample_value
    assert value("ullage_estimate_error_ratio_count") == 1
    assert value("ullage_estimate_error_ratio_bucket", {"le": "-0.1"}) == 1
    assert value("ullage_estimate_error_ratio_bucket", {"le": "-0.2"}) == 0
    assert value("ullage_tokens_total", {"kind": "input"}) == 300


def test_calls_that_never_end_are_forgotten() -> None:
    metrics = Metrics()
    estimate = Amount(tokens=90, low=80, high=100)
    for number in range(REMEMBERED + 5):
        metrics.note(CallStarted(session="s", call=str(number), estimate=estimate))
    metrics.note(CallEnded(session="s", call="0", usage=Usage(input=100)))
    assert metrics.registry.get_sample_value("ullage_estimate_error_ratio_count") == 0


def test_places_are_counted_up_to_a_bound_and_the_rest_together() -> None:
    metrics = Metrics()
    places = [WaitingPlace(f"p{number}", 2, float(number)) for number in range(60)]
    metrics.note_waiting(places)
    told = generate_latest(metrics.registry).decode()
    assert told.count("ullage_sessions_waiting{") == MOST_PLACES + 2
    assert 'ullage_sessions_waiting{place="p59"} 2.0' in told
    assert 'ullage_longest_wait_seconds{place="p59"} 59.0' in told
    assert 'ullage_sessions_waiting{place="(other places)"} 20.0' in told
    assert 'ullage_longest_wait_seconds{place="(other places)"} 9.0' in told
    metrics.note_waiting([])
    told = generate_latest(metrics.registry).decode()
    assert told.count("ullage_sessions_waiting{") == 1
