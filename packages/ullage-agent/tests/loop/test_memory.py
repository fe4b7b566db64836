from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loop.stories import answered, begun, failed, flat, text, user
from tests.types.strategies import EVENT_TYPES, words
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    EpochChanged,
    Event,
    MessageAdded,
    MessageReplaced,
    Pinned,
    ReadingTaken,
    Rewound,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Uncompacted,
)
from ullage.messages import Message
from ullage_agent.loop.memory import LoopMemory, remember


def remembered(*events: object, onto: LoopMemory | None = None) -> LoopMemory:
    memory = onto or LoopMemory()
    for event in flat(events):
        memory = remember(memory, event)
    return memory


found = st.lists(st.one_of([words(kind) for kind in EVENT_TYPES]), max_size=8)


@given(found, found)
def test_a_memory_can_be_stored_anywhere(before: list[Event], after: list[Event]) -> None:
    half = remembered(before)
    stored = msgspec.json.decode(msgspec.json.encode(half), type=LoopMemory)
    assert remembered(after, onto=stored) == remembered(before, after)


def test_the_last_reading_the_last_call_and_the_epoch_are_known() -> None:
    reading = ReadingTaken(snapshot="s", used=Amount(tokens=1, low=1, high=2))
    call = CallStarted(call="c1")
    memory = remembered(reading, call, EpochChanged(epoch=3, reason="model"))
    assert (memory.taken, memory.started, memory.epoch) == (reading, call, 3)


def test_the_error_of_the_last_call_is_known_until_one_ends_without() -> None:
    assert remembered(failed("BadKey")).last_error == "BadKey"
    assert remembered(failed("BadKey"), answered(text("Hi."))).last_error == ""


def test_what_a_provider_counted_when_it_refused_is_kept_until_an_answer() -> None:
    refused = CallEnded(
        call="c1", outcome="failed", error_kind="Overflow", counted=205_000
    )
    assert remembered(refused).refused == 205_000
    assert remembered(refused, failed("ServerError")).refused == 205_000
    assert remembered(refused, answered(text("Hi."))).refused is None


def test_a_task_begins_with_a_persons_words_and_ends_with_a_finished_turn() -> None:
    assert remembered(begun("a"), begun("b")).task_start == "a"
    found = remembered(
        begun("a"), TurnEnded(turn="t", reason="cancelled"), begun("b")
    ).task_start
    assert found == "a"
    assert remembered(begun("a"), TurnEnded(turn="t"), begun("b")).task_start == "b"
    given = remembered(
        MessageAdded(message=Message(id="n", role="user", origin="injected"))
    ).task_start
    assert given == ""


def test_pins_are_added_and_taken_away_by_name() -> None:
    memory = remembered(
        Pinned(messages=("a", "b")), Pinned(messages=("b", "c"), pinned=False)
    )
    assert memory.pins == {"a"}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (MessageReplaced(message=user("ask", "Other.")), "edit"),
        (Rewound(to=""), "rewind"),
        (Rewound(to="elsewhere"), "rewind"),
        (Uncompacted(compaction="x"), "uncompact"),
    ],
)
def test_a_change_of_what_was_sent_breaks_the_epoch(event: Event, expected: str) -> None:
    broken = remembered(begun(), answered(text("Hi.")), event)
    assert broken.broken == expected
    assert remembered(EpochChanged(epoch=1, reason=expected), onto=broken).broken == ""
    assert remembered(CallStarted(call="c9"), onto=broken).broken == ""


def test_taking_back_an_answer_that_broke_off_changes_nothing_that_was_sent() -> None:
    broke: list[Any] = [begun(), answered(text("Hel"), outcome="dropped")]
    memory = remembered(broke, Rewound(to="ask"))
    assert (memory.broken, memory.newest) == ("", "ask")


def test_compactions_that_failed_are_remembered_by_the_breakers() -> None:
    attempted = [
        CompactionStarted(
            compaction="x", trigger="point", history="h", high=90, limit=80
        ),
        CompactionRolledBack(compaction="x", reason="no_gain"),
    ]
    refusal = remembered(attempted).breakers.refusal(
        history="h", high=90, limit=80, input_limit=100
    )
    assert "no_gain" in refusal


def test_tools_in_use_are_those_called_or_found_the_last_one_last() -> None:
    memory = remembered(
        ToolStarted(call_id="1", name="read"),
        ToolEnded(call_id="2", found=("best", "good")),
        ToolStarted(call_id="3", name="read"),
    )
    assert memory.tools_in_use.names == ("good", "best", "read")
    memory = remembered(CompactionCommitted(compaction="c"), onto=memory)
    assert memory.tools_in_use.names == ("good", "best", "read")
    later = ToolEnded(call_id="4", found=("other",))
    memory = remembered(later, CompactionCommitted(compaction="d"), onto=memory)
    assert memory.tools_in_use.names == ("read", "other")
