"""A copy of any history, cut anywhere, is at rest."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.loop.stories import fold
from tests.loop.world import Tape, World
from ullage.events import (
    CallStarted,
    CancelAsked,
    CompactAsked,
    CompactionStarted,
    Event,
    GrantGiven,
    MessageAdded,
    Queued,
    Rewound,
    SettingsChanged,
    ToolStarted,
    TurnStarted,
)
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.store.copies import COPIED, closing, keep_nothing
from ullage.turns.loop import Loop
from ullage_agent.loop.decide import LoopSituation, decide
from ullage_agent.loop.steps import Rest


def is_over(loop: Loop) -> bool:
    """Whether nothing in the loop is unfinished, allowed or on its way."""
    is_idle = not (
        loop.turn
        or loop.paused
        or loop.call
        or loop.side_call
        or loop.compaction
        or loop.is_abandoned
    )
    return is_idle and not (
        loop.open or loop.queue or loop.cancel or loop.compact_asked is not None
    )


def view_of(events: Sequence[Event]) -> list[Message]:
    """The messages that have not left the view."""
    view: list[Message] = []
    for event in events:
        match event:
            case MessageAdded():
                view.append(event.message)
            case Rewound():
                names = [message.id for message in view]
                del view[names.index(event.to) + 1 :]
            case _:
                pass
    return view


def unpaired(events: Sequence[Event]) -> list[str]:
    """Calls in view without exactly one result behind them."""
    calls: list[str] = []
    for message in view_of(events):
        calls += [part.call_id for part in message.of_type(ToolCallPart)]
        for part in message.of_type(ToolResultPart):
            calls.remove(part.call_id)
    return calls


@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_any_history_cut_anywhere_is_at_rest_with_results(data: bytes, cut: int) -> None:
    world = World(Tape(data))
    world.live()
    events = world.ledger[: cut % (len(world.ledger) + 1)]
    resting = closing(events, keep_nothing)
    copied = [*events, *resting.events]
    loop = fold(copied)
    assert is_over(loop)
    assert decide(LoopSituation(loop=loop)) == Rest()
    assert unpaired(copied) == []
    assert (loop.settings, loop.grants) == ({}, ())
    assert bool(resting.dropped) == bool(resting.events)
    again = closing(copied, keep_nothing)
    assert (again.events, again.dropped) == ((), ())


CALL = ToolCallPart(id="p1", call_id="t1", name="shell", arguments='{"command": "id"}')
ANSWER = Message(id="a1", role="assistant", parts=(CALL,), call="c1")


def test_a_call_not_started_is_said_to_be_so_and_a_started_one_unknown() -> None:
    begun = (TurnStarted(turn="turn-1"), MessageAdded(message=ANSWER))
    waiting = closing(begun, keep_nothing)
    results = [
        event.message for event in waiting.events if isinstance(event, MessageAdded)
    ]
    (part,) = results[0].of_type(ToolResultPart)
    assert (part.call_id, part.text, part.is_error) == ("t1", COPIED, True)
    started = closing((*begun, ToolStarted(call_id="t1", name="shell")), keep_nothing)
    (unknown,) = [
        event.message for event in started.events if isinstance(event, MessageAdded)
    ]
    assert "unknown" in next(unknown.of_type(ToolResultPart)).text


def test_everything_that_is_left_out_is_named() -> None:
    waiting = Message(
        id="m2", role="user", parts=(TextPart(id="m2.0", text="And then?"),)
    )
    events = (
        SettingsChanged(
            settings={
                "base_url": "http://elsewhere",
                "trigger": 0.5,
                "params": {"tools": [], "seed": 1},
            }
        ),
        GrantGiven(grant="g1", tool="shell", prefix=("git", "status")),
        TurnStarted(turn="turn-1"),
        MessageAdded(message=ANSWER),
        Queued(message=waiting, kind="steer", position=1),
        CancelAsked(),
        CompactAsked(),
        CallStarted(call="c2"),
        CallStarted(call="c3", purpose="summary"),
        CompactionStarted(compaction="k1", trigger="asked"),
    )
    resting = closing(
        events, lambda own: {"trigger": own["trigger"], "params": {"seed": 1}}
    )
    assert resting.dropped == (
        "a compaction in progress: rolled back",
        "a model call in progress (main)",
        "a model call in progress (summary)",
        "an open call of shell",
        "an unfinished turn",
        "a cancel",
        "the queued message m2",
        "the grant for shell git status",
        "the setting base_url",
        "the setting params in part",
    )
    copied = fold([*events, *resting.events])
    assert is_over(copied) and copied.grants == ()
    assert copied.settings == {"trigger": 0.5, "params": {"seed": 1}}
