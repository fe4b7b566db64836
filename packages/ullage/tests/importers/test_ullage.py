from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.importers.folding import FIXTURES
from ullage.encoding import encode
from ullage.events import CallEnded, Event, MessageAdded
from ullage.importers import read, reader_for
from ullage.importers.ullage import FORMAT, UllageReader
from ullage.meter.meter import Meter
from ullage.store import export
from ullage.store.sqlite.store import SqliteStore

LOG = FIXTURES / "ullage" / "session.jsonl"


def lines() -> list[bytes]:
    return LOG.read_bytes().splitlines(keepends=True)


async def test_what_the_store_exports_is_what_is_read(tmp_path: Path) -> None:
    assert FORMAT == export.FORMAT
    events = read(LOG).events
    store = SqliteStore(tmp_path / "s.db")
    await store.create("3f0c1a52-shop", events)
    await export.export_file(store, "3f0c1a52-shop", tmp_path / "again.jsonl")
    assert read(tmp_path / "again.jsonl").events == tuple(
        await store.read("3f0c1a52-shop")
    )
    taken = await export.import_file(store, LOG, "imported")
    assert (taken.events, taken.kept, taken.skipped) == (29, 1, ())
    await store.close()


def test_what_a_missing_line_leaves_behind_is_numbered_anew_and_can_be_folded() -> None:
    whole = lines()
    for gone in range(1, len(whole)):
        reader = UllageReader()
        events = [*reader.feed([*whole[:gone], *whole[gone + 1 :]]), *reader.settle()]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        meter = Meter()
        for event in events:
            meter.apply(event)
        assert meter.reading().used.tokens > 0


def test_a_call_that_was_under_way_when_the_file_ends_is_dropped() -> None:
    whole = lines()
    at = next(number for number, line in enumerate(whole) if b'"call":"c2"' in line)
    reader = UllageReader()
    reader.feed(whole[: at + 1])
    (ended,) = reader.settle()
    assert isinstance(ended, CallEnded)
    assert (ended.call, ended.outcome) == ("c2", "dropped")


def test_lines_without_an_event_are_counted_with_their_place() -> None:
    reader = UllageReader()
    reader.feed([*lines(), b"{torn\n", b'{"format":7}\n'])
    assert [skipped.line for skipped in reader.skips.listed] == [32, 33]
    assert reader.title == "Fix the price test."


def test_it_can_be_followed_while_it_grows() -> None:
    reader = reader_for(LOG)
    assert isinstance(reader, UllageReader)
    events = [event for line in lines() for event in reader.feed([line])]
    assert tuple(events) == read(LOG).events
    assert any(isinstance(event, MessageAdded) for event in events)


TEXTS = ("Count the casks.", "Which one is full?", "None of them.", "Look again.")


@given(
    st.lists(
        st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6), min_size=1, max_size=6
    )
)
def test_every_ledger_of_a_meter_is_read_without_a_gap(
    histories: list[list[str]],
) -> None:
    """Also one in which the same messages leave and come again, as their ids are then the same."""
    events: list[Event] = []
    meter = Meter("anthropic:claude-haiku-4-5", session="s", on_event=events.append)
    for texts in histories:
        roles = ("user", "assistant") * len(texts)
        messages = [
            {"role": role, "content": text}
            for role, text in zip(roles, texts, strict=False)
        ]
        body = {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": messages}
        call = meter.before(body).call
        meter.after(call, {"input_tokens": 20, "output_tokens": 5})
    reader = UllageReader()
    folded = Meter()
    for event in [*reader.feed([encode(each) for each in events]), *reader.settle()]:
        folded.apply(event)
    assert not reader.skips.reasons
    assert folded.messages == meter.messages
    assert folded.reading().used == meter.reading().used
