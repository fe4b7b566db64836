from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage import Meter
from ullage.meter.attribution import AttributedRows, RowEstimate
from ullage.meter.reading import Row, Used
from ullage.meter.rows import Breakdown, MessageEstimates, apportion, break_down
from ullage.meter.shares import priors_of
from ullage.meter.view import Share

tokens = st.floats(min_value=0, max_value=1e6)
doubts = st.floats(min_value=0, max_value=1e5)
shares = st.lists(
    st.builds(
        Share,
        name=st.text(max_size=5),
        tokens=tokens,
        doubt=doubts,
        summed=st.booleans(),
        children=st.lists(
            st.builds(Share, name=st.just("child"), tokens=tokens, doubt=doubts),
            max_size=4,
        ).map(tuple),
    ),
    max_size=6,
)


def every(rows: tuple[Row, ...]) -> list[Row]:
    return [each for row in rows for each in (row, *every(row.children))]


def content(messages: list[Share], least: float = 0.0) -> MessageEstimates:
    held = [replace(each, summed=True) for each in messages]
    rows = [RowEstimate(each.tokens, each.doubt, each.tokens / 2) for each in held]
    return MessageEstimates(held, rows, least=least)


def broken_down(
    used: int,
    fixed: list[Share],
    messages: list[Share],
    *,
    reported: bool = True,
    least: float = 0.0,
) -> Breakdown:
    by_key = {str(place): share for place, share in enumerate(fixed)}
    return break_down(
        Used(tokens=used, low=used, high=used),
        by_key,
        AttributedRows(priors_of(by_key), 0.0),
        content(messages, least),
        reported=reported,
    )


@given(
    used=st.integers(0, 2_000_000), fixed=shares, messages=shares, reported=st.booleans()
)
def test_top_rows_sum_to_the_total_and_each_is_inside_its_interval(
    used: int, fixed: list[Share], messages: list[Share], reported: bool
) -> None:
    rows = broken_down(used, fixed, messages, reported=reported).rows
    assert sum(row.tokens for row in rows if row.summed) == used
    for row in every(rows):
        assert row.low is not None
        assert row.high is not None
        assert 0 <= row.low <= row.tokens <= row.high


@given(
    used=st.integers(0, 2_000_000),
    off=st.integers(0, 1_000),
    fixed=shares,
    messages=shares,
)
def test_no_row_is_more_than_the_others_leave_of_the_total_nor_less_than_none(
    used: int, off: int, fixed: list[Share], messages: list[Share]
) -> None:
    by_key = {str(place): share for place, share in enumerate(fixed)}
    priors = AttributedRows(priors_of(by_key), 0.0)
    within = Used(tokens=used, low=max(0, used - off), high=used + off)
    found = break_down(within, by_key, priors, content(messages), reported=True)
    summed = [row for row in found.rows if row.summed]
    least = sum(row.low or 0 for row in summed)
    for row in summed:
        assert row.low is not None
        assert row.high is not None
        assert row.high <= max(row.tokens, within.high - (least - row.low))
        assert row.low >= min(row.tokens, 1) or row.name in ("Messages", "Unattributed")
        assert all(each.high <= row.high for each in every((row,)) if each.high)


@given(used=st.integers(0, 2_000_000), fixed=shares, messages=shares)
def test_children_never_exceed_their_row_and_those_of_messages_sum_to_it(
    used: int, fixed: list[Share], messages: list[Share]
) -> None:
    rows = broken_down(used, fixed, messages).rows
    for row in every(rows):
        if row.children:
            assert sum(child.tokens for child in row.children) <= row.tokens
    last = rows[-1]
    if last.children:
        assert sum(child.tokens for child in last.children) == last.tokens


@given(
    used=st.integers(100, 2_000_000),
    fixed=st.lists(
        st.builds(Share, name=st.just("row"), tokens=st.floats(2, 1e6), doubt=doubts),
        max_size=6,
    ),
    least=st.floats(1, 20),
)
def test_no_row_with_content_is_zero_where_the_total_has_room_for_all(
    used: int, fixed: list[Share], least: float
) -> None:
    breakdown = broken_down(
        used, fixed, [Share(name="You", tokens=2 * least)], least=least
    )
    if not breakdown.excess:
        assert all(row.tokens > 0 for row in breakdown.rows)


