import random
from math import hypot

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.errors import UnreadableInput
from ullage.tokens.calibration import (
    AS_EXPECTED,
    NEVER_MEASURED,
    NOTHING_LEARNT,
    Calibration,
    Learnt,
    calibration_from_json,
    learn,
)
from ullage.tokens.policy import MEMORY, SCALE_RANGE
from ullage.tokens.regression import Observation, TermValues, terms
from ullage.tokens.text_kinds import KINDS, KindTokens, summed


def seen(content: float, residual: float, **more: object) -> Observation:
    told = {
        "corrected": residual,
        "expected": 10.0,
        "expected_text": 0.08 * content,
    } | more
    return Observation(content=content, residual=residual, **told)  # type: ignore[arg-type]


def after(*observations: Observation) -> Learnt:
    learnt = NOTHING_LEARNT
    for each in observations:
        learnt = learn(learnt, each)
    return learnt


def result(content: float, *, results: int = 1) -> TermValues:
    return terms(content, results=results, is_user=False, calls=0)


def test_before_anything_was_seen_nothing_is_corrected() -> None:
    assert NOTHING_LEARNT.correction(result(900.0)) == (0.0, 0.0)
    assert (NOTHING_LEARNT.ratio, NOTHING_LEARNT.offset(is_user=False)) == (1.0, 0.0)
    assert NOTHING_LEARNT.below == AS_EXPECTED
    assert NOTHING_LEARNT.above == AS_EXPECTED
    assert NOTHING_LEARNT.n == 0


def test_few_small_messages_speak_of_an_offset_and_hardly_of_a_ratio() -> None:
    learnt = after(*[seen(30, 6)] * 3)
    assert learnt.offset(is_user=False) == pytest.approx(5, abs=1)
    assert learnt.ratio == pytest.approx(1, abs=0.01)


def test_long_texts_speak_of_the_ratio() -> None:
    few, many = after(*[seen(1000, 40)] * 2), after(*[seen(1000, 40)] * 20)
    assert 1.0 < few.ratio < many.ratio < 1.06
    assert many.correction(result(2000.0)).tokens == pytest.approx(80, abs=6)


def test_a_model_that_counts_quite_otherwise_is_believed_after_a_few_calls() -> None:
    told = [seen(content, 0.3 * content + 12) for content in (900, 300, 1500, 40)]
    learnt = after(*told)
    assert learnt.correction(result(1000.0)).tokens == pytest.approx(312, abs=10)


def test_one_residual_alone_corrects_nothing_and_widens_the_interval() -> None:
    assert after(seen(30, 6)).correction(result(30.0)).tokens == 0
    correction = after(seen(30, 40)).correction(result(30.0))
    assert correction.doubt > after(seen(30, 2)).correction(result(30.0)).doubt > 0


def test_an_unknown_familys_ratio_is_learnt_at_once() -> None:
    unknown = after(*[seen(1000, 300, is_known=False)] * 2)
    assert unknown.ratio > 1.2


def test_offset_ratio_and_results_are_told_apart() -> None:
    told = [
        seen(content, 0.2 * content + 5 + 9 * results, results=results)
        for content, results in (
            (40, 1),
            (600, 1),
            (90, 3),
            (1200, 2),
            (30, 2),
            (300, 3),
            (700, 1),
            (50, 1),
        )
    ]
    learnt = after(*told)
    for content, results in ((100, 1), (100, 3), (2000, 1), (2000, 3)):
        expected = 0.2 * content + 5 + 9 * results
        assert learnt.correction(
            result(content, results=results)
        ).tokens == pytest.approx(expected, rel=0.06)


def test_a_few_reminders_between_exact_rows_hardly_move_the_offset() -> None:
    learnt = after(
        *[seen(30, residual) for residual in (0, 1, 0, 110, 0, 210, -1, 0, 1, 0)]
    )
    assert abs(learnt.offset(is_user=False)) < 2


def test_one_outlier_does_not_move_the_ratio() -> None:
    steady = [seen(1000, 20)] * 9
    assert after(*steady, seen(1000, 5000)).ratio == pytest.approx(
        after(*steady, seen(1000, 20)).ratio, abs=0.02
    )


