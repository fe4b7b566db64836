import random
from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case
from tests.meter.session import answer, result, said, usage
from ullage import Meter
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    Fingerprint,
    InputCounted,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    PiecesCounted,
    Pruned,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import SystemBlock, Tool
from ullage.meter.counting import COUNTED, all_tools_key, block_key, pieces_of, tools_key
from ullage.meter.policy import LEAST_COUNT_DOUBT

STARTED = SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic")
FIRST: tuple[Event, ...] = (
    STARTED,
    SystemChanged(system=()),
    ToolsChanged(tools=()),
    MessageAdded(message=said("u", "some words " * 200)),
)
LATER: tuple[Event, ...] = (
    *FIRST,
    CallStarted(call="c1"),
    CallEnded(call="c1", usage=usage(1_000, 50)),
    MessageAdded(message=answer("a", "yes", calls=1, call="c1")),
    MessageAdded(message=result("r", "a-0", "some text " * 300)),
)


def folded(*events: Event) -> Meter:
    meter = Meter()
    for event in events:
        meter.apply(event)
    return meter


@pytest.mark.parametrize("history", [FIRST, LATER])
def test_a_reading_rests_on_the_count_of_the_request(history: tuple[Event, ...]) -> None:
    before = folded(*history).reading()
    reading = folded(*history, InputCounted(tokens=before.used.tokens + 40)).reading()
    assert reading.used.tokens == before.used.tokens + 40
    assert reading.used.high - reading.used.low == 2 * LEAST_COUNT_DOUBT
    assert reading.basis.label == COUNTED
    basis = reading.basis
    terms = basis.last_output + basis.new + basis.changed + basis.removed
    assert (basis.last_input or 0) + terms == reading.used.tokens
    assert sum(row.tokens for row in reading.rows if row.summed) == reading.used.tokens


@pytest.mark.parametrize("tokens", [0, -5, 14_800_000, 10**30])
def test_a_count_that_can_not_be_true_changes_nothing(tokens: int) -> None:
    before = folded(*LATER).reading()
    assert folded(*LATER, InputCounted(tokens=tokens)).reading().used == before.used


def question(words: int) -> MessageReplaced:
    return MessageReplaced(message=said("u", "some words " * words))


def test_a_count_that_stays_when_the_content_leaves_is_not_used() -> None:
    """The first count is taken back as well: one of the two is wrong, and nothing says which."""
    first = (*FIRST, question(3_000), InputCounted(tokens=9_000))
    shorter = (*first, question(1_500))
    contradicted = folded(*shorter, InputCounted(tokens=9_004))
    estimated = folded(*FIRST, question(1_500)).reading()
    reading = contradicted.reading()
    assert reading.used == estimated.used
    assert reading.basis.label == estimated.basis.label
    assert any("counts 9,004 tokens" in note for note in reading.notes)
    for again in (question(700), question(2_900)):
        contradicted.apply(again)
        contradicted.apply(InputCounted(tokens=9_000))
        assert contradicted.reading().used == folded(*FIRST, again).reading().used


@pytest.mark.parametrize(("words", "tokens"), [(1_500, 4_600), (2_900, 9_000)])
def test_a_count_that_follows_the_content_or_a_small_change_is_used(
    words: int, tokens: int
) -> None:
    first = (*FIRST, question(3_000), InputCounted(tokens=9_000))
    reading = folded(*first, question(words), InputCounted(tokens=tokens)).reading()
    assert (reading.used.tokens, reading.basis.label) == (tokens, COUNTED)
    assert not any("counts" in note for note in reading.notes)


def test_a_count_that_moves_again_is_used_again() -> None:
    meter = folded(*FIRST, question(3_000), InputCounted(tokens=9_000))
    for words, tokens in ((1_500, 9_000), (1_000, 3_100)):
        meter.apply(question(words))
        meter.apply(InputCounted(tokens=tokens))
    assert meter.reading().used.tokens == 3_100


def test_a_count_of_another_request_changes_nothing() -> None:
    other = Fingerprint(digest="another")
    reading = folded(*LATER, InputCounted(tokens=1_800, fingerprint=other)).reading()
    assert reading.used == folded(*LATER).reading().used


