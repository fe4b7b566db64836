from hypothesis import given
from hypothesis import strategies as st

from ullage.meter.reading import Row
from ullage.meter.rows import apportion, break_down
from ullage.meter.view import Share

tokens = st.floats(min_value=0, max_value=1e6)
shares = st.lists(
    st.builds(
        Share,
        name=st.text(max_size=5),
        tokens=tokens,
        summed=st.booleans(),
        children=st.lists(
            st.builds(Share, name=st.just("child"), tokens=tokens), max_size=4
        ).map(tuple),
    ),
    max_size=6,
)


def every(rows: tuple[Row, ...]) -> list[Row]:
    return [each for row in rows for each in (row, *every(row.children))]


@given(
    used=st.integers(0, 2_000_000), fixed=shares, messages=shares, reported=st.booleans()
)
def test_top_rows_sum_to_the_total_and_no_row_is_negative(
    used: int, fixed: list[Share], messages: list[Share], reported: bool
) -> None:
    rows = break_down(used, fixed, messages, reported=reported).rows
    assert sum(row.tokens for row in rows if row.summed) == used
    assert all(row.tokens >= 0 for row in every(rows))


@given(used=st.integers(0, 2_000_000), fixed=shares, messages=shares)
def test_children_never_exceed_their_row_and_those_of_messages_sum_to_it(
    used: int, fixed: list[Share], messages: list[Share]
) -> None:
    rows = break_down(used, fixed, messages, reported=True).rows
    for row in every(rows):
        if row.children:
            assert sum(child.tokens for child in row.children) <= row.tokens
    last = rows[-1]
    if last.children:
        assert sum(child.tokens for child in last.children) == last.tokens


def test_messages_are_what_the_others_leave_of_the_total() -> None:
    fixed = [Share(name="System prompt", tokens=4000), Share(name="Tools", tokens=8000)]
    rows = break_down(
        52_100, fixed, [Share(name="You", tokens=30_000)], reported=True
    ).rows
    assert [(row.name, row.tokens, row.source) for row in rows] == [
        ("System prompt", 4000, "estimated"),
        ("Tools", 8000, "estimated"),
        ("Messages", 40_100, "by_difference"),
    ]
    assert [(row.name, row.tokens) for row in rows[-1].children] == [
        ("You", 30_000),
        ("Unattributed", 10_100),
    ]


def test_estimates_above_the_total_leave_messages_at_zero_and_are_scaled_down() -> None:
    fixed = [Share(name="System prompt", tokens=3000), Share(name="Tools", tokens=9000)]
    result = break_down(6000, fixed, [Share(name="You", tokens=10)], reported=True)
    assert [row.tokens for row in result.rows] == [1500, 4500, 0]
    assert result.excess == 6000


def test_parts_that_overshoot_their_messages_are_scaled_down_and_nothing_is_unattributed() -> (
    None
):
    parts = [Share(name="You", tokens=300), Share(name="Tool results", tokens=900)]
    rows = break_down(600, [], parts, reported=True).rows
    assert [(row.name, row.tokens) for row in rows[0].children] == [
        ("You", 150),
        ("Tool results", 450),
    ]


def test_without_an_actual_messages_are_an_estimate() -> None:
    assert break_down(10, [], [], reported=False).rows[-1].source == "estimated"


def test_a_row_that_is_only_shown_is_not_summed() -> None:
    rows = break_down(
        100, [Share(name="Deferred tools", tokens=70, summed=False)], [], reported=True
    ).rows
    assert [(row.tokens, row.summed) for row in rows] == [(70, False), (100, True)]


@given(total=st.integers(0, 10**6), weights=st.lists(tokens, min_size=1, max_size=20))
def test_apportioned_shares_are_whole_and_sum_to_the_total(
    total: int, weights: list[float]
) -> None:
    shared = apportion(total, weights)
    assert sum(shared) == total
    assert min(shared) >= 0