def test_counted_calls_of_answers_are_a_term_of_their_own() -> None:
    told = seen(300, -20 * 10, is_user=True, results=0, calls=10)
    turns = [told, seen(300, -20 * 6, is_user=True, calls=6)]
    learnt = after(seen(30, 0), *turns, seen(30, 0))
    row = terms(300.0, results=0, is_user=True, calls=8)
    assert learnt.correction(row).tokens == pytest.approx(-160, abs=30)


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(-1e6, 1e6), st.integers(0, 9)), max_size=60
    )
)
def test_whatever_is_seen_the_state_is_bounded(
    rows: list[tuple[float, float, int]],
) -> None:
    learnt = after(
        *[seen(content, residual, results=results) for content, residual, results in rows]
    )
    assert len(learnt.seen) <= MEMORY
    assert 0.5 <= learnt.ratio <= 2.0
    for scales in (learnt.below, learnt.above):
        assert all(SCALE_RANGE[0] <= scale <= SCALE_RANGE[1] for scale in scales)
    assert learnt.correction(result(1000.0)).doubt >= 0
    assert learnt.n == len(rows)


@given(
    st.lists(
        st.tuples(st.integers(0, 3000), st.integers(-300, 300)), min_size=1, max_size=50
    )
)
def test_the_state_does_not_grow(rows: list[tuple[int, int]]) -> None:
    learnt = after(
        *[
            seen(content, residual, hidden=90.0, otherwise=90.0, rule="r")
            for content, residual in rows
        ]
    )
    assert len(msgspec.json.encode(learnt)) < 12_000


def test_the_more_was_seen_the_surer_a_correction_is() -> None:
    told = [
        seen(content, 0.3 * content + 12)
        for content in (900, 300, 1500, 40, 600, 200, 1000, 90)
    ]
    early, late = after(*told[:2]), after(*told)
    assert late.correction(result(800.0)).doubt < early.correction(result(800.0)).doubt


def test_rows_that_cannot_be_counted_teach_no_correction() -> None:
    learnt = after(*[seen(1000, 500, sound=False)] * 5)
    assert (learnt.ratio, learnt.seen, learnt.n) == (1.0, (), 5)


def test_exact_calls_narrow_the_interval() -> None:
    learnt = after(*[seen(content, 0) for content in (30, 600, 40, 900) * 4])
    assert max(*learnt.below, *learnt.above) < 0.8


def test_over_and_underestimates_widen_their_own_side() -> None:
    errors = [0, 40, 0, 60, 0, 50, 0, 0, 45, 0]
    under = after(*[seen(30, residual) for residual in errors])
    assert under.above.wrapping > under.below.wrapping
    over = after(*[seen(30, -residual) for residual in errors])
    assert over.below.wrapping > over.above.wrapping


def test_errors_of_long_texts_widen_the_texts_share_alone() -> None:
    told = [seen(1000, residual) for residual in (150, -150) * 5] + [seen(20, 0)] * 10
    learnt = after(*told)
    assert learnt.above.text > 1 > learnt.above.wrapping