def test_messages_are_what_the_others_leave_of_the_total() -> None:
    fixed = [Share(name="System prompt", tokens=4000), Share(name="Tools", tokens=8000)]
    rows = broken_down(52_100, fixed, [Share(name="You", tokens=30_000)]).rows
    assert [(row.name, row.tokens, row.source) for row in rows] == [
        ("System prompt", 4000, "estimated"),
        ("Tools", 8000, "estimated"),
        ("Messages", 40_100, "by_difference"),
    ]
    assert [(row.name, row.tokens) for row in rows[-1].children] == [
        ("You", 30_000),
        ("Unattributed", 10_100),
    ]


def test_what_messages_hold_beyond_their_estimates_is_theirs_within_their_doubt() -> None:
    parts = [
        Share(name="You", tokens=300, doubt=30),
        Share(name="Tool results", tokens=900, doubt=40),
    ]
    rows = broken_down(1300, [], parts).rows
    assert [(row.name, row.tokens) for row in rows[0].children] == [
        ("You", 318),
        ("Tool results", 932),
        ("Unattributed", 50),
    ]


def test_where_the_total_has_no_room_for_the_least_all_is_cut_and_the_excess_is_told() -> (
    None
):
    fixed = [Share(name="System prompt", tokens=3000), Share(name="Tools", tokens=9000)]
    result = broken_down(600, fixed, [Share(name="You", tokens=10)])
    assert [row.tokens for row in result.rows] == [150, 450, 0]
    assert result.excess == 600


def test_parts_that_overshoot_their_messages_are_scaled_down_and_nothing_is_unattributed() -> (
    None
):
    parts = [Share(name="You", tokens=300), Share(name="Tool results", tokens=900)]
    rows = broken_down(600, [], parts).rows
    assert [(row.name, row.tokens) for row in rows[0].children] == [
        ("You", 150),
        ("Tool results", 450),
    ]


def test_a_counted_child_keeps_its_count_when_the_others_are_corrected() -> None:
    children = (
        Share(name="counted", tokens=200, source="counted"),
        Share(name="estimated", tokens=300, doubt=50),
    )
    tools = Share(name="Tools", tokens=500, doubt=50, children=children)
    (row, _) = broken_down(460, [tools], [], least=0).rows
    assert [child.tokens for child in row.children] == [200, 260]


def test_tools_that_a_model_does_not_count_are_a_row_and_fail_no_report() -> None:
    schema = {"type": "object", "properties": {"words": {"type": "array"}}}
    tool = {"type": "function", "function": {"name": "note", "parameters": schema}}
    body = {
        "model": "deepseek-ai/DeepSeek-R1",
        "messages": [{"role": "user", "content": "Which primes come first?"}],
        "tools": [tool],
        "tool_choice": "required",
    }
    meter = Meter("deepseek-ai/DeepSeek-R1", wire="chat", provider="huggingface")
    before = meter.before(body)
    assert "Tools (1)" in [row.name for row in before.rows]
    reading = meter.after(before.call, {"prompt_tokens": 19, "completion_tokens": 29})
    assert reading.basis.last_input == 19


def test_without_an_actual_messages_are_an_estimate() -> None:
    assert broken_down(10, [], [], reported=False).rows[-1].source == "estimated"


def test_a_row_that_is_only_shown_is_not_summed() -> None:
    rows = broken_down(
        100, [Share(name="Deferred tools", tokens=70, summed=False)], []
    ).rows
    assert [(row.tokens, row.summed) for row in rows] == [(70, False), (100, True)]


@given(total=st.integers(0, 10**6), weights=st.lists(tokens, min_size=1, max_size=20))
def test_apportioned_shares_are_whole_and_sum_to_the_total(
    total: int, weights: list[float]
) -> None:
    shared = apportion(total, weights)
    assert sum(shared) == total
    assert min(shared) >= 0
    weighing = [share for share, weight in zip(shared, weights, strict=True) if weight]
    if total >= len(weights) and weighing:
        assert min(weighing) >= 1
