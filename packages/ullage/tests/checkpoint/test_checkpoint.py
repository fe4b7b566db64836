import dataclasses
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.meter.histories import histories
from tests.meter.session import answer, result, said, usage
from tests.tiers import examples
from ullage import Meter
from ullage.checkpoint.checkpoint import (
    FEWEST_EVENTS,
    MOST_EVENTS,
    Checkpoints,
    estimator_fingerprint,
    form_digest,
    parts_of,
    should_checkpoint,
    stored_fields,
)
from ullage.checkpoint.contents import events_of, put_contents, removed_entries
from ullage.encoding import decode_event, encode
from ullage.errors import LedgerError, UnreadableInput
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    ParamsChanged,
    Pruned,
    Queued,
    Rewound,
    SessionStarted,
    ToolStarted,
    TurnStarted,
    Uncompacted,
)
from ullage.meter.bound_reasoning import BoundReasoning
from ullage.meter.forecast import Forecaster
from ullage.meter.state import State
from ullage.meter.track import Track
from ullage.meter.view import Entry, View


def numbered(*events: Event, start: int = 1) -> list[Event]:
    return [
        type(event)(
            **{field: getattr(event, field) for field in event.__struct_fields__}
            | {"seq": seq}
        )
        for seq, event in enumerate(events, start)
    ]


def folded(events: Sequence[Event]) -> Meter:
    meter = Meter(estimator="pretoken")
    for event in events:
        meter.apply(event)
    return meter


def saved(meter: Meter) -> bytes:
    return Checkpoints().save(meter._fold)


def loaded(data: bytes, *, estimator: str = "pretoken") -> Meter:
    return Meter._of(Checkpoints().load(data, estimator=estimator))


def restored(meter: Meter) -> Meter:
    return loaded(saved(meter))


class Session:
    """A meter out of a checkpoint beside its ledger: reads contents as a driver does, when an event needs them."""

    def __init__(self, meter: Meter, ledger: Sequence[Event]) -> None:
        self.meter = restored(meter)
        self.rows = {event.seq: encode(event) for event in ledger}

    def read(self, entries: Iterable[Entry]) -> None:
        missing = [entry for entry in entries if entry.content is None]
        put_contents(
            missing, [decode_event(self.rows[number]) for number in events_of(missing)]
        )

    def apply(self, event: Event) -> None:
        if self.meter._fold.needs_content(event):
            self.read([*self.meter._fold.view, *removed_entries(self.meter._fold)])
        self.meter.apply(event)

    def whole(self) -> Meter:
        self.read(self.meter._fold.view)
        return self.meter

    def restore(self) -> None:
        self.meter = restored(self.meter)


def assert_alike(one: Meter, other: Meter) -> None:
    assert one.reading() == other.reading()
    assert one.messages == other.messages
    assert one.fingerprint() == other.fingerprint()
    assert one.steps == other.steps
    assert one.calibration == other.calibration
    assert one.largest(1000) == other.largest(1000)
    assert [one.usage_of(message) for message in one.messages] == [
        other.usage_of(each) for each in other.messages
    ]


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(histories(), st.data())
def test_a_checkpoint_and_the_events_after_it_are_the_fold_of_all_events(
    events: list[Event], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(events)))
    whole = folded(events[:cut])
    session = Session(whole, events)
    again = data.draw(st.integers(cut, len(events)))
    for event in events[cut:]:
        if event.seq == again:
            session.restore()
        whole.apply(event)
        session.apply(event)
        assert session.meter.reading() == whole.reading()
    assert_alike(session.whole(), whole)
    session.restore()
    assert_alike(session.whole(), whole)


@given(histories(), st.integers(0, 25))
def test_the_first_reading_after_loading_needs_no_content_and_the_next_checkpoint_is_the_same(
    events: list[Event], cut: int
) -> None:
    meter = folded(events[:cut])
    opened = restored(meter)
    assert opened.reading() == meter.reading()
    assert all(entry.content is None for entry in opened._fold.view)
    again, before = parts_of(saved(opened)), parts_of(saved(meter))
    assert (again.ids, again.orders) == (before.ids, before.orders)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(histories(), st.data())
