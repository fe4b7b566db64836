from hypothesis import given
from hypothesis import strategies as st

from tests.meter.session import answer, result, said
from ullage.checkpoint.entries import (
    BLOCK,
    BlockPacker,
    StoredEntry,
    pack_entries,
    stored_entries,
)
from ullage.messages import ImagePart, Message
from ullage.meter.forecast import Forecaster
from ullage.meter.view import ContentLocation, Entry, Facts

FORECASTER = Forecaster("messages", "anthropic", "claude-haiku-4-5", "pretoken")


def entry(message: Message, origin: ContentLocation, *, opening: float = 0.0) -> Entry:
    facts = Facts(
        message.role, message.call or "", origin, opening, FORECASTER.message(message, {})
    )
    return Entry(message.id, origin.seq, facts, message)


def back(entries: list[Entry]) -> list[Entry]:
    blocks = BlockPacker(pack_entries).packed(entries)
    return stored_entries(
        [each.id for each in entries], [each.order for each in entries], blocks
    )


def test_facts_come_back_as_they_were_and_the_content_is_missing() -> None:
    entries = [
        entry(said("u", "a question"), ContentLocation(3), opening=7.25),
        entry(
            answer("a", "text", reasoning="hm", calls=2, call="known"),
            ContentLocation(9, 2),
        ),
        entry(answer("b", "text", call="unreported"), ContentLocation(7)),
        entry(result("r", "a-0", "shown"), ContentLocation(8, 0, (11, 14))),
        entry(
            Message(
                id="i", role="user", parts=(ImagePart(id="else", width=10, height=10),)
            ),
            ContentLocation(12),
        ),
    ]
    stored = back(entries)
    assert [(each.id, each.order, each.facts) for each in stored] == [
        (e.id, e.order, e.facts) for e in entries
    ]
    assert [each.content for each in stored] == [None] * 5


def test_a_stored_entry_entered_at_another_time_has_the_same_facts() -> None:
    (stored,) = back([entry(said("u", "a question"), ContentLocation(3))])
    assert isinstance(stored, StoredEntry)
    later = stored.with_order(9)
    assert (later.order, later.facts) == (9, stored.facts)


@given(st.text(st.characters(codec="utf-8")))
def test_any_id_can_be_stored(name: str) -> None:
    (stored,) = back([entry(said(name, "text"), ContentLocation(1))])
    assert (stored.id, stored.cost.parts[0].id) == (name, f"{name}.text")


def test_a_block_is_packed_again_only_when_one_of_its_entries_is_another() -> None:
    entries = [
        entry(said(f"m{number}", "text"), ContentLocation(number))
        for number in range(2 * BLOCK + 5)
    ]
    blocks = BlockPacker(pack_entries)
    first = blocks.packed(entries)
    entries[BLOCK + 3] = entry(said("m", "edited"), ContentLocation(9999))
    second = blocks.packed(
        [*entries, entry(said("new", "text"), ContentLocation(10_000))]
    )
    expected = [True, False, False]
    assert [one is other for one, other in zip(first, second, strict=True)] == expected
