import dataclasses
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.meter.histories import histories
from tests.meter.session import answer, result, said, usage
from tests.tiers import examples
from ullage import Meter
from ullage.encoding import decode_event, encode
from ullage.errors import LedgerError, UnreadableInput
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    Pruned,
    Queued,
    Rewound,
    SessionStarted,
    ToolStarted,
    TurnStarted,
    Uncompacted,
)
from ullage.meter import snapshot
from ullage.meter.anchor import Before
from ullage.meter.cost import MessageCost
from ullage.meter.departed import Departed
from ullage.meter.snapshot import FEWEST_EVENTS, MOST_EVENTS, should_checkpoint
from ullage.meter.track import Step, Track
from ullage.meter.view import Facts, View


class FakeLedger:
    """Events by number, as a store gives them back, and how often it was asked."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.rows = {event.seq: encode(event) for event in events}
        self.asked: list[Sequence[int]] = []

    def __call__(self, seqs: Sequence[int]) -> list[Event]:
        assert list(seqs) == sorted(set(seqs))
        self.asked.append(seqs)
        return [decode_event(self.rows[seq]) for seq in seqs]


def numbered(*events: Event, start: int = 1) -> list[Event]:
    return [
        type(event)(**{field: getattr(event, field) for field in event.__struct_fields__} | {"seq": seq})
        for seq, event in enumerate(events, start)
    ]


def folded(events: Sequence[Event]) -> Meter:
    meter = Meter(estimator="pretoken")
    for event in events:
        meter.apply(event)
    return meter


def restored(meter: Meter, ledger: FakeLedger) -> Meter:
    return Meter.restore(meter.snapshot(), ledger=ledger, estimator="pretoken")


def assert_alike(one: Meter, other: Meter) -> None:
    assert one.reading() == other.reading()
    assert one.messages == other.messages
    assert one.fingerprint() == other.fingerprint()
    assert one.steps == other.steps
    assert one.calibration == other.calibration
    assert one.largest(1000) == other.largest(1000)
    assert [one.usage_of(message) for message in one.messages] == [other.usage_of(each) for each in other.messages]


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(histories(), st.data())
def test_a_checkpoint_and_the_events_after_it_are_the_fold_of_all_events(
    events: list[Event], data: st.DataObject
) -> None:
    ledger = FakeLedger(events)
    cut = data.draw(st.integers(0, len(events)))
    whole, meter = folded(events[:cut]), restored(folded(events[:cut]), ledger)
    again = data.draw(st.integers(cut, len(events)))
    for event in events[cut:]:
        if event.seq == again:
            meter = restored(meter, ledger)
        whole.apply(event)
        meter.apply(event)
        assert meter.reading() == whole.reading()
    assert_alike(meter, whole)
    assert_alike(restored(meter, ledger), whole)


@given(histories(), st.integers(0, 25))
def test_the_first_reading_after_loading_reads_no_event(events: list[Event], cut: int) -> None:
    meter = folded(events[:cut])
    ledger = FakeLedger(events)
    opened = restored(meter, ledger)
    assert opened.reading() == meter.reading()
    assert opened.snapshot()
    assert ledger.asked == []


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(histories(), st.data())
def test_what_a_meter_does_after_loading_is_what_it_would_have_done(events: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(events)))
    later = data.draw(st.integers(0, 3))
    ids = [message.id for message in folded(events[:cut]).messages]
    chosen = tuple(data.draw(st.sets(st.sampled_from(ids)))) if ids else ()
    after: list[Event] = [
        Pruned(parts=tuple(f"{name}.result" for name in chosen), prune="p"),
        CompactionCommitted(
            compaction="c",
            summary=said("summary", "all that was said"),
            summarised=chosen[1:],
            replaced=tuple(said(name, "shorter") for name in chosen[:1]),
        ),
        Uncompacted(compaction="c"),
        Rewound(to=chosen[0] if chosen else ""),
        Uncompacted(compaction="p"),
        MessageAdded(message=said("next", "and now?")),
    ]
    events = numbered(*events[:cut], *after[later:], *after)
    whole, ledger = folded(events[:cut]), FakeLedger(events)
    meter = restored(whole, ledger)
    for event in events[cut:]:
        whole.apply(event)
        meter.apply(event)
        assert meter.reading() == whole.reading()
        assert meter.messages == whole.messages
        meter = restored(meter, ledger)
    assert_alike(meter, whole)


def long_history(count: int) -> list[Event]:
    events: list[Event] = [SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic")]
    for number in range(count):
        call, name = f"call-{number}", f"a{number}"
        made = answer(name, "well " * 20, reasoning="hm", calls=1, call=call)
        events += [
            MessageAdded(message=said(f"u{number}", f"question {number}")),
            CallStarted(call=call, at=1e9 + number / 3),
            CallEnded(call=call, usage=usage(1000 + 50 * number, 30, reasoning=5), at=1e9 + number / 3 + 0.01),
            MessageAdded(message=made),
            MessageAdded(message=result(f"r{number}", f"{name}-0", f"result {number}")),
        ]
    return numbered(*events)


@pytest.mark.slow
def test_touching_a_message_reads_its_block_and_going_through_the_view_reads_each_event_once() -> None:
    events = long_history(400)
    ledger = FakeLedger(events)
    opened = restored(folded(events), ledger)
    opened.apply(MessageAdded(message=said("new", "one more")))
    opened.reading()
    assert ledger.asked == []
    assert opened.messages[:-1] == folded(events).messages
    assert len(ledger.asked) == 3
    assert sum(map(len, ledger.asked)) == 1200
    assert opened.messages
    assert len(ledger.asked) == 3


@pytest.mark.slow
def test_steps_and_usages_are_those_of_the_whole_session() -> None:
    events = long_history(1100)
    ledger = FakeLedger(events)
    opened = folded(events[:1500])
    for event in events[1500:]:
        if event.seq % 1000 == 0:
            opened = restored(opened, ledger)
        opened.apply(event)
    whole = folded(events)
    assert opened.steps == whole.steps
    assert opened.reading() == whole.reading()
    assert ledger.asked == []
    assert opened.usage_of(answer("a3", call="call-3")) == usage(1150, 30, reasoning=5)
    assert len(ledger.asked) == 1


def test_a_checkpoint_holds_no_message() -> None:
    events = numbered(SessionStarted(model="gpt-4o", wire="chat", provider="openai"))
    secret = "a sentence that nobody wrote before"
    meter = folded([*events, *numbered(MessageAdded(message=said("m", secret * 1000)), start=2)])
    assert len(meter.snapshot()) < 3_000


@pytest.mark.slow
def test_what_did_not_change_is_not_packed_again() -> None:
    events = long_history(600)
    meter = folded(events)
    meter.snapshot()
    before = meter._fold.written.blocks
    meter.apply(MessageAdded(message=said("new", "one more")))
    meter.snapshot()
    after = meter._fold.written.blocks
    assert [one[1] is other[1] for one, other in zip(before, after, strict=True)] == [True, True, True, False]


def test_bytes_of_other_code_or_another_estimator_are_refused() -> None:
    data = folded(long_history(2)).snapshot()
    ledger = FakeLedger([])
    with pytest.raises(UnreadableInput, match="counts otherwise"):
        Meter.restore(data, ledger=ledger, estimator="quarter")
    with pytest.raises(UnreadableInput, match="written by 'metre"):
        Meter.restore(data.replace(b"meter-", b"metre-"), ledger=ledger, estimator="pretoken")


@given(st.binary(max_size=200), st.integers(0, 2_000))
def test_damaged_bytes_are_refused_and_nothing_else_is_raised(junk: bytes, place: int) -> None:
    data = folded(long_history(3)).snapshot()
    place %= len(data)
    flipped = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    for bad in (junk, data[:place], flipped):
        with pytest.raises(UnreadableInput):
            Meter.restore(bad, ledger=FakeLedger([]), estimator="pretoken")


def test_a_restored_meter_follows_a_loop_as_before() -> None:
    ledger: list[Event] = []

    def bodies(meter: Meter) -> Meter:
        messages = [{"role": "user", "content": f"question {number}"} for number in range(3)]
        reading = meter.before({"model": "gpt-4o", "messages": messages[:1]})
        meter.after(reading.call, {"prompt_tokens": 20, "completion_tokens": 5}, {"role": "assistant", "content": "a"})
        meter.before({"model": "gpt-4o", "messages": [messages[0], {"role": "assistant", "content": "a"}, messages[1]]})
        return meter

    first = bodies(Meter("openai:gpt-4o", wire="chat", estimator="pretoken", on_event=ledger.append))
    opened = Meter.restore(first.snapshot(), ledger=FakeLedger(ledger), wire="chat", estimator="pretoken")
    again = {"model": "gpt-4o", "messages": [{"role": "user", "content": "something else"}]}
    one, other = first.before(again), opened.before(again)
    assert one.call != other.call
    assert (one.used, one.rows, one.basis) == (other.used, other.rows, other.basis)
    assert opened.messages == first.messages


def test_a_ledger_that_is_not_the_checkpoints_is_named_where_a_message_is_read() -> None:
    events = long_history(2)
    other = FakeLedger(numbered(*[TurnStarted(turn="t")] * len(events)))
    opened = restored(folded(events), other)
    assert opened.reading() == folded(events).reading()
    with pytest.raises(LedgerError, match="holds no message"):
        _ = opened.messages


def test_what_does_not_concern_the_window_leaves_the_snapshot_id_and_moves_seq() -> None:
    events = long_history(2)
    meter = folded(events)
    before = meter.reading()
    others = numbered(
        TurnStarted(turn="t"),
        Queued(message=said("q", "later"), kind="follow_up", position=1),
        ToolStarted(call_id="c"),
        start=len(events) + 1,
    )
    for event in others:
        meter.apply(event)
    after = meter.reading()
    assert (after.snapshot_id, after.used, after.rows) == (before.snapshot_id, before.used, before.rows)
    assert after.seq == before.seq + 3
    meter.apply(MessageAdded(message=said("new", "one more")))
    assert meter.reading().snapshot_id != before.snapshot_id


@given(st.integers(0, 300_000), st.integers(0, 200_000))
def test_a_checkpoint_is_due_after_some_events_and_never_later_than_after_the_most(since: int, view: int) -> None:
    due = should_checkpoint(since, view)
    assert due or since < MOST_EVENTS
    assert not due or since >= FEWEST_EVENTS


DERIVED = {"denominators", "known", "forecaster", "estimator", "shares", "written", "written_aside"}
"""What a fold has from the rest of itself, or is given when it is loaded."""

STORED_APART = {"view", "carried", "track", "compacted"}


def test_everything_that_a_fold_knows_has_its_place_in_a_checkpoint() -> None:
    known = {field.name for field in msgspec.structs.fields(snapshot._Known)} - {"trial", "window", "score"}
    assert set(vars(folded([])._fold)) == known | DERIVED | STORED_APART
    view = {"rows", "tokens", "opening", "media", "orders", "_digest"} | {"entries", "recent", "holders", "tool_names"}
    assert {field.name for field in dataclasses.fields(View)} == view | {"touched", "shares", "_unrolled"}
    track = {"inside", "compared", "last", "accuracy", "packed", "_steps"}
    assert {field.name for field in dataclasses.fields(Track)} == track | {"_stored", "_errors"}
    assert MessageCost._fields == ("tokens", "reasoning", "added", "answer", "parts", "carries", "maker")
    assert Facts._fields == ("role", "call", "origin", "opening", "cost")
    assert Departed._fields == ("anchor", "order", "left", "changed", "summary", "is_prune")
    assert Before._fields == ("anchor", "output", "output_left", "since", "changed", "removed")
    step = ("number", "call", "estimated", "low", "high", "at", "actual", "marks", "first")
    assert tuple(field.name for field in dataclasses.fields(Step)) == step
