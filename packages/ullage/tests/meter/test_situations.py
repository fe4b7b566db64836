"""What a call follows on, and how wide the interval of each such situation becomes."""

import random

import pytest

from tests.meter.session import answer, result, said, usage
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    SessionStarted,
    SizeStated,
)
from ullage.messages import Message
from ullage.meter.fold import Fold
from ullage.meter.meter import Meter
from ullage.meter.situations import AS_EXPECTED, widths_of
from ullage.tokens.calibration import Calibration, Learnt
from ullage.tokens.policy import WIDTH_RANGE


def meter(program: str = "") -> Meter:
    made = Meter()
    started = SessionStarted(
        wire="messages",
        provider="anthropic",
        model="claude-haiku-4-5",
        program=program,
        unlogged=("system", "tools"),
    )
    made.apply(started)
    return made


def call(made: Meter, name: str, *said_before: Message, **answered: int | str) -> str:
    """One call with these messages, and what it followed on. Each costs just what was estimated."""
    reasoning = int(answered.pop("reasoned", 0))
    outcome = str(answered.pop("outcome", "finished"))
    for message in said_before:
        made.apply(MessageAdded(message=message))
    made.apply(CallStarted(call=name))
    forecast = made.state.pending[name].forecast
    reported = usage(forecast.tokens, 90 + reasoning, reasoning=reasoning)
    ended: Event = CallEnded(call=name, usage=reported)
    if outcome != "finished":
        ended = CallEnded(call=name, outcome="cancelled")
    made.apply(ended)
    made.apply(MessageAdded(message=answer(f"a-{name}", call=name, **answered)))  # type: ignore[arg-type]
    return forecast.situation


def test_each_call_is_told_by_what_it_follows_on() -> None:
    made = meter()
    assert call(made, "1", said("u1", "Begin."), calls=1) == "first call"
    assert call(made, "2", result("r1", "a-1-0", "found"), calls=1) == "second call"
    assert call(made, "3", result("r2", "a-2-0", "found"), text="Done.") == "tool step"
    assert (
        call(made, "4", said("u2", "And?"), text="Yes.", outcome="cancelled")
        == "user turn"
    )
    after = call(made, "5", said("u3", "Go on."), calls=1, reasoning="Hm.", reasoned=400)
    assert after == "after an interruption"
    wrote = result("r5", "a-5-0", "written", name="Write")
    assert call(made, "6", wrote, text="Done.", reasoning="Hm.", reasoned=400) == "edit"
    after = call(made, "7", said("u4", "Go on."), calls=1, reasoning="Hm.", reasoned=400)
    assert after == "user turn, reasoning before"
    after = call(made, "8", result("r7", "a-7-0", "found"), text="Done.")
    assert after == "tool step, reasoning before"
    shorter = MessageReplaced(message=said("u1", "."))
    made.apply(shorter)
    assert call(made, "9", said("u5", "Go on."), text="Yes.") == "changed by the caller"


@pytest.mark.parametrize("by", ["Copilot", "the provider"])
def test_a_call_that_rests_on_a_stated_size_follows_on_no_other_model(by: str) -> None:
    made = meter()
    made.apply(SizeStated(by=by, tokens=30_000))
    assert call(made, "1", said("u1", "Begin."), calls=1) == "stated size"
    widths = made.calibration.models["anthropic/claude-haiku-4-5"].widths
    assert "stated size" in widths
    assert "model switch" not in widths
    made.apply(ModelChanged(model="gpt-5.2", wire="responses", provider="openai"))
    assert call(made, "2", result("r1", "a-1-0", "found")) == "model switch"


def test_a_compaction_is_followed_by_two_situations_of_its_own() -> None:
    made = meter()
    call(made, "1", said("u1", "Begin."), calls=1)
    call(made, "2", result("r1", "a-1-0", "found"), text="Done.")
    gone = tuple(message.id for message in made.messages)
    made.apply(
        CompactionCommitted(compaction="c", summarised=gone, summary=said("s", "Short."))
    )
    assert call(made, "3", said("u2", "Go on."), calls=1) == "after a compaction"
    assert (
        call(made, "4", result("r3", "a-3-0", "found"), calls=1) == "the call after that"
    )
    assert call(made, "5", result("r4", "a-4-0", "found"), calls=1) == "tool step"


def test_a_compaction_stays_what_a_call_follows_on_until_one_has_reported() -> None:
    made = meter()
    call(made, "1", said("u1", "Begin."), text="Done.")
    gone = tuple(message.id for message in made.messages)
    made.apply(
        CompactionCommitted(compaction="c", summarised=gone, summary=said("s", "Short."))
    )
    made.apply(CallStarted(call="lost"))
    made.apply(CallEnded(call="lost", outcome="failed"))
    assert call(made, "2", said("u2", "Go on."), text="Yes.") == "after a compaction"


def width(fold: Fold) -> int:
    forecast = fold.forecast()
    return forecast.high - forecast.tokens


def test_a_log_that_lacks_what_its_program_sends_has_the_widths_of_that_program() -> None:
    """What Claude Code adds to a user's message is in no log; an application that tells all has no such doubt."""
    widths = {}
    for program in ("claude-code 2.1.80", "somebody-else 1.0"):
        made = meter(program)
        for number in "123":
            call(made, number, said(f"u{number}", "Go on."), text="Yes.")
        widths[program] = width(made.state)
    more = widths_of("claude-code", "user turn").more
    assert widths["claude-code 2.1.80"] - widths["somebody-else 1.0"] > 0.9 * more
    assert widths_of("", "user turn") == AS_EXPECTED


def missed(calibration: Calibration, situation: str, *, above: bool) -> Calibration:
    return calibration.widened("p", "m", situation, below=False, above=above)


def test_a_situation_that_is_missed_gets_wider_on_that_side_alone() -> None:
    learnt = missed(Calibration(), "edit", above=True).of("p", "m").widths
    assert learnt.keys() == {"edit"}
    below, above = learnt["edit"]
    assert below < 1 < above


def test_in_the_long_run_an_end_is_missed_as_often_as_it_is_meant_to_be() -> None:
    """Errors that are three times as large as expected, and then a third."""
    dice = random.Random(7)
    for spread in (3.0, 0.7):
        calibration, misses = Calibration(), 0
        for number in range(4_000):
            _, above = calibration.of("p", "m").widths.get("edit", (1.0, 1.0))
            is_missed = abs(dice.gauss(0, spread)) > 1.96 * above
            misses += is_missed and number >= 1_000
            calibration = missed(calibration, "edit", above=is_missed)
        assert 0.015 < misses / 3_000 < 0.035


@pytest.mark.parametrize("damaged", [0.0, -3.0, 1e300, -1e300])
def test_a_damaged_width_is_taken_as_the_nearest_that_may_be(damaged: float) -> None:
    learnt = Learnt(widths={"edit": (damaged, damaged)})
    calibration = Calibration(models={"p/m": learnt})
    least, most = WIDTH_RANGE
    assert learnt.width_of("edit") in ((least, least), (most, most))
    below, above = missed(calibration, "edit", above=True).of("p", "m").width_of("edit")
    assert least <= below <= above <= most
