from collections.abc import Sequence

import pytest

from tests.meter.session import result, said
from ullage.errors import LedgerError
from ullage.events import CompactionCommitted, Event, MessageAdded, MessageReplaced, Pruned, TurnStarted
from ullage.meter.clearing import cleared
from ullage.meter.origin import Origin, read_all

EVENTS: dict[int, Event] = {
    event.seq: event
    for event in (
        MessageAdded(seq=1, message=result("r", "c", "a long result")),
        MessageReplaced(seq=2, message=said("u", "edited")),
        CompactionCommitted(
            seq=3, compaction="c", summary=said("s", "summary"), replaced=(said("a", "short"), said("b", "cut"))
        ),
        Pruned(seq=4, parts=("r.result",), notice="[gone]"),
        TurnStarted(seq=5, turn="t"),
        CompactionCommitted(seq=6, compaction="d"),
    )
}


def read(seqs: Sequence[int]) -> list[Event]:
    assert list(seqs) == sorted(set(seqs))
    return [EVENTS[seq] for seq in seqs]


def test_a_message_is_read_from_the_event_and_the_place_in_it_that_it_came_with() -> None:
    origins = [Origin(3, 2), Origin(1), Origin(3), Origin(2), Origin(3, 1), Origin(1)]
    assert [message.id for message in read_all(origins, read)] == ["b", "r", "s", "u", "a", "r"]


def test_what_was_pruned_is_read_as_it_stands_since() -> None:
    origin = Origin(1).after_pruning(4)
    assert read_all([origin], read) == [cleared(result("r", "c", "a long result"), ["r.result"], "[gone]")]


def test_nothing_to_read_asks_nobody() -> None:
    def nobody(seqs: Sequence[int]) -> list[Event]:
        raise AssertionError(seqs)

    assert read_all([], nobody) == []


@pytest.mark.parametrize(
    "origin", [Origin(5), Origin(9), Origin(1, 1), Origin(3, 3), Origin(6), Origin(1, 0, (2,)), Origin(1, 0, (9,))]
)
def test_an_address_that_holds_no_such_message_is_named(origin: Origin) -> None:
    with pytest.raises(LedgerError, match="not the checkpoint's ledger"):
        origin.read(EVENTS)