def test_what_a_meter_does_after_loading_is_what_it_would_have_done(
    events: list[Event], data: st.DataObject
) -> None:
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
    whole = folded(events[:cut])
    session = Session(whole, events)
    for event in events[cut:]:
        whole.apply(event)
        session.apply(event)
        assert session.meter.reading() == whole.reading()
        if data.draw(st.booleans()):
            assert session.whole().messages == whole.messages
        session.restore()
    assert_alike(session.whole(), whole)


def long_history(count: int) -> list[Event]:
    events: list[Event] = [
        SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic")
    ]
    for number in range(count):
        call, name = f"call-{number}", f"a{number}"
        made = answer(name, "well " * 20, reasoning="hm", calls=1, call=call)
        events += [
            MessageAdded(message=said(f"u{number}", f"question {number}")),
            CallStarted(call=call, at=1e9 + number / 3),
            CallEnded(
                call=call,
                usage=usage(1000 + 50 * number, 30, reasoning=5),
                at=1e9 + number / 3 + 0.01,
            ),
            MessageAdded(message=made),
            MessageAdded(message=result(f"r{number}", f"{name}-0", f"result {number}")),
        ]
    return numbered(*events)


@pytest.mark.slow
def test_steps_and_usages_are_those_of_the_whole_session() -> None:
    events = long_history(1100)
    opened = folded(events[:1500])
    for event in events[1500:]:
        if event.seq % 1000 == 0:
            opened = restored(opened)
        opened.apply(event)
    whole = folded(events)
    assert opened.steps == whole.steps
    assert opened.reading() == whole.reading()
    assert opened.usage_of(answer("a3", call="call-3")) == usage(1150, 30, reasoning=5)


def test_a_checkpoint_holds_no_message() -> None:
    events = numbered(SessionStarted(model="gpt-4o", wire="chat", provider="openai"))
    secret = "a sentence that nobody wrote before"
    meter = folded(
        [*events, *numbered(MessageAdded(message=said("m", secret * 1000)), start=2)]
    )
    data = saved(meter)
    assert len(data) < 4_000
    assert b"nobody wrote" not in data


def test_a_message_whose_content_is_missing_is_named_where_it_is_read() -> None:
    opened = restored(folded(long_history(2)))
    with pytest.raises(LedgerError, match="u0 was not loaded"):
        _ = opened.messages


@pytest.mark.slow
def test_what_did_not_change_is_not_packed_again() -> None:
    meter, checkpoints = folded(long_history(100)), Checkpoints()
    before = parts_of(checkpoints.save(meter._fold)).in_view
    meter.apply(MessageAdded(message=said("new", "one more")))
    after = parts_of(checkpoints.save(meter._fold)).in_view
    expected = [True, True, False]
    assert [one == other for one, other in zip(before, after, strict=True)] == expected


def test_what_counts_otherwise_has_another_fingerprint() -> None:
    names: set[str] = set()
    for model in (
        ("messages", "anthropic", "claude-haiku-4-5"),
        ("chat", "openai", "gpt-4o"),
    ):
        for estimator in ("pretoken", "quarter", len, lambda text: len(text) / 3):
            names.add(estimator_fingerprint(Forecaster(*model, estimator)))
    assert len(names) == 8


def test_bytes_of_other_code_or_another_estimator_are_refused() -> None:
    data = saved(folded(long_history(2)))
    with pytest.raises(UnreadableInput, match="counts otherwise"):
        loaded(data, estimator="quarter")
    with pytest.raises(UnreadableInput, match="written by 'checkpaint"):
        loaded(data.replace(b"checkpoint-", b"checkpaint-"))


@given(st.binary(max_size=200), st.integers(0, 20_000))
def test_damaged_bytes_are_refused_and_nothing_else_is_raised(
    junk: bytes, place: int
) -> None:
    data = saved(folded(long_history(3)))
    place %= len(data)
    flipped = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    for bad in (junk, data[:place], flipped):
        with pytest.raises(UnreadableInput):
            loaded(bad)


