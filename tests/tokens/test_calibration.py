import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.calibration import (
    MEMORY,
    NOTHING_LEARNT,
    Calibration,
    Learnt,
    Observation,
    is_the_other_way,
    learn,
)
from ullage.tokens.families import GENERIC, family_for

CLAUDE = family_for("messages", "anthropic", "claude-sonnet-4-5")


def seen(content: float, residual: float, **more: object) -> Observation:
    told = {"actual": 10_000, "corrected": residual, "expected": 10.0} | more
    return Observation(content=content, residual=residual, **told)  # type: ignore[arg-type]


def after(*observations: Observation) -> Learnt:
    learnt = NOTHING_LEARNT
    for each in observations:
        learnt = learn(learnt, each)
    return learnt


def test_before_anything_was_seen_nothing_is_corrected() -> None:
    assert (NOTHING_LEARNT.ratio(CLAUDE), NOTHING_LEARNT.offset(is_user=False)) == (1.0, 0.0)
    assert (NOTHING_LEARNT.below, NOTHING_LEARNT.above, NOTHING_LEARNT.n) == (1.0, 1.0, 0)


def test_an_offset_is_believed_once_it_is_steady() -> None:
    three = after(*[seen(30, 6)] * 3)
    assert three.offset(is_user=False) == 0
    assert after(*[seen(30, 6)] * 4).offset(is_user=False) == 6
    assert after(*[seen(30, 6)] * 4).offset(is_user=True) == 0


def test_an_offset_that_comes_and_goes_is_no_offset() -> None:
    assert after(*[seen(30, residual) for residual in (100, -5, 0, 3, -90, 8)]).offset(is_user=False) == 0


def test_a_few_reminders_between_exact_rows_leave_the_offset_at_zero() -> None:
    assert after(*[seen(30, residual) for residual in (0, 110, 0, 1, 0, 210, -1)]).offset(is_user=False) == 0


def test_the_ratio_is_learnt_from_long_texts_and_shrunk_towards_one() -> None:
    few, many = after(*[seen(1000, 100)] * 2), after(*[seen(1000, 100)] * 20)
    assert 1.0 < few.ratio(CLAUDE) < many.ratio(CLAUDE) < 1.1
    assert after(*[seen(50, 5)] * 20).ratio(CLAUDE) == 1.0


def test_an_unknown_familys_ratio_is_learnt_at_once() -> None:
    learnt = after(seen(1000, 300))
    assert learnt.ratio(GENERIC) == pytest.approx(1.2)
    assert learnt.ratio(GENERIC) > learnt.ratio(CLAUDE)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e6, 1e6)), max_size=60))
def test_whatever_is_seen_the_state_is_bounded(rows: list[tuple[float, float]]) -> None:
    learnt = after(*[seen(content, residual) for content, residual in rows])
    assert len(learnt.residuals) <= MEMORY
    assert 0.5 <= learnt.ratio(GENERIC) <= 2.0
    assert 0.6 <= learnt.below <= 8.0
    assert 0.6 <= learnt.above <= 8.0
    assert learnt.n == len(rows)


def test_one_outlier_does_not_move_the_ratio() -> None:
    steady = [seen(1000, 20)] * 9
    assert after(*steady, seen(1000, 5000)).ratio(CLAUDE) == pytest.approx(after(*steady, seen(1000, 20)).ratio(CLAUDE))


def test_rows_that_cannot_be_counted_teach_no_correction() -> None:
    learnt = after(*[seen(1000, 500, sound=False)] * 5)
    assert (learnt.ratio(CLAUDE), learnt.residuals, learnt.n) == (1.0, (), 5)


def test_over_and_underestimates_widen_their_own_side() -> None:
    under = after(*[seen(30, 15)] * 10)
    assert under.above > 1 > under.below
    over = after(*[seen(30, -15)] * 10)
    assert over.below > 1 > over.above


def test_the_side_below_is_measured_by_its_own_width() -> None:
    wide = after(*[seen(30, -15, expected_below=100.0)] * 10)
    assert wide.below < 1


def test_mean_errors_before_and_after_are_kept() -> None:
    learnt = after(seen(30, 100, corrected=50), seen(30, 300, corrected=-50))
    assert learnt.before == pytest.approx(0.02)
    assert learnt.after == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("hidden", "corrected", "flips"),
    [
        (500, -490, True),  # counted, and the input came out without it
        (-500, 490, True),  # left out, and the input came out with it
        (500, 490, False),
        (-500, -490, False),
        (500, -300, False),
        (30, -30, False),  # too little to be told from noise
        (0, 0, False),
    ],
)
def test_a_miss_by_just_the_hidden_reasoning_shows_the_rule_to_be_the_other_way(
    hidden: float, corrected: float, flips: bool
) -> None:
    observation = seen(30, corrected, hidden=hidden, rule="some rule")
    assert is_the_other_way(observation) is flips
    learnt = after(observation)
    assert learnt.flips("some rule", False) is flips
    assert not learnt.flips("some rule", True)


def test_a_second_flip_turns_the_rule_back() -> None:
    once = after(seen(30, -500, hidden=500, rule="r", is_user=True))
    twice = learn(once, seen(30, 500, hidden=-500, rule="r", is_user=True))
    assert once.flips("r", True)
    assert not twice.flips("r", True)


def test_what_a_flip_explains_is_not_taken_for_an_offset() -> None:
    assert after(*[seen(30, -500, hidden=500, rule="r")] * 4).offset(is_user=False) == 0


def test_models_learn_apart_and_the_state_survives_storage() -> None:
    calibration = Calibration().learn("anthropic", "claude", seen(30, 6)).learn("openai", "gpt", seen(30, 9))
    again = msgspec.json.decode(msgspec.json.encode(calibration), type=Calibration)
    assert again == calibration
    assert again.of("anthropic", "claude").residuals[0].residual == 6
    assert again.of("nobody", "knows") is NOTHING_LEARNT


def test_results_of_one_tool_have_an_offset_of_their_own() -> None:
    told = [seen(30, residual, kind=kind) for residual, kind in ((-6, "edit"), (9, "read")) * 3]
    learnt = after(*told)
    assert learnt.offset(is_user=False, kind="edit") == -6
    assert learnt.offset(is_user=False, kind="read") == 9
    assert learnt.offset(is_user=False) == 0


def test_a_kind_that_was_hardly_seen_gets_the_offset_of_all() -> None:
    learnt = after(*[seen(30, 6, kind="bash")] * 4)
    assert learnt.offset(is_user=False, kind="write") == 6


def test_a_kinds_offset_is_wrapping_and_never_content() -> None:
    learnt = after(*[seen(30, 400, kind="task")] * 5)
    assert learnt.offset(is_user=False, kind="task") == 0
    assert after(*[seen(150, 30, kind="task")] * 5)._kind_offsets == {}
