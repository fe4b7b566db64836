from tests.context.sessions import explained, turns
from tests.meter.session import said
from ullage.events import (
    CompactionCommitted,
    DroppedMessage,
    Event,
    MessageAdded,
    Pinned,
    Pruned,
    Rewound,
    Uncompacted,
)

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


def test_a_message_that_nothing_happened_to_is_in_view_and_an_unknown_one_unknown() -> (
    None
):
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
