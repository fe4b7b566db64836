import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.regression import (
    FIRST_TERMS,
    MEASURED,
    TERMS,
    TermValues,
    evidence,
    likelihood,
    mixture,
    start,
    terms,
    update,
)
from ullage.tokens.text_kinds import KINDS

TRUTH: TermValues = (9.0, 0.22, -7.0, 4.0, 0.0, 6.0)


def row(dice: random.Random) -> TermValues:
    results = dice.randint(0, 3)
    return (
        1.0,
        float(int(2 ** dice.uniform(3, 10))),
        float(results),
        float(not results),
        0.0,
        float(results > 1),
    )


def told(row: TermValues, truth: TermValues = TRUTH) -> float:
    return sum(one * other for one, other in zip(row, truth, strict=True))


def test_what_terms_cost_is_found_from_their_sums() -> None:
    dice = random.Random(1)
    fits = start(is_known=True)
    for _ in range(25):
        each = row(dice)
        fits = update(fits, each, told(each) + dice.gauss(0, 2), 2.0)
    for _ in range(20):
        each = row(dice)
        assert mixture(fits).of(each)[0] == pytest.approx(told(each), abs=6)


def test_a_model_that_counts_as_measured_is_left_nearly_alone() -> None:
    dice = random.Random(2)
    fits = start(is_known=True)
    for _ in range(10):
        each = row(dice)
        fits = update(fits, each, dice.gauss(0, 4), 4.0)
    assert fits[0].evidence > fits[1].evidence + 3
    assert abs(mixture(fits).mean(1)) < 0.01


def test_a_model_that_counts_otherwise_is_told_by_two_residuals() -> None:
    fits = start(is_known=True)
    for each in ((1.0, 900.0, 1.0, 0.0, 0.0, 0.0), (1.0, 300.0, 1.0, 0.0, 0.0, 0.0)):
        fits = update(fits, each, told(each), 5.0)
    assert fits[1].evidence > fits[0].evidence


def test_a_residual_beyond_what_is_expected_moves_less_than_in_proportion() -> None:
    each: TermValues = (1.0, 30.0, 1.0, 0.0, 0.0, 0.0)
    steady = start(is_known=True)
    for _ in range(8):
        steady = update(steady, each, 0.0, 3.0)
    near = mixture(update(steady, each, 6.0, 3.0)).of(each)[0]
    far = mixture(update(steady, each, 300.0, 3.0)).of(each)[0]
    assert 0 < far < 10 * near


def test_the_likelihood_is_highest_where_the_next_residual_is_foretold() -> None:
    each: TermValues = (1.0, 30.0, 1.0, 0.0, 0.0, 0.0)
    fits = start(is_known=True)
    for _ in range(5):
        fits = update(fits, each, 8.0, 3.0)
    here = likelihood(fits, each, 8.0, 3.0)
    assert here > likelihood(fits, each, 40.0, 3.0) > likelihood(fits, each, 400.0, 3.0)
    assert evidence(update(fits, each, 8.0, 3.0)) == pytest.approx(evidence(fits) + here)


def test_without_suppositions_nothing_is_corrected() -> None:
    assert mixture(()).of((1.0,) * 6) == (0.0, 0.0)


def test_what_is_not_known_yet_is_as_unsure_as_its_prior() -> None:
    fits = start(is_known=True)[:1]
    for term, deviation in enumerate(MEASURED.deviations):
        alone = [0.0] * TERMS
        alone[term] = 2.0
        assert mixture(fits).of(tuple(alone))[1] == pytest.approx(2 * deviation)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e6),
            st.integers(0, 20),
            st.booleans(),
            st.integers(0, 20),
            st.floats(-1e7, 1e7),
            st.lists(st.floats(0, 1e6), max_size=len(KINDS)),
        ),
        max_size=60,
    )
)
def test_whatever_comes_variances_stay_variances(
    rows: list[tuple[float, int, bool, int, float, list[float]]],
) -> None:
    fits = start(is_known=True)
    for content, results, is_user, calls, residual, text_kinds in rows:
        each = terms(
            content,
            results=results,
            is_user=is_user,
            calls=calls,
            text_kinds=tuple(text_kinds),
        )
        before = mixture(fits).of(each)[1]
        fits = update(fits, each, residual, 5.0)
        assert all(
            variances[term] >= -1e-6
            for fit in fits
            for term, variances in enumerate(fit.spread)
        )
        assert all(abs(fit.mean[0]) < 1e9 for fit in fits)
        assert before >= 0
    assert mixture(fits).of((1.0,))[1] < 1e9


def text_of(kind: int, tokens: float) -> TermValues:
    """A message of that many tokens, all of the kind at that place of ``KINDS``."""
    kinds = (*(0.0,) * kind, tokens)
    return terms(tokens, results=0, is_user=True, calls=0, text_kinds=kinds)


def test_what_one_kind_of_text_costs_is_learnt_apart_from_the_others() -> None:
    dice = random.Random(3)
    fits = start(is_known=False)
    for _ in range(6):
        tokens = dice.uniform(100, 900)
        fits = update(fits, text_of(2, tokens), 0.6 * tokens + dice.gauss(0, 5), 10.0)
        fits = update(fits, text_of(3, tokens), -0.2 * tokens + dice.gauss(0, 5), 10.0)
    learnt = mixture(fits)
    assert learnt.of(text_of(2, 500.0))[0] == pytest.approx(300, abs=25)
    assert learnt.of(text_of(3, 500.0))[0] == pytest.approx(-100, abs=25)


def test_a_kind_of_text_that_was_never_seen_is_as_unsure_as_its_prior() -> None:
    fits = start(is_known=False)
    for _ in range(20):
        fits = update(fits, text_of(0, 500.0), 40.0, 10.0)
    arabic = mixture(fits).of(text_of(4, 500.0))[1]
    assert arabic > 10 * mixture(fits).of(text_of(0, 500.0))[1]


def test_terms_that_no_call_had_are_not_stored_and_change_nothing() -> None:
    fits = start(is_known=False)
    wide = update(fits, (*text_of(0, 500.0), 0.0, 0.0, 0.0), 40.0, 10.0)
    narrow = update(fits, text_of(0, 500.0), 40.0, 10.0)
    assert [len(fit.mean) for fit in narrow] == [FIRST_TERMS + 1] * 2
    for term in range(TERMS):
        assert mixture(narrow).mean(term) == pytest.approx(mixture(wide).mean(term))
