from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.meter.session import answer, result, said
from ullage.events import Event, MessageAdded
from ullage.messages import ImagePart, Message
from ullage.meter.forecast import Forecaster
from ullage.meter.origin import Origin
from ullage.meter.stored_entries import BLOCK, StoredBlock, Written, lengthened, shortened
from ullage.meter.view import Entry

CALLS = {"known": 0}
FORECASTER = Forecaster("messages", "anthropic", "claude-haiku-4-5", "pretoken")


def entry(message: Message, origin: Origin, *, opening: float = 0.0) -> Entry:
    return Entry.of(message, FORECASTER.message(message, {}), origin.seq, opening=opening, origin=origin)


def unread(seqs: Sequence[int]) -> list[Event]:
    raise AssertionError(f"{seqs} were read")


def test_an_entrys_facts_come_back_as_they_were_without_a_message_being_read() -> None:
    entries = [
        entry(said("u", "a question"), Origin(3), opening=7.25),
        entry(answer("a", "text", reasoning="hm", calls=2, call="known"), Origin(9, 2)),
        entry(answer("b", "text", call="unreported"), Origin(7)),
        entry(result("r", "a-0", "shown"), Origin(8, 0, (11, 14))),
        entry(Message(id="i", role="user", parts=(ImagePart(id="else", width=10, height=10),)), Origin(12)),
    ]
    (data,) = Written().write(entries, CALLS)
    block = StoredBlock(data, [each.id for each in entries], list(CALLS), unread)
    assert [block.facts(place) for place in range(5)] == [each.facts for each in entries]


def test_messages_of_a_block_are_read_together_and_once() -> None:
    messages = [said(f"m{number}", "text") for number in range(4)]
    entries = [entry(message, Origin(10 - place)) for place, message in enumerate(messages)]
    asked: list[Sequence[int]] = []

    def read(seqs: Sequence[int]) -> list[Event]:
        asked.append(seqs)
        return [MessageAdded(seq=seq, message=messages[10 - seq]) for seq in seqs]

    (data,) = Written().write(entries, CALLS)
    block = StoredBlock(data, [each.id for each in entries], [], read)
    assert [block.message(place) for place in (2, 0, 1, 3)] == [messages[place] for place in (2, 0, 1, 3)]
    assert asked == [[7, 8, 9, 10]]


def test_a_block_is_packed_again_only_when_one_of_its_entries_is_another() -> None:
    entries = [entry(said(f"m{number}", "text"), Origin(number)) for number in range(2 * BLOCK + 5)]
    written = Written()
    first = written.write(entries, CALLS)
    entries[BLOCK + 3] = entry(said("m", "edited"), Origin(9999))
    second = written.write([*entries, entry(said("new", "text"), Origin(10_000))], CALLS)
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, False, False]


@given(st.text(), st.text())
def test_a_shortened_id_is_lengthened_to_what_it_was(message: str, rest: str) -> None:
    for part in (message + rest, rest, "\0" + rest, "\1" + rest):
        assert lengthened(shortened(part, message), message) == part
