import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.regression import (
    MEASURED,
    NOTHING,
    TERMS,
    TermValues,
    evidence,
    likelihood,
    mixture,
    start,
    update,
)

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
    assert abs(mixture(fits).mean[1]) < 0.01


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
    assert mixture(()) == NOTHING
    assert NOTHING.of((1.0,) * 6) == (0.0, 0.0)


def test_what_is_not_known_yet_is_as_unsure_as_its_prior() -> None:
    fits = start(is_known=True)[:1]
    for term, deviation in enumerate(MEASURED):
        alone = [0.0] * TERMS
        alone[term] = 2.0
        assert mixture(fits).of(tuple(alone))[1] == pytest.approx(2 * deviation)  # type: ignore[arg-type]


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e6),
            st.integers(0, 20),
            st.booleans(),
            st.integers(0, 20),
            st.floats(-1e7, 1e7),
        ),
        max_size=60,
    )
)
def test_whatever_comes_variances_stay_variances(
    rows: list[tuple[float, int, bool, int, float]],
) -> None:
    fits = start(is_known=True)
    for content, results, is_user, calls, residual in rows:
        each: TermValues = (
            1.0,
            content,
            float(results),
            float(is_user),
            float(calls),
            float(results > 1),
        )
        before = mixture(fits).of(each)[1]
        fits = update(fits, each, residual, 5.0)
        assert all(
            fit.spread[term][term] >= -1e-6 for fit in fits for term in range(TERMS)
        )
        assert all(abs(fit.mean[0]) < 1e9 for fit in fits)
        assert before >= 0
    assert sqrt(max(0.0, mixture(fits).spread[0][0])) < 1e9
