from collections.abc import Sequence

import pytest

from ullage.errors import LedgerError
from ullage.events import CallEnded, Event, TurnStarted
from ullage.meter.usages import BLOCK, Usages
from ullage.usage import Usage


class FakeLedger:
    """Calls that ended, each with its number as input."""

    def __init__(self) -> None:
        self.asked: list[Sequence[int]] = []

    def __call__(self, seqs: Sequence[int]) -> list[Event]:
        self.asked.append(seqs)
        return [CallEnded(seq=seq, call=f"c{seq}", usage=Usage(input=seq)) for seq in seqs]


def test_a_usage_that_was_put_is_had_without_reading() -> None:
    usages = Usages()
    usages.put("c", Usage(input=7), seq=3)
    assert usages.get("c") == Usage(input=7)
    assert usages.at_hand("c") == {"c": Usage(input=7)}
    assert usages.get("other") is None
    assert usages.at_hand("other") == {}


def test_stored_usages_are_read_with_their_neighbours() -> None:
    ledger = FakeLedger()
    usages = Usages({f"c{seq}": seq for seq in range(1, 3 * BLOCK)}, ledger)
    assert usages.at_hand("c5") == {}
    assert usages.get("c5") == Usage(input=5)
    assert usages.get(f"c{BLOCK}") == Usage(input=BLOCK)
    assert usages.get(f"c{BLOCK + 1}") == Usage(input=BLOCK + 1)
    assert [len(seqs) for seqs in ledger.asked] == [BLOCK, BLOCK]


def test_the_last_word_on_a_call_is_the_one_that_counts() -> None:
    ledger = FakeLedger()
    usages = Usages({"c1": 1, "c2": 2}, ledger)
    usages.put("c1", Usage(input=100), seq=9)
    assert usages.get("c2") == Usage(input=2)
    assert usages.get("c1") == Usage(input=100)


def test_a_usage_that_is_not_where_it_should_be_is_named() -> None:
    usages = Usages({"c1": 1}, lambda seqs: [TurnStarted(seq=1, turn="t")])
    with pytest.raises(LedgerError, match="reports no usage"):
        usages.get("c1")
    with pytest.raises(LedgerError, match="no ledger"):
        Usages({"c1": 1}).get("c1")