def test_the_count_of_a_call_ends_with_its_report() -> None:
    report: tuple[Event, ...] = (
        CallStarted(call="c2"),
        CallEnded(call="c2", usage=usage(1_790, 20)),
    )
    counted = folded(*LATER, InputCounted(tokens=1_800), *report)
    assert counted.steps[-1].estimated == 1_800
    assert counted.reading().used == folded(*LATER, *report).reading().used


def test_what_a_report_teaches_is_learnt_from_the_estimate_without_the_count() -> None:
    report: tuple[Event, ...] = (
        CallStarted(call="c2"),
        CallEnded(call="c2", usage=usage(1_790, 20)),
    )
    counted = folded(*LATER, InputCounted(tokens=1_790), *report)
    assert counted.calibration == folded(*LATER, *report).calibration
    assert counted.calibration != folded(*LATER).calibration


def test_a_false_count_neither_spoils_what_is_learnt_nor_has_a_report_refused() -> None:
    """An endpoint whose counts are another model's, before every call of a conversation."""
    share_cases: list[float] = [0.5, 0.9, 1.05, 1.5, 2.5, 4.0]
    for seed, share in product(range(5), share_cases):
        with case(seed, share):
            counted, plain = conversation(seed, share), conversation(seed, None)
            assert counted.calibration == plain.calibration
            assert counted.reading().used == plain.reading().used


def test_a_count_confirms_a_report_that_the_estimate_alone_would_have_doubted() -> None:
    report: tuple[Event, ...] = (
        CallStarted(call="c2"),
        CallEnded(call="c2", usage=usage(2_200, 20)),
    )
    doubted = folded(*LATER, *report).reading()
    confirmed = folded(*LATER, InputCounted(tokens=2_200), *report).reading()
    assert confirmed.used.high - confirmed.used.low < (
        doubted.used.high - doubted.used.low
    )


def conversation(seed: int, share: float | None) -> Meter:
    """Twelve turns with a model nobody measured, each counted at ``share`` of what is then reported."""
    chance = random.Random(seed)
    started = SessionStarted(model="cellar", wire="chat", provider="llama.cpp")
    meter = folded(started, SystemChanged(system=()), ToolsChanged(tools=()))
    total = 20
    for turn in range(12):
        text = "some words of a text " * chance.randint(5, 150)
        total += round(len(text) / chance.uniform(3.5, 4.5)) + 7
        meter.apply(MessageAdded(message=said(f"u{turn}", text)))
        if share is not None:
            meter.apply(InputCounted(tokens=round(share * total)))
        call = f"c{turn}"
        meter.apply(CallStarted(call=call))
        meter.apply(CallEnded(call=call, usage=usage(total, 12)))
        said_back = answer(f"a{turn}", "The cellar holds old wine", call=call)
        meter.apply(MessageAdded(message=said_back))
        total += 18
    return meter


def test_a_call_that_reports_nothing_leaves_the_count() -> None:
    failed: tuple[Event, ...] = (
        CallStarted(call="c2"),
        CallEnded(call="c2", outcome="failed"),
    )
    assert folded(*LATER, InputCounted(tokens=1_800), *failed).reading().used.tokens == (
        1_800
    )


def test_a_changed_request_is_estimated_again_in_proportion_to_the_count() -> None:
    more = MessageAdded(message=said("u2", "other words " * 200))
    first = folded(*FIRST).reading().used.tokens
    without = folded(*FIRST, more).reading().used
    counted = folded(*FIRST, InputCounted(tokens=2 * first), more).reading().used
    assert counted.tokens == pytest.approx(2 * without.tokens, abs=2)
    assert counted.high - counted.low >= (without.high - without.low) - 2


def test_a_prune_after_a_count_gains_in_units_of_the_count() -> None:
    prune = Pruned(parts=("r-0",), notice="cleared")
    without = folded(*LATER).reading().used.tokens
    gained = without - folded(*LATER, prune).reading().used.tokens
    tokens = without + 200
    counted = folded(*LATER, InputCounted(tokens=tokens), prune).reading().used.tokens
    assert tokens - counted >= gained


