from collections.abc import Iterable

from hypothesis import given
from msgspec.structs import replace

from tests.context.sessions import explained, turns, view_of
from tests.meter.histories import histories
from tests.meter.session import said
from ullage.context.lineage import explain
from ullage.events import (
    CompactionCommitted,
    DroppedMessage,
    Event,
    MessageAdded,
    MessageReplaced,
    Pinned,
    Pruned,
    Rewound,
    Uncompacted,
)
from ullage.messages import Message

ADDED: list[Event] = [MessageAdded(message=message) for message in turns(3)]
FIRST = CompactionCommitted(
    compaction="c1",
    summary=said("c1.summary", "one"),
    summarised=("u0", "a0", "r0"),
    dropped=(DroppedMessage(id="b0", reason="old"),),
    rung="summary",
)
SECOND = CompactionCommitted(
    compaction="c2",
    summary=said("c2.summary", "two"),
    summarised=("c1.summary", "u1"),
    replaced=(said("u2", "cut"),),
    rung="digest",
)


def test_a_message_without_events_is_in_view_and_others_are_unknown() -> None:
    assert explained("u1", ADDED).status == "in view"
    assert explained("nobody", ADDED).status == "unknown"


def test_a_message_is_followed_through_a_chain_of_summaries() -> None:
    where = explained("u0", [*ADDED, FIRST, SECOND])
    assert (where.status, where.holder) == ("summarised", "c2.summary")
    assert [passage.into for passage in where.passages] == ["c1.summary", "c2.summary"]
    assert "in c2.summary" in str(where)


def test_a_dropped_message_has_its_reason() -> None:
    where = explained("b0", [*ADDED, FIRST])
    assert (where.status, where.holder, where.passages[0].why) == ("dropped", "", "old")


def test_shortened_cleared_and_rewound_are_said() -> None:
    assert explained("u2", [*ADDED, FIRST, SECOND]).status == "shortened"
    assert (
        explained("r1", [*ADDED, Pruned(parts=("r1.result",), prune="p")]).status
        == "cleared"
    )
    assert explained("u2", [*ADDED, Rewound(to="u0")]).status == "rewound"


def test_what_was_undone_did_not_happen() -> None:
    events = [*ADDED, FIRST, SECOND]
    assert explained("u0", [*events, Uncompacted(compaction="c2")]).holder == "c1.summary"
    where = explained("u0", [*events, Uncompacted(compaction="c1")])
    assert (where.status, where.holder, where.passages) == ("in view", "u0", ())
    pruned = [
        *ADDED,
        Pruned(parts=("r1.result",), prune="p"),
        Uncompacted(compaction="p"),
    ]
    assert explained("r1", pruned).status == "in view"


def test_a_pin_holds_until_it_is_let_go() -> None:
    events: list[Event] = [
        Pinned(messages=("a", "b")),
        Pinned(messages=("a",), pinned=False),
    ]
    assert explained("b", events).pinned and not explained("a", events).pinned


def test_what_a_compaction_adds_is_in_view_until_it_is_undone() -> None:
    added = CompactionCommitted(
        compaction="c1", summarised=("u0",), added=(said("c1.added", "Never move one."),)
    )
    assert explained("c1.added", [*ADDED, added]).status == "in view"
    undone = [*ADDED, added, Uncompacted(compaction="c1")]
    assert explained("c1.added", undone).status == "rewound"
    assert explained("u0", undone).status == "in view"


# -- whatever happened --

IN_VIEW = ("in view", "cleared", "shortened")


def every_message(events: Iterable[Event]) -> dict[str, Message]:
    """Whatever had an id in the ledger: what was said, and the summaries."""
    found: dict[str, Message] = {}
    for event in events:
        if isinstance(event, MessageAdded | MessageReplaced):
            found[event.message.id] = event.message
        elif isinstance(event, CompactionCommitted) and event.summary is not None:
            found[event.summary.id] = event.summary
    return found


@given(histories())
def test_whoever_is_told_to_be_in_view_is_and_nobody_else(events: list[Event]) -> None:
    """Whatever happened, in whatever order: edits, rewinds, prunes, compactions, and those undone."""
    events = [
        replace(each, prune=f"p{each.seq}")
        if isinstance(each, Pruned) and each.seq % 2
        else each
        for each in events
    ]
    view = view_of(events)
    for name in every_message(events):
        where = explain(name, events, view)
        assert where.status != "unknown"
        assert (where.status in IN_VIEW) == (name in view), where
        assert (where.holder in view) if where.holder else name not in view, where


SUMMED_UP = CompactionCommitted(
    compaction="c", summary=said("c.summary", "one"), summarised=("u0", "a0", "r0")
)


def fate(name: str, *events: Event) -> tuple[str, str]:
    where = explained(name, [*ADDED, *events])
    return where.status, where.holder


def test_a_summary_is_a_message_too_and_is_taken_back_with_its_compaction() -> None:
    assert fate("c.summary", SUMMED_UP) == ("in view", "c.summary")
    assert fate("c.summary", SUMMED_UP, Uncompacted(compaction="c")) == ("rewound", "")


def test_what_was_rewound_does_not_come_back_with_what_is_undone() -> None:
    rewound = (SUMMED_UP, Rewound(to="u1"), Uncompacted(compaction="c"))
    assert fate("r1", *rewound) == ("rewound", "")
    assert fate("r0", *rewound) == ("in view", "r0")
    pruned = Pruned(parts=("r1.result",), prune="p")
    undone = (pruned, Rewound(to="u1"), Uncompacted(compaction="p"))
    assert fate("r1", *undone) == ("rewound", "")


def test_a_message_written_anew_after_it_left_stands_for_itself_again() -> None:
    again = MessageReplaced(message=said("u0", "again"))
    assert fate("u0", SUMMED_UP, again) == ("in view", "u0")


def test_a_summary_behind_a_system_message_is_rewound_with_what_follows_that() -> None:
    system = MessageAdded(message=said("s", "Be brief.", role="system"))
    where = explained("u0", [system, *ADDED, SUMMED_UP, Rewound(to="s")])
    assert (where.status, where.holder) == ("rewound", "")