@pytest.mark.parametrize(
    ("hidden", "residual", "flips"),
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
@pytest.mark.parametrize("is_user", [True, False])
def test_a_miss_by_just_the_hidden_reasoning_turns_the_rule_round(
    hidden: float, residual: float, flips: bool, is_user: bool
) -> None:
    otherwise = 0.0 if is_user else hidden
    learnt = after(
        seen(
            30,
            residual,
            hidden=hidden,
            otherwise=otherwise,
            rule="some rule",
            is_user=is_user,
        )
    )
    assert learnt.flips("some rule", is_user) is flips
    assert not learnt.flips("some rule", not is_user)


def test_a_rule_whose_effect_changes_is_turned_back() -> None:
    once = after(seen(30, -500, hidden=500, otherwise=500, rule="r"))
    again = once
    for hidden in (500, 90, 300, 200, 800, 120):
        again = learn(
            again, seen(30, hidden, hidden=-hidden, otherwise=-hidden, rule="r")
        )
    assert once.flips("r", False)
    assert not again.flips("r", False)


def test_reasoning_that_a_rule_has_wrong_is_not_taken_for_an_offset() -> None:
    learnt = NOTHING_LEARNT
    for hidden in (127, 152, 371, 111):
        said = (
            -hidden if learnt.flips("r", False) else hidden
        )  # what the rule says, as it is by then
        residual = 4 - hidden if said > 0 else 4
        learnt = learn(learnt, seen(30, residual, hidden=said, otherwise=said, rule="r"))
    assert learnt.flips("r", False)
    assert learnt.offset(is_user=False) == pytest.approx(4, abs=3)


def test_as_long_as_the_loops_rule_is_open_nothing_is_said_of_the_turns() -> None:
    doubtful = after(seen(400, -60, hidden=90, otherwise=90, rule="r"))
    assert not doubtful.flips("r", False)
    learnt = learn(
        doubtful, seen(30, 500, hidden=-500, rule="r", is_user=True, results=0)
    )
    assert not learnt.flips("r", True)


def test_models_learn_apart_and_the_state_survives_storage() -> None:
    calibration = (
        Calibration()
        .learn("anthropic", "claude", seen(30, 6))
        .learn("openai", "gpt", seen(30, 9))
    )
    again = calibration_from_json(calibration.as_json())
    assert again == calibration
    assert again.of("anthropic", "claude").seen[0].residual == 6
    assert again.of("anthropic", "claude").correction(result(50.0)) == calibration.of(
        "anthropic", "claude"
    ).correction(result(50.0))
    assert again.of("nobody", "knows") is NOTHING_LEARNT


def test_a_calibration_that_is_damaged_says_so() -> None:
    for data in (b"", b"{", b'{"models": 3}', b'"\xff"'):
        with pytest.raises(UnreadableInput):
            calibration_from_json(data)


SIX_KINDS = ("digits", "marks", "Cyrillic", "Han", "Arabic", "other scripts")


def of_kind(name: str, tokens: float) -> KindTokens:
    place = [kind.name for kind in KINDS].index(name)
    return (0.0,) * place + (tokens,)


@pytest.mark.parametrize("place", range(len(KINDS)))
def test_no_kind_of_text_is_taught_to_cost_less_than_half_its_count(place: int) -> None:
    kind = (0.0,) * place
    learnt = after(
        *[seen(400, -390, text_kinds=(*kind, 400.0), is_known=False) for _ in range(3)]
    )
    row = terms(1_600, results=0, is_user=False, calls=0, text_kinds=(*kind, 1_600.0))
    bare = terms(0, results=0, is_user=False, calls=0)
    text = learnt.correction(row).tokens - learnt.correction(bare).tokens
    assert text > -800 - 1e-6


def test_a_model_never_measured_is_corrected_and_unsure_from_its_first_call_on() -> None:
    kinds = of_kind("Arabic", 400.0)
    arabic = terms(400.0, results=0, is_user=True, calls=0, text_kinds=kinds)
    correction = NEVER_MEASURED.correction(arabic, is_known=False)
    assert correction.tokens > 50
    assert correction.doubt > 200
    assert NEVER_MEASURED.correction(arabic, is_known=True).tokens == 0


def test_the_interval_holds_while_there_are_hardly_more_calls_than_terms() -> None:
    held: list[bool] = []
    for seed in range(12):
        dice = random.Random(seed)
        learnt = NOTHING_LEARNT
        for number in range(16):
            held_tokens = {name: dice.choice((0.0, 300.0)) for name in SIX_KINDS}
            kinds: KindTokens = ()
            for name, tokens in held_tokens.items():
                kinds = summed(kinds, of_kind(name, tokens))
            row = terms(900.0, results=1, is_user=False, calls=0, text_kinds=kinds)
            correction = learnt.correction(row)
            half = hypot(0.08 * 900 * learnt.above.text, 10.0, correction.doubt)
            residual = 0.3 * held_tokens["digits"] + 0.4 * held_tokens["Han"]
            residual += dice.gauss(0, 45)
            if number >= 6:
                held.append(abs(residual - correction.tokens) <= half)
            told = seen(900.0, residual, text_kinds=kinds, is_known=False)
            learnt = learn(learnt, told)
    assert sum(held) >= 0.9 * len(held)


def test_results_of_one_tool_have_an_offset_of_their_own() -> None:
    told = [
        seen(30, residual, kind=kind)
        for residual, kind in ((-6, "edit"), (9, "read")) * 5
    ]
    learnt = after(*told)
    assert learnt.correction(result(30.0), kind="edit").tokens == pytest.approx(-6, abs=1)
    assert learnt.correction(result(30.0), kind="read").tokens == pytest.approx(9, abs=1)


def test_a_kind_that_was_hardly_seen_gets_the_offset_of_all() -> None:
    learnt = after(*[seen(30, 6, kind="bash")] * 4)
    assert learnt.offset(is_user=False, kind="write") == learnt.offset(is_user=False)


def test_a_kinds_offset_is_wrapping_and_never_content() -> None:
    told = [
        seen(30, residual, kind=kind)
        for residual, kind in ((400, "task"), (0, "read")) * 6
    ]
    learnt = after(*told)
    assert learnt.offset(is_user=False, kind="task") == learnt.offset(is_user=False)
    mixed = [
        seen(30, residual, kind=kind)
        for residual, kind in ((-6, "edit"), (9, "read")) * 5
    ]
    long = result(500.0)
    assert after(*mixed).correction(long, kind="edit") == after(*mixed).correction(long)


def counted(
    content: float,
    ratio: float,
    result: float,
    chance: random.Random,
    *,
    noise: float = 2.0,
) -> Observation:
    """A call whose results cost so much more than expected for each token of text and for each result."""
    residual = ratio * content + result + chance.gauss(0, noise)
    return seen(content, residual, expected_below=30.0, expected=30.0)


CHANGES = [(0.02, 3.0, 0.15, 12.0), (0.15, 12.0, 0.0, 0.0), (0.0, 1.0, -0.1, 9.0)]
"""What a token of text and a result cost beyond what is expected, before and behind a change."""


@given(st.integers(0, 10_000), st.sampled_from(CHANGES))
def test_another_model_under_the_old_name_is_learnt_within_a_few_calls(
    seed: int, changes: tuple[float, float, float, float]
) -> None:
    """However long the one before was known, and as well as if nothing had been."""
    chance = random.Random(seed)
    learnt = NOTHING_LEARNT
    for _ in range(100):
        learnt = learn(learnt, counted(chance.uniform(30, 900), *changes[:2], chance))
    for _ in range(20):  # of 9,000 random histories, 9 had not turned after 16
        learnt = learn(learnt, counted(chance.uniform(30, 900), *changes[2:], chance))
    off = learnt.correction(result(500.0)).tokens - (500 * changes[2] + changes[3])
    assert abs(off) < 12, off


def test_text_that_nobody_shows_now_and_then_is_no_reason_to_begin_anew() -> None:
    """Programs add reminders: every third call holds 400 tokens more than its messages explain."""
    chance = random.Random(7)
    learnt = NOTHING_LEARNT
    for _ in range(60):
        learnt = learn(learnt, counted(chance.uniform(30, 900), 0.1, 5.0, chance))
    for number in range(60):
        added = 400.0 if number % 3 == 0 else 5.0
        learnt = learn(learnt, counted(chance.uniform(30, 900), 0.1, added, chance))
        assert len(learnt.seen) == MEMORY, "it has begun anew"
    assert abs(learnt.ratio - 1.1) < 0.05


@pytest.mark.parametrize("is_user", [True, False])
def test_a_guessed_rule_is_settled_by_a_report_that_it_foretold(is_user: bool) -> None:
    def with_hidden(hidden: float) -> Learnt:
        loop = 0.0 if is_user else hidden
        return after(
            seen(
                30,
                2,
                hidden=hidden,
                otherwise=loop,
                rule="r",
                is_user=is_user,
                is_guess=True,
            )
        )

    assert with_hidden(500).is_settled("r", is_user)
    assert not with_hidden(500).is_settled("r", not is_user)
    assert not with_hidden(30).is_settled(
        "r", is_user
    )  # too little to be told from noise


def test_a_guessed_rule_is_reversed_by_less_than_one_that_was_read_from_calls() -> None:
    early = seen(600, 80, hidden=-85, rule="r", is_user=True, results=0, is_known=False)
    assert not learn(NEVER_MEASURED, early).flips("r", True)
    guessed = learn(NEVER_MEASURED, replace(early, is_guess=True, content=30.0))
    assert guessed.flips("r", True)
    assert guessed.is_settled("r", True)
