"""What leaves the view is taken off as it was measured, step by step, and not at what all together came to."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.sessions import fold_of, words
from tests.meter.session import answer, result, said, usage
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    MessageAdded,
    ModelChanged,
    Rewound,
)
from ullage.messages import Message
from ullage.meter.fold import Fold
from ullage.meter.policy import MOST_STEPS
from ullage.meter.state import StepRatios
from ullage.usage import Usage

BASE = 300


def lived(steps: Iterable[tuple[Message, Message, float]]) -> tuple[Fold, dict[str, int]]:
    """A session of steps, each a message, its answer, and how many times their estimates the provider counts them.

    The second are the real tokens that each step added to the input, by the id of its message.
    """
    fold = fold_of(said("first", "hello"))
    real, came = BASE, dict[str, int]()
    add(fold, "c", real, answer("first.a", "hello", call="c"))
    for number, (message, reply, times) in enumerate(steps):
        before = fold.anchor.messages if fold.anchor else 0.0
        fold.apply(MessageAdded(message=message))
        came[message.id] = round((fold.view.tokens - before) * times)
        real += came[message.id]
        add(fold, f"c{number}", real, reply)
    return fold, came


def add(fold: Fold, call: str, real: int, reply: Message) -> None:
    fold.apply(CallStarted(call=call))
    reported = usage(real, round(fold.forecaster.message(reply, {}).tokens))
    fold.apply(CallEnded(call=call, usage=reported))
    fold.apply(MessageAdded(message=reply))


def mixed(
    count: int, results: float = 1.6, others: float = 0.9
) -> list[tuple[Message, Message, float]]:
    """Words that the provider counts as little, and results of tools that it counts as much."""
    made: list[tuple[Message, Message, float]] = []
    for n in range(count):
        call = f"c{2 * n}"
        made.append(
            (said(f"u{n}", words(60, n)), answer(f"a{n}", calls=1, call=call), others)
        )
        reply = answer(f"b{n}", words(30, n), call=f"c{2 * n + 1}")
        made.append((result(f"r{n}", f"a{n}-0", words(80, 99 + n)), reply, results))
    return made


@given(st.integers(1, 7), st.floats(0.7, 1.8), st.floats(0.7, 1.4))
def test_what_is_left_of_an_actual_is_what_the_steps_that_stay_have_added(
    leave: int, results: float, others: float
) -> None:
    """Whole turns leave: from the second message of the view, as the first was measured with system and tools."""
    fold, came = lived(mixed(8, results, others))
    anchor = fold.anchor
    assert anchor is not None
    gone = [
        "first.a",
        *(f"{kind}{n}" for n in range(leave) for kind in "uar"),
        *(f"b{n}" for n in range(leave - 1)),
    ]
    real = sum(came[f"{kind}{n}"] for n in range(leave) for kind in "ur")
    fold.apply(CompactionCommitted(compaction="x", summarised=tuple(gone)))
    assert fold.removed == pytest.approx(real, abs=2 * leave)


def test_by_what_all_came_to_the_same_would_be_far_off() -> None:
    """The proportion of the whole says the same of words and results, of which none is right."""
    fold, _ = lived(mixed(8))
    in_view = {entry.id: entry for entry in fold.view}
    assert fold.scale_of(in_view["u3"]) < 0.8 * fold.scale()
    assert fold.scale_of(in_view["r3"]) > 1.2 * fold.scale()


def test_a_step_in_which_something_left_is_not_measured() -> None:
    fold, _ = lived(mixed(4))
    known = len(fold.step_ratios.ratios)
    fold.apply(Rewound(to="b2"))
    fold.apply(MessageAdded(message=said("new", words(50))))
    add(fold, "later", 1_400, answer("new.a", "yes", call="later"))
    assert len(fold.step_ratios.ratios) == known
    fold.apply(MessageAdded(message=said("newer", words(50))))
    add(fold, "last", 1_480, answer("newer.a", "yes", call="last"))
    assert len(fold.step_ratios.ratios) == known + 1


def test_what_one_model_counted_says_nothing_of_another() -> None:
    fold, _ = lived(mixed(4))
    fold.apply(ModelChanged(model="gpt-5", wire="responses", provider="openai"))
    assert fold.step_ratios.ratios == []


def test_a_step_that_came_to_what_no_messages_can_is_not_kept() -> None:
    ratios = StepRatios()
    ratios.note(0, 2, estimated=100, actual=900)
    ratios.note(2, 4, estimated=100, actual=-50)
    ratios.note(4, 4, estimated=100, actual=100)
    ratios.note(4, 6, estimated=0, actual=100)
    assert ratios == StepRatios()


def test_the_newest_steps_are_kept_and_what_lies_between_two_is_not_known() -> None:
    ratios = StepRatios()
    for step in range(2 * MOST_STEPS):
        ratios.note(10 * step, 10 * step + 8, estimated=100, actual=100 + step % 7)
    last = 10 * (2 * MOST_STEPS - 1)
    assert ratios.ratio(last) is None
    assert (
        ratios.ratio(last + 1)
        == ratios.ratio(last + 8)
        == 1 + (2 * MOST_STEPS - 1) % 7 / 100
    )
    assert ratios.ratio(last + 9) is None
    assert ratios.ratio(5) is None
    assert len(ratios.ratios) == len(ratios.behind) == len(ratios.through) == MOST_STEPS


def test_what_was_measured_by_a_rule_that_was_the_other_way_round_is_given_up() -> None:
    """The rule leaves reasoning out of the next turn's input, here it stays; what was split by it is not known."""
    fold = fold_of(said("first", "hello"))
    fold.apply(ModelChanged(model="qwen3", wire="chat", provider="vllm"))
    real, known = BASE, list[int]()
    for number in range(10):
        thought = 500 if number > 4 else 0
        fold.apply(CallStarted(call=f"c{number}"))
        spent = Usage(
            input=real, output=40 + thought, reasoning=thought, dialect="openai"
        )
        fold.apply(CallEnded(call=f"c{number}", usage=spent))
        thinking = words(300) if thought else ""
        answered = answer(f"a{number}", words(30), reasoning=thinking, call=f"c{number}")
        fold.apply(MessageAdded(message=answered))
        fold.apply(MessageAdded(message=said(f"u{number}", words(40, number))))
        known.append(len(fold.step_ratios.ratios))
        real += 40 + thought + 45
    assert fold.calibration.of("vllm", "qwen3").flipped
    assert known == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3]
