"""After a change of the model: by its own last report, by earlier sessions with it, or by the other model's report."""

from typing import Final

import pytest

from tests.meter.session import answer, said, usage
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    FirstCall,
    MessageAdded,
    ModelChanged,
    OverheadLearnt,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import SystemBlock
from ullage.meter.meter import Meter
from ullage.meter.policy import MOST_MODELS
from ullage.meter.reading import Reading

CLAUDE: Final = ModelChanged(
    model="claude-sonnet-4-5", wire="messages", provider="anthropic"
)
GPT: Final = ModelChanged(model="gpt-5", wire="responses", provider="openai")
FLASH: Final = ModelChanged(
    model="gemini-2.5-flash", wire="generateContent", provider="google"
)
PRO: Final = ModelChanged(
    model="gemini-2.5-pro", wire="generateContent", provider="google"
)
PROGRAM: Final = "opencode 1.18.33"


def begun(model: ModelChanged = CLAUDE, *, is_logged: bool = False) -> Meter:
    """A session of a program whose log has system prompt and tools, or neither."""
    meter = Meter(estimator="pretoken")
    meter.apply(
        SessionStarted(
            session="now",
            model=model.model,
            wire=model.wire,
            provider=model.provider,
            program=PROGRAM,
            at=100.0,
            unlogged=() if is_logged else ("system", "tools"),
        )
    )
    if is_logged:
        meter.apply(SystemChanged(system=(SystemBlock(text="Be brief. " * 200),)))
        meter.apply(ToolsChanged(tools=()))
    return meter


def spoken(meter: Meter, name: str, *, beyond: int, text: str = "Go on, please.") -> int:
    """A message and its answer, whose call reports so many tokens beyond the ledger. Gives the reported input."""
    meter.apply(MessageAdded(message=said(name, text)))
    reported = round(ledger(meter)) + beyond
    called(meter, name, reported)
    return reported


def called(meter: Meter, name: str, reported: int) -> None:
    meter.apply(CallStarted(call=f"{name}.c", at=200.0))
    meter.apply(CallEnded(call=f"{name}.c", at=201.0, usage=usage(reported, 5)))
    meter.apply(MessageAdded(message=answer(f"{name}.a", "Fine.", call=f"{name}.c")))


def ledger(meter: Meter) -> float:
    fold = meter._fold
    return fold.view.tokens + fold.fixed.tokens


def holds(reading: Reading, tokens: float) -> bool:
    return reading.used.low <= tokens <= reading.used.high


def test_a_session_that_returns_to_a_model_rests_on_what_that_model_was_sent() -> None:
    meter = begun()
    spoken(meter, "first", beyond=9_000)
    meter.apply(GPT)
    spoken(meter, "second", beyond=5_000)
    meter.apply(CLAUDE)
    reading = meter.reading()
    assert reading.used.tokens == pytest.approx(ledger(meter) + 9_000, abs=2)
    assert reading.used.high - reading.used.low < 0.05 * reading.used.tokens
    assert "changed back" in reading.basis.label
    unlogged = next(row for row in reading.rows if row.name == "Not in the log")
    assert unlogged.tokens == pytest.approx(9_000, rel=0.02)
    meter.apply(GPT)
    assert meter.reading().used.tokens == pytest.approx(ledger(meter) + 5_000, abs=5)


def test_the_same_holds_where_the_log_has_everything_and_the_estimate_is_off() -> None:
    meter = begun(is_logged=True)
    spoken(meter, "first", beyond=-80)
    meter.apply(GPT)
    spoken(meter, "second", beyond=90)
    meter.apply(CLAUDE)
    assert meter.reading().used.tokens == pytest.approx(ledger(meter) - 80, abs=2)


def test_a_message_of_the_other_model_widens_the_interval_by_its_size() -> None:
    widths: list[int] = []
    for count in (10, 2_000):
        meter = begun()
        spoken(meter, "first", beyond=9_000)
        meter.apply(GPT)
        spoken(meter, "second", beyond=5_000, text="Some words more. " * count)
        meter.apply(CLAUDE)
        used = meter.reading().used
        widths.append(used.high - used.low)
    assert widths[1] > 5 * widths[0]


def test_what_the_estimate_missed_of_messages_leaves_with_them() -> None:
    meter = begun(is_logged=True)
    spoken(meter, "first", beyond=2_000, text="Some words more. " * 2_000)
    meter.apply(GPT)
    meter.apply(CompactionCommitted(compaction="x", summarised=("first", "first.a")))
    spoken(meter, "second", beyond=0)
    meter.apply(CLAUDE)
    assert meter.reading().used.tokens < ledger(meter) + 100


def test_what_no_log_holds_costs_the_same_where_text_is_counted_alike() -> None:
    """Gemini CLI sends both models nearly the same; the ratio of a few logged tokens made 22 % less of it."""
    meter = begun(FLASH)
    spoken(meter, "first", beyond=9_000)
    meter.apply(PRO)
    reading = meter.reading()
    assert reading.used.tokens == pytest.approx(9_000 + ledger(meter), rel=0.01)


def test_another_model_may_be_sent_another_prompt_and_other_tools() -> None:
    """Codex sent 1,650 tokens more to gpt-5 than to gpt-5.5, of 12,100."""
    meter = begun()
    spoken(meter, "first", beyond=9_000)
    meter.apply(GPT)
    reading = meter.reading()
    assert holds(reading, 7_000)
    assert holds(reading, 9_000)
    assert "carried over by ratio" in reading.basis.label


def test_where_the_log_has_everything_the_interval_also_holds_its_estimate() -> None:
    meter = begun(is_logged=True)
    spoken(meter, "first", beyond=400)
    meter.apply(GPT)
    assert holds(meter.reading(), ledger(meter))


def test_earlier_sessions_with_the_new_model_outweigh_anothers_report() -> None:
    meter = begun()
    earlier = FirstCall(
        id="e",
        session="earlier",
        program=PROGRAM,
        provider=GPT.provider,
        model=GPT.model,
        unlogged="system+tools",
        tokens=12_000,
        doubt=5,
        at=50.0,
    )
    meter.apply(OverheadLearnt(calls=(earlier,)))
    spoken(meter, "first", beyond=9_000)
    carried = begun()
    spoken(carried, "first", beyond=9_000)
    for each in (meter, carried):
        each.apply(GPT)
    reading = meter.reading()
    assert reading.used.tokens == pytest.approx(12_000 + ledger(meter), abs=5)
    assert "earlier sessions" in reading.basis.label
    assert holds(reading, carried.reading().used.tokens)


def test_a_model_that_never_reported_leaves_nothing_to_return_to() -> None:
    meter = begun()
    spoken(meter, "first", beyond=9_000)
    meter.apply(GPT)
    meter.apply(PRO)
    meter.apply(GPT)
    assert "carried over by ratio" in meter.reading().basis.label


def test_only_the_newest_models_are_kept() -> None:
    meter = begun()
    spoken(meter, "first", beyond=9_000)
    for number in range(MOST_MODELS + 5):
        wire = ("messages", "responses")[number % 2]
        meter.apply(ModelChanged(model=f"model-{number}", wire=wire, provider="own"))
        spoken(meter, f"m{number}", beyond=9_000)
    meter.apply(CLAUDE)
    reports = meter._fold.model_reports
    assert len(reports) == MOST_MODELS
    assert "responses/own/model-11" in reports
    assert "messages/anthropic/claude-sonnet-4-5" not in reports
