"""Readings of requests of which the provider clears content before the model reads them."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.meter.session import answer, result, said, usage
from ullage import Meter
from ullage.events import (
    CallEnded,
    CallStarted,
    InputCounted,
    MessageAdded,
    ModelChanged,
    ParamsChanged,
    Pruned,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.meter.clearing import (
    KEEP,
    TRIGGER,
    Clearable,
    clearable,
    cleared_tokens,
    keeps_reasoning,
)
from ullage.usage import Cleared, Usage

EDITS: dict[str, object] = {
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}
}
"""From ``TRIGGER`` tokens on, which few of these sessions reach."""
WORD = "a line of some file "
FACTOR = 1.1
"""Tokens of the provider for each estimated one."""


class Turn(NamedTuple):
    """A tool call with a result of so many words, and which share of all results is then cleared."""

    words: int
    share: float = 0.0


def session(params: dict[str, object] = EDITS) -> Meter:
    meter = Meter("claude-haiku-4-5", window=200_000)
    for event in (
        SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic"),
        SystemChanged(system=()),
        ToolsChanged(tools=()),
        ParamsChanged(params=params),
        MessageAdded(message=said("u", "Read the files.")),
    ):
        meter.apply(event)
    return meter


def take(meter: Meter, number: int, turn: Turn, reported: Usage) -> None:
    """One more tool call with its result, and the call that reads it."""
    asked = answer(f"a{number}", "Next.", calls=1, call=f"c{number - 1}")
    meter.apply(MessageAdded(message=asked))
    text = WORD * turn.words
    meter.apply(MessageAdded(message=result(f"r{number}", f"a{number}-0", text)))
    meter.apply(CallStarted(call=f"c{number}"))
    meter.apply(CallEnded(call=f"c{number}", usage=reported))


def twins(turns: list[Turn]) -> tuple[Meter, Meter]:
    """The same session with a server that clears nothing, and with one that clears these shares of its results."""
    plain, cleared = session(), session()
    total, results = 300.0, 0.0
    for number, turn in enumerate(turns, 1):
        results += FACTOR * 5 * turn.words
        total += FACTOR * 5 * turn.words + 40
        gone = Cleared(tokens=round(turn.share * results), content="tool_results")
        take(plain, number, turn, usage(round(total), 20))
        rest = replace(usage(round(total) - gone.tokens, 20), cleared=(gone,))
        take(cleared, number, turn, rest)
    return plain, cleared


TURNS = st.lists(
    st.builds(Turn, st.integers(1, 2_000), st.sampled_from([0.0, 0.3, 0.9])),
    min_size=1,
    max_size=8,
)


@given(TURNS)
def test_clearing_teaches_nothing_and_takes_off_what_was_cleared(
    turns: list[Turn],
) -> None:
    plain, cleared = twins(turns)
    assert cleared.calibration == plain.calibration
    gone = plain.reading().basis.last_input or 0
    gone -= cleared.reading().basis.last_input or 0
    before, after = plain.reading().used, cleared.reading().used
    assert after.low <= after.tokens <= before.tokens - gone
    assert after.tokens <= after.high
    assert gone or len(turns) > KEEP or after == before
    for step, other in zip(cleared.steps, plain.steps, strict=True):
        assert (step.error, step.actual is None) == (other.error, other.actual is None)
    reading = cleared.reading()
    assert sum(row.tokens for row in reading.rows if row.summed) == reading.used.tokens
    basis = reading.basis
    terms = basis.last_output + basis.new + basis.changed + basis.removed
    assert (basis.last_input or 0) + terms == reading.used.tokens


HISTORY = [Turn(1_000), Turn(1_000), Turn(1_000, 0.6)]


def test_the_notes_say_what_was_cleared_and_the_row_of_the_results_is_smaller() -> None:
    plain, cleared = twins(HISTORY)
    gone = 9_900
    (note,) = cleared.reading().notes
    assert f"The server cleared {gone:,} tokens of tool results from" in note
    rows: list[int] = []
    for meter in (plain, cleared):
        children = meter.reading().rows[-1].children
        rows.extend(row.tokens for row in children if row.name == "Tool results")
    whole, left = rows
    assert 0 < left < whole - 0.9 * gone


def test_results_that_are_pruned_after_they_were_cleared_save_nothing() -> None:
    _, meter = twins(HISTORY)
    before = meter.reading().used
    parts = tuple(part.id for part in meter.messages[2].parts)
    meter.apply(Pruned(parts=parts, notice="gone", prune="p"))
    after = meter.reading().used
    assert after.tokens == pytest.approx(before.tokens, abs=2)
    assert after.low < before.tokens


def test_all_is_read_again_once_nothing_is_to_be_cleared() -> None:
    plain, meter = twins(HISTORY)
    meter.apply(ParamsChanged(params={}))
    assert meter.reading().used.tokens == plain.reading().used.tokens
    assert not meter.reading().notes


def test_another_model_of_the_same_request_has_the_same_cleared() -> None:
    plain, meter = twins(HISTORY)
    for each in (plain, meter):
        each.apply(ModelChanged(model="claude-opus-4-8"))
    whole, left = plain.reading().used.tokens, meter.reading().used.tokens
    assert 9_000 < whole - left < 15_000


def test_a_count_is_of_what_the_model_reads() -> None:
    _, meter = twins(HISTORY)
    meter.apply(InputCounted(tokens=8_000))
    used = meter.reading().used
    assert used.tokens == 8_000
    assert used.high - used.low <= 200


def test_a_number_of_cleared_tokens_that_cannot_be_true_is_not_used() -> None:
    _, meter = twins(HISTORY)
    before = meter.reading().used.tokens
    lie = Cleared(tokens=40_000_000, content="tool_results")
    take(meter, 4, Turn(100), replace(usage(8_000, 20), cleared=(lie,)))
    reading = meter.reading()
    assert "8,000 input tokens and 40,000,000 cleared ones" in reading.notes[0]
    assert before < reading.used.tokens < before + 1_000


def test_the_lower_end_holds_that_the_server_begins_to_clear() -> None:
    never, soon = session({}), session()
    words = TRIGGER // 40
    for number in range(1, 10):
        reported = usage(300 + round(number * (FACTOR * 5 * words + 40)), 20)
        for meter in (never, soon):
            take(meter, number, Turn(words), reported)
    never_used, used = never.reading().used, soon.reading().used
    assert used.tokens == never_used.tokens > TRIGGER
    newest = KEEP * 5 * words
    assert newest < used.low < 2 * newest < never_used.low


def test_an_answers_own_field_says_what_was_cleared() -> None:
    meter = Meter("claude-haiku-4-5", window=200_000)
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": WORD * 3_000}],
    }
    call = meter.before(body).call
    edit = {"type": "clear_tool_uses_20250919", "cleared_input_tokens": 14_000}
    reading = meter.after(
        call,
        {"input_tokens": 1_000, "output_tokens": 5},
        context_management={"applied_edits": [edit]},
    )
    assert reading.basis.last_input == 1_000
    assert "14,000" in reading.notes[0]
    assert meter.steps[-1].actual == 1_000


@pytest.mark.parametrize(
    ("trigger", "may"),
    [
        (None, False),
        ({"type": "input_tokens", "value": 20_000}, True),
        ({"type": "input_tokens", "value": 20_001}, False),
        ({"type": "tool_uses", "value": 7}, True),
        ({"type": "tool_uses", "value": 8}, False),
        ({"type": "tool_uses", "value": "many"}, False),
        ("soon", False),
    ],
)
def test_results_may_be_cleared_from_their_threshold_on(
    trigger: object, may: bool
) -> None:
    edit = {"type": "clear_tool_uses_20250919", "trigger": trigger}
    params: dict[str, object] = {"context_management": {"edits": [edit, 3, {}]}}
    assert clearable(params, tokens=20_000, results=7) == Clearable(results=may)


def test_what_stays_is_read_from_the_request() -> None:
    edit = {
        "type": "clear_tool_uses_20250919",
        "keep": {"type": "tool_uses", "value": 5},
        "exclude_tools": ["read", 7],
    }
    params: dict[str, object] = {"context_management": {"edits": [edit]}}
    found = clearable(params, tokens=TRIGGER, results=1)
    assert found == Clearable(results=True, keep=5, excluded=frozenset({"read"}))


@pytest.mark.parametrize(
    ("keep", "keeps", "may_leave"),
    [
        ("all", True, False),
        ({"type": "all"}, True, False),
        ({"type": "thinking_turns", "value": 2}, True, True),
        (None, False, True),
    ],
)
def test_what_the_request_keeps_of_reasoning_overrides_the_model(
    keep: object, keeps: bool, may_leave: bool
) -> None:
    edit = {"type": "clear_thinking_20251015", "keep": keep}
    params: dict[str, object] = {"context_management": {"edits": [edit]}}
    assert keeps_reasoning(params) is keeps
    assert clearable(params, tokens=TRIGGER, results=1).reasoning is may_leave


def test_reasoning_stays_in_the_reading_from_the_request_on_that_keeps_it() -> None:
    all_kept = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    meter = session({})
    meter.apply(CallStarted(call="c0"))
    meter.apply(CallEnded(call="c0", usage=usage(300, 520, reasoning=500)))
    thought = answer("a0", "Yes.", reasoning="Let me think. " * 100, call="c0")
    meter.apply(MessageAdded(message=thought))
    meter.apply(MessageAdded(message=said("u2", "Are you sure?")))
    dropped = meter.reading().used.tokens
    meter.apply(ParamsChanged(params={"context_management": all_kept}))
    kept = meter.reading().used.tokens
    meter.apply(ParamsChanged(params={}))
    assert kept - dropped == pytest.approx(500, abs=20)
    assert meter.reading().used.tokens == dropped


def test_only_reasoning_that_was_expected_in_the_input_is_missing_in_it() -> None:
    thinking = Cleared(tokens=5_000, content="reasoning", count=2)
    assert cleared_tokens([thinking], 1_200.4).total == 1_200
    assert cleared_tokens([thinking], 9_000.0).reasoning == 5_000
    assert cleared_tokens([Cleared(tokens=70)], 0.0).content == 70


def test_a_stream_cut_before_it_said_what_was_cleared_teaches_nothing_false() -> None:
    _, meter = twins(HISTORY)
    before = meter.reading().used.tokens
    take(meter, 4, Turn(100), replace(usage(before + 590, None), final=False))
    assert meter.reading().basis.last_input == before + 590
    ended = Cleared(tokens=9_900, content="tool_results")
    take(meter, 5, Turn(100), replace(usage(before + 1_200, 20), cleared=(ended,)))
    last = meter.steps[-1]
    assert last.actual == before + 1_200
    assert last.error is not None
    assert abs(last.error) < 200
