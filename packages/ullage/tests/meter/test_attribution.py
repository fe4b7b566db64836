from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from ullage.meter.attribution import (
    Attribution,
    RowEstimate,
    attributed,
    fit,
    learn,
)

TOOLS = {"tools": 1_084.0}
ROWS = {"tools": RowEstimate(1_084, 400, 108)}
HELLO = RowEstimate(8, 3, 4)

estimates = st.builds(
    lambda tokens, doubt, share: RowEstimate(tokens, doubt, tokens * share),
    st.floats(1, 1e6),
    st.floats(0, 1e6),
    st.floats(0, 0.5),
)


def learnt(messages: RowEstimate, reported: float) -> Attribution:
    return learn(None, TOOLS, ROWS, messages, reported)


def test_a_first_report_with_a_short_question_says_what_the_tools_cost() -> None:
    known = learnt(HELLO, 634)
    rows, doubt = attributed(known, TOOLS, ROWS)
    assert rows["tools"].tokens == approx(626, abs=1)
    assert rows["tools"].doubt == approx(3, abs=0.1)
    assert doubt == approx(3, abs=0.1)


def test_a_first_report_with_a_long_text_says_little_of_the_tools() -> None:
    known = learnt(RowEstimate(40_000, 4_000, 20_000), 40_634)
    row = attributed(known, TOOLS, ROWS).rows["tools"]
    assert row.tokens == approx(1_084 - 4.5, abs=1)
    assert row.doubt == approx(398, abs=1)


def test_a_later_report_without_a_change_teaches_the_rows_nothing() -> None:
    known = learnt(HELLO, 634)
    assert learn(known, TOOLS, ROWS, RowEstimate(900, 300), 2_000) is known


def test_changed_tools_take_part_in_the_next_report_and_the_system_prompt_is_settled() -> (
    None
):
    before = {"prompt": 2_000.0, "tools": 500.0}
    priors = {"prompt": RowEstimate(2_000, 700, 200), "tools": RowEstimate(500, 400, 50)}
    known = learn(None, before, priors, HELLO, 2_308)
    system = attributed(known, before, priors).rows["prompt"]
    after = {"prompt": 2_000.0, "tools": 5_500.0}
    priors["tools"] = RowEstimate(5_500, 4_400, 550)
    moved = attributed(known, after, priors).rows
    assert moved["prompt"].tokens == approx(system.tokens, rel=0.2)
    known = learn(known, after, priors, RowEstimate(500, 20), 5_800)
    rows = attributed(known, after, priors).rows
    assert rows["prompt"].tokens == approx(moved["prompt"].tokens)
    assert sum(row.tokens for row in rows.values()) == approx(5_300, abs=20)


def test_a_first_report_far_from_what_was_expected_is_a_surprise() -> None:
    assert not learnt(HELLO, 1_092 + 150).is_surprised
    assert learnt(HELLO, 1_092 + 300).is_surprised


def test_doubts_that_are_learnt_later_widen_the_interval_and_move_no_row() -> None:
    known = learnt(RowEstimate(400, 40), 1_000)
    before = attributed(known, TOOLS, ROWS).rows["tools"]
    wider = {"tools": RowEstimate(1_084, 900, 108)}
    after = attributed(known, TOOLS, wider, 140).rows["tools"]
    assert after.tokens == before.tokens
    assert after.doubt > before.doubt


@given(total=st.floats(0, 1e7), rows=st.lists(estimates, min_size=1, max_size=6))
def test_fitted_rows_sum_to_the_total_and_none_is_below_its_least_where_that_fits(
    total: float, rows: list[RowEstimate]
) -> None:
    fitted = fit(total, rows)
    assert sum(row.tokens for row in fitted) == approx(total, rel=1e-6, abs=1e-3)
    if total >= sum(row.least for row in rows):
        for row in fitted:
            assert row.tokens >= row.least - 1e-6 * total


@given(rows=st.lists(estimates, min_size=2, max_size=6), total=st.floats(1, 1e7))
def test_a_known_total_makes_no_row_less_certain(
    total: float, rows: list[RowEstimate]
) -> None:
    for before, after in zip(rows, fit(total, rows), strict=True):
        assert after.doubt <= before.doubt * (1 + 1e-9)


@given(
    first=st.floats(100, 1e5),
    reports=st.lists(st.floats(100, 1e6), max_size=10),
)
def test_a_row_whose_content_does_not_change_keeps_its_number_from_the_first_report_on(
    first: float, reports: list[float]
) -> None:
    known = learnt(HELLO, first)
    row = attributed(known, TOOLS, ROWS).rows["tools"]
    for reported in reports:
        known = learn(known, TOOLS, ROWS, RowEstimate(1_000, 500), reported)
    assert attributed(known, TOOLS, ROWS).rows["tools"] == row
