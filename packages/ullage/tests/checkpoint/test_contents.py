import pytest

from tests.meter.session import result, said
from ullage.checkpoint.contents import DAMAGED, events_of, put_contents, read_message
from ullage.errors import LedgerError
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pruned,
    RowDamaged,
    TurnStarted,
)
from ullage.messages import TextPart
from ullage.meter.cost import Added, MessageCost
from ullage.meter.view import ContentLocation, Entry, Facts, cleared

EVENTS: dict[int, Event] = {
    event.seq: event
    for event in (
        MessageAdded(seq=1, message=result("r", "c", "a long result")),
        MessageReplaced(seq=2, message=said("u", "edited")),
        CompactionCommitted(
            seq=3,
            compaction="c",
            summary=said("s", "summary"),
            replaced=(said("a", "short"), said("b", "cut")),
            added=(said("d", "at the end"),),
        ),
        Pruned(seq=4, parts=("r.result",), notice="[gone]"),
        TurnStarted(seq=5, turn="t"),
        CompactionCommitted(seq=6, compaction="d"),
    )
}


def entry(origin: ContentLocation) -> Entry:
    cost = MessageCost(0.0, 0.0, Added(), None, ())
    return Entry("m", 1, Facts("user", "", origin, 0.0, cost), None)


def test_a_message_is_read_from_the_event_and_the_place_in_it_that_it_came_with() -> None:
    entries = [
        entry(origin)
        for origin in (
            ContentLocation(3, 2),
            ContentLocation(1),
            ContentLocation(3),
            ContentLocation(2),
            ContentLocation(3, 1),
            ContentLocation(3, 3),
            ContentLocation(1),
        )
    ]
    numbers = events_of(entries)
    assert numbers == [1, 2, 3]
    put_contents(entries, [EVENTS[number] for number in numbers])
    assert [each.message.id for each in entries] == ["b", "r", "s", "u", "a", "d", "r"]


def test_what_was_pruned_is_read_as_it_stands_since() -> None:
    pruned = entry(ContentLocation(1).after_pruning(4))
    assert events_of([pruned]) == [1, 4]
    put_contents([pruned], [EVENTS[1], EVENTS[4]])
    assert pruned.message == cleared(
        result("r", "c", "a long result"), ["r.result"], "[gone]"
    )


def test_a_message_whose_row_is_damaged_is_replaced_by_a_note() -> None:
    lost = entry(ContentLocation(1))
    put_contents([lost], [RowDamaged(seq=1)])
    assert [part.text for part in lost.message.of_type(TextPart)] == [DAMAGED]


@pytest.mark.parametrize(
    "origin",
    [
        ContentLocation(5),
        ContentLocation(9),
        ContentLocation(1, 1),
        ContentLocation(3, 4),
        ContentLocation(6),
        ContentLocation(1, 0, (2,)),
        ContentLocation(1, 0, (9,)),
    ],
)
def test_an_address_that_holds_no_such_message_is_named(origin: ContentLocation) -> None:
    with pytest.raises(LedgerError, match="not the checkpoint's ledger"):
        read_message(origin, EVENTS)
