import json
from collections.abc import Iterable

import pytest

from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    LimitLearnt,
    ModelChanged,
    SessionStarted,
    SettingsChanged,
)
from ullage.meter.meter import Meter
from ullage.meter.reading import CompactionThreshold
from ullage.usage import Usage
from ullage_programs.facts import ClientSetting

MODEL = "claude-opus-4-6"


def started(program: str = "claude-code 2.1.330", model: str = MODEL) -> Event:
    return SessionStarted(
        model=model, wire="messages", provider="anthropic", program=program
    )


def call(name: str, input: int, output: int = 10) -> list[Event]:
    ended = CallEnded(call=name, usage=Usage(input=input, output=output))
    return [CallStarted(call=name), ended]


def compaction(before: int, *, is_automatic: bool = True) -> Event:
    return CompactionCommitted(compaction="c1", before=before, is_automatic=is_automatic)


def read(events: Iterable[Event], **settings: object) -> Meter:
    values = {name: ClientSetting(value, name) for name, value in settings.items()}
    meter = Meter(client_settings=values)
    for event in events:
        meter.apply(event)
    return meter


def test_window_and_threshold_are_the_program_s_with_their_sources() -> None:
    reading = read([started()]).reading()
    assert (reading.window.tokens, reading.window.source) == (200_000, "documented")
    assert reading.threshold == CompactionThreshold(
        tokens=167_000,
        source="documented",
        by="Claude Code",
        note="33,000 below the window",
    )


def test_no_reserve_of_ours_is_taken_from_the_window_of_another_program() -> None:
    reading = read([started()]).reading()
    assert (reading.reserve, reading.input_limit) == (0, 200_000)
    assert reading.free == 200_000 - reading.used.tokens


def test_where_the_threshold_is_unknown_ullage_would_compact() -> None:
    reading = read([started("amp 0.1")]).reading()
    assert reading.window.tokens == 1_000_000
    assert reading.threshold == CompactionThreshold(
        tokens=800_000, source="assumed", by=""
    )


@pytest.mark.parametrize("program", ["", "ullage 0.1.0"])
def test_sessions_of_this_package_keep_their_own_setting(program: str) -> None:
    meter = read([started(program)])
    assert meter.reading().threshold == CompactionThreshold(
        tokens=800_000, source="assumed", by="Ullage"
    )
    meter.apply(SettingsChanged(settings={"trigger": 0.5}))
    assert meter.reading().threshold == CompactionThreshold(
        tokens=500_000, source="user", by="Ullage"
    )
    meter.apply(SettingsChanged(settings={"auto": False}))
    assert meter.reading().threshold.tokens is None


def test_what_the_user_sets_wins_over_the_program() -> None:
    for trigger, point in ((0.8, 160_000), (50_000, 50_000)):
        meter = Meter(trigger=trigger)
        meter.apply(started())
        assert meter.reading().threshold == CompactionThreshold(
            tokens=point, source="user", by=""
        )
    meter = Meter(window=150_000)
    meter.apply(started())
    reading = meter.reading()
    assert (reading.window.tokens, reading.compaction_point) == (150_000, 117_000)


def test_the_settings_of_the_program_count() -> None:
    meter = read([started()], CLAUDE_CODE_AUTO_COMPACT_WINDOW="150000")
    assert meter.reading().compaction_point == 117_000


def test_the_window_that_the_log_names_wins_over_settings_and_defaults() -> None:
    learnt = LimitLearnt(model="gpt-5.5", source="log", window=258_400)
    session = [started("codex 0.169.0", "gpt-5.5"), learnt]
    reading = read(session, model_context_window=50_000).reading()
    assert (reading.window.tokens, reading.window.source) == (258_400, "log")
    assert reading.compaction_point == 244_800


def test_an_input_above_the_window_shows_the_larger_one() -> None:
    meter = read([started(), *call("a", 199_000)])
    assert meter.reading().window.tokens == 200_000
    meter = read([started(), *call("a", 240_000)])
    assert meter.reading().window.tokens == 1_000_000
    assert meter.reading().window.source == "observed"


def test_a_request_that_went_on_above_the_threshold_refutes_it() -> None:
    passed = [*call("a", 170_000), *call("b", 171_000)]
    assert read([started(), *call("a", 170_000)]).reading().threshold.by == "Claude Code"
    assert read([started(), *passed]).reading().threshold.by == ""


def test_a_compaction_between_two_requests_refutes_nothing() -> None:
    session = [started(), *call("a", 170_000), compaction(171_000), *call("b", 30_000)]
    threshold = read(session).reading().threshold
    assert (threshold.tokens, threshold.source) == (167_000, "observed")


def test_what_was_passed_counts_anew_after_a_compaction_by_hand() -> None:
    passed = [*call("a", 170_000), *call("b", 171_000)]
    session = [started(), *passed, compaction(172_000, is_automatic=False)]
    assert read(session).reading().compaction_point == 167_000


def test_a_compaction_that_a_person_asked_for_shows_no_threshold() -> None:
    session = [started(), *call("a", 90_000), compaction(90_010, is_automatic=False)]
    threshold = read(session).reading().threshold
    assert (threshold.tokens, threshold.source) == (167_000, "documented")


def test_an_early_automatic_compaction_shows_the_threshold_that_no_setting_told() -> None:
    session = [started(), *call("a", 66_000), compaction(67_714)]
    threshold = read(session).reading().threshold
    assert (threshold.tokens, threshold.source) == (67_714, "observed")


def test_where_the_log_lacks_the_size_it_is_that_of_the_last_call() -> None:
    session = [
        started(),
        *call("a", 66_000, 90),
        CompactionCommitted(compaction="c1", is_automatic=True),
    ]
    threshold = read(session).reading().threshold
    assert (threshold.tokens, threshold.source) == (66_090, "observed")


def test_another_model_has_limits_and_evidence_of_its_own() -> None:
    change = ModelChanged(model="claude-opus-5-5", wire="messages", provider="anthropic")
    session = [started(), *call("a", 66_000), compaction(67_714), change]
    reading = read(session).reading()
    assert (reading.window.tokens, reading.compaction_point) == (1_000_000, 967_000)


def test_json_carries_the_sources() -> None:
    whole = json.loads(read([started()]).reading().to_json())
    assert whole["window"]["source"] == "documented"
    assert whole["compaction_point"] == {
        "tokens": 167_000,
        "source": "documented",
        "by": "Claude Code",
        "note": "33,000 below the window",
    }