def test_a_restored_meter_follows_a_loop_as_before() -> None:
    ledger: list[Event] = []

    def bodies(meter: Meter) -> Meter:
        messages = [
            {"role": "user", "content": f"question {number}"} for number in range(3)
        ]
        reading = meter.before({"model": "gpt-4o", "messages": messages[:1]})
        meter.after(
            reading.call,
            {"prompt_tokens": 20, "completion_tokens": 5},
            {"role": "assistant", "content": "a"},
        )
        meter.before(
            {
                "model": "gpt-4o",
                "messages": [
                    messages[0],
                    {"role": "assistant", "content": "a"},
                    messages[1],
                ],
            }
        )
        return meter

    first = bodies(
        Meter("openai:gpt-4o", wire="chat", estimator="pretoken", on_event=ledger.append)
    )
    session = Session(first, ledger)
    opened = Meter._of(session.whole()._fold, wire="chat")
    again = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "something else"}],
    }
    one, other = first.before(again), opened.before(again)
    assert one.call != other.call
    assert (one.used, one.rows, one.basis) == (other.used, other.rows, other.basis)
    assert opened.messages == first.messages


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
    assert after.snapshot_id == before.snapshot_id
    assert after.used == before.used
    assert after.rows == before.rows
    assert after.seq == before.seq + 3
    meter.apply(MessageAdded(message=said("new", "one more")))
    assert meter.reading().snapshot_id != before.snapshot_id


@given(st.integers(0, 300_000), st.integers(0, 200_000))
def test_a_checkpoint_is_due_after_some_events_and_never_later_than_after_the_most(
    since: int, view: int
) -> None:
    due = should_checkpoint(since, view)
    assert due or since < MOST_EVENTS
    assert not due or since >= FEWEST_EVENTS


MADE_AGAIN = {
    "estimator",
    "client_settings",
    "known",
    "forecaster",
    "shares",
    "loadable",
    "declarations",
    "head",
    "text_ratios",
}
"""What a fold has from the rest of itself, or is given when it is loaded."""


@pytest.mark.parametrize(
    ("kind", "made_again"),
    [
        (State, MADE_AGAIN),
        (View, {"touched", "shares", "entries", "recent"}),
        (Track, {"errors"}),
        (BoundReasoning, {"last", "deferred"}),
    ],
)
def test_every_field_of_the_state_is_stored_but_what_is_made_again(
    kind: type, made_again: set[str]
) -> None:
    every = {field.name for field in dataclasses.fields(kind)}
    assert every - set(stored_fields(kind)) == made_again


def test_a_fold_has_no_attribute_that_is_no_field() -> None:
    meter = folded(long_history(3))
    assert set(vars(meter._fold)) == {field.name for field in dataclasses.fields(State)}


@given(histories())
def test_every_stored_field_comes_back_equal(events: list[Event]) -> None:
    whole = folded(events)._fold
    opened = restored(folded(events))._fold
    for name in stored_fields(State):
        held = getattr(whole, name)
        if name not in {
            "view",
            "undo_records",
            "output",
            "pending",
        }:  # entries are compared by identity
            assert getattr(opened, name) == held, name
    assert [entry.facts for entry in opened.view] == [entry.facts for entry in whole.view]


@dataclasses.dataclass(kw_only=True, eq=False)
class WithAField(State):
    tasted: dict[str, float] = dataclasses.field(default_factory=dict)


def test_a_new_field_is_stored_without_any_other_change_and_names_other_code() -> None:
    assert set(stored_fields(WithAField)) == {*stored_fields(State), "tasted"}
    assert form_digest(WithAField) != form_digest(State)


@pytest.mark.parametrize(
    "params",
    [
        {"max_tokens": 0},
        {"thinking": {"type": "enabled", "budget_tokens": 12_000}},
        {"stop": ["a", 1, None, 0.5, True]},
    ],
)
def test_parameters_come_back_as_they_were_and_are_not_taken_for_entries(
    params: dict[str, object],
) -> None:
    added = MessageAdded(message=said("m1", "Hello"))
    events = numbered(SessionStarted(model="m"), ParamsChanged(params=params), added)
    restored = Checkpoints().load(saved(folded(events)), estimator="pretoken")
    assert restored.params == params
