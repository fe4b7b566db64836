from hypothesis import given
from hypothesis import strategies as st

from tests.meter.test_shares import declared, opened, rows, step
from ullage import Meter
from ullage.events import PiecesCounted
from ullage.messages import SystemBlock
from ullage.meter.counting import tools_key
from ullage.meter.rows import apportion

tokens = st.floats(min_value=0, max_value=1e6)
CLAUDE = ("claude-haiku-4-5", "messages", "anthropic")


def test_messages_are_what_the_others_leave_of_the_total() -> None:
    fold = opened(CLAUDE, (SystemBlock(text="level " * 500),), words=12)
    before = {row.name: row for row in rows(fold)}
    assert before["Messages"].source == "estimated"
    step(fold, 1, fold.forecast().tokens, 9)
    step(fold, 2, fold.forecast().tokens + 3_000, 9)
    after = {row.name: row for row in rows(fold)}
    prompt, messages = after["System prompt"].tokens, after["Messages"]
    assert abs(prompt - before["System prompt"].tokens) <= 1
    assert messages.source == "by_difference"
    assert messages.tokens == fold.forecast().tokens - prompt
    beyond = messages.children[-1]
    assert (beyond.name, beyond.source) == ("Unattributed", "by_difference")
    assert 2_800 < beyond.tokens < 3_100


def test_a_first_report_with_a_short_question_says_what_the_system_prompt_costs() -> None:
    fold = opened(CLAUDE, (SystemBlock(text="level " * 500),), words=8)
    expected = fold.forecast().tokens
    (before, _) = rows(fold)
    step(fold, 1, expected + 200, 9)
    assert abs(rows(fold)[0].tokens - before.tokens - 200) < 10


def test_a_first_report_with_a_long_text_says_nothing_of_the_system_prompt() -> None:
    fold = opened(CLAUDE, (SystemBlock(text="level " * 500),), words=4_000)
    (before, _) = rows(fold)
    step(fold, 1, fold.forecast().tokens + 200, 9)
    assert rows(fold)[0].tokens == before.tokens


def test_rows_that_the_total_has_no_room_for_are_cut_and_messages_stay() -> None:
    fold = opened(CLAUDE, (SystemBlock(text="level " * 5_000),), words=30)
    fold.params["context_management"] = {}
    step(fold, 1, 700, 9)
    prompt, messages = rows(fold)
    assert prompt.tokens + messages.tokens == fold.forecast().tokens
    assert messages.tokens >= fold.view.tokens / 2 - 1


def test_a_counted_child_keeps_its_count_when_the_others_are_corrected() -> None:
    tools = (declared("counted", 30), declared("estimated", 40))
    fold = opened(CLAUDE, (), tools)
    key = tools_key(fold.model, tools[:1])
    fold.apply(PiecesCounted(pieces={key: 333}))
    step(fold, 1, fold.forecast().tokens + 150, 9)
    (row,) = (each for each in rows(fold) if each.name == "Tools (2)")
    sizes = {child.name: (child.tokens, child.source) for child in row.children}
    assert sizes["counted"] == (333, "counted")
    assert row.tokens == sum(child.tokens for child in row.children)


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