def test_another_model_carries_the_count_over_by_ratio() -> None:
    change = ModelChanged(model="gpt-5", wire="responses", provider="openai")
    estimated = folded(*LATER).reading().used.tokens
    reading = folded(*LATER, InputCounted(tokens=2 * estimated), change).reading()
    without = folded(*LATER, change).reading()
    assert reading.used.tokens == pytest.approx(2 * without.used.tokens, rel=0.05)
    assert reading.basis.label == without.basis.label


@given(tokens=st.integers(1, 20_000), cut=st.integers(0, 3))
def test_readings_stay_in_order_and_rows_sum_whatever_is_counted(
    tokens: int, cut: int
) -> None:
    meter = folded(*LATER[: len(LATER) - cut], InputCounted(tokens=tokens))
    for event in LATER[len(LATER) - cut :]:
        reading = meter.reading()
        assert 0 <= reading.used.low <= reading.used.tokens <= reading.used.high
        total = sum(row.tokens for row in reading.rows if row.summed)
        assert total == reading.used.tokens
        meter.apply(event)


def test_a_meter_beside_a_loop_is_told_a_count() -> None:
    events: list[Event] = []
    meter = Meter("claude-haiku-4-5", on_event=events.append)
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "How full is the cask?"}],
    }
    assert meter.counted(body, 31).used.tokens == 31
    assert meter.before(body).used.tokens == 31
    replay = Meter()
    for event in events:
        replay.apply(event)
    assert replay.reading().used == meter.reading().used


def test_counted_pieces_are_kept_until_others_come() -> None:
    meter = folded(*FIRST, PiecesCounted(pieces={"one": 4}))
    assert meter._fold.pieces == {"one": 4}
    meter.apply(PiecesCounted(pieces={"two": 5}))
    assert meter._fold.pieces == {"two": 5}


def test_a_key_names_the_content_the_model_and_the_place() -> None:
    first, second = SystemBlock(text="a"), SystemBlock(text="b")
    read = Tool(name="read", schema=msgspec.Raw(b"{}"))
    find = Tool(name="find", schema=msgspec.Raw(b"{}"))
    keys = {
        block_key("m", [first]),
        block_key("m", [second]),
        block_key("m", [first, second]),
        block_key("other", [first]),
        tools_key("m", [read]),
        tools_key("m", [find]),
        tools_key("m", [read, find]),
        tools_key("other", [read]),
        all_tools_key("m", [read]),
        all_tools_key("other", [read]),
    }
    assert len(keys) == 10


def test_what_does_not_change_keeps_its_key_whatever_stands_beside_it() -> None:
    read = Tool(name="read", schema=msgspec.Raw(b"{}"), server="files")
    find = Tool(name="find", schema=msgspec.Raw(b"{}"))
    alone = {piece.key for piece in pieces_of("m", (), (read,), ())}
    beside = {piece.key for piece in pieces_of("m", (), (find, read), {"find"})}
    assert tools_key("m", [read]) in alone & beside
    assert len(alone & beside) == 1 and len(beside) == 3


def test_counted_rows_say_so_and_sum_to_the_total() -> None:
    system = (SystemBlock(text="Be brief. " * 40),)
    tools = (Tool(name="read", description="Reads. " * 90, schema=msgspec.Raw(b"{}")),)
    key = block_key("claude-haiku-4-5", system)
    pieces = {key: 222, all_tools_key("claude-haiku-4-5", tools): 777}
    meter = folded(
        STARTED,
        SystemChanged(system=system),
        ToolsChanged(tools=tools),
        MessageAdded(message=said("u", "some words " * 200)),
        PiecesCounted(pieces=pieces),
        InputCounted(tokens=1_450),
    )
    for _ in range(2):
        reading = meter.reading()
        rows = {row.name: row for row in reading.rows}
        counted = [row for row in reading.rows if row.source == "counted"]
        assert [row.tokens for row in counted] == pytest.approx([222, 777], abs=4)
        assert sum(row.tokens for row in rows.values()) == reading.used.tokens
        meter.apply(CallStarted(call="c"))
        meter.apply(CallEnded(call="c", usage=usage(1_452, 10)))
