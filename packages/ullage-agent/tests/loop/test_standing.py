"""What lists show of a session agrees with its loop, whatever happens in it."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loop.world import Tape, World
from tests.tiers import examples
from ullage.events import Forked, ToolEnded
from ullage.store.copies import closing, keep_nothing
from ullage.turns.loop import Loop, apply
from ullage.turns.standing import AT_REST, StandingState, stand, stood
from ullage_agent.loop.decide import decide
from ullage_agent.loop.steps import Rest


def lived(tape: bytes) -> World:
    world = World(Tape(tape))
    world.live()
    return world


def states_of(loop: Loop) -> set[StandingState]:
    """How a session with this loop may stand."""
    if any(call.state == "asked" for call in loop.open):
        return {"needs_approval"}
    if not loop.turn:
        return {"at_rest", "failed"}
    match loop.paused:
        case "":
            return {"works", "waits"}
        case "failed":
            return {"failed"}
        case _:
            return {"paused"}


def check(tape: bytes) -> None:
    world = lived(tape)
    world.loop, standing = Loop(), AT_REST
    for event in world.ledger:
        loop = world.loop = apply(world.loop, event)
        standing = stand(standing, event)
        if isinstance(event, ToolEnded):
            continue  # the result that is stored with it closes the call
        asked = {call.call_id for call in loop.open if call.state == "asked"}
        assert {each.call_id for each in standing.approvals} == asked
        assert standing.turn == loop.turn
        # A message resumes a turn that has failed: that is seen by the next call.
        if asked or loop.paused or isinstance(decide(world.situation()), Rest):
            assert standing.state in states_of(loop)


@settings(max_examples=examples(200))
@given(st.binary(max_size=400))
def test_a_session_stands_as_its_loop_says(tape: bytes) -> None:
    check(tape)


def test_a_session_stands_as_its_loop_says_in_long_lives() -> None:
    drawn = random.Random(35)
    for _ in range(30):
        check(drawn.randbytes(600))


@settings(max_examples=examples(100))
@given(st.binary(max_size=300), st.integers(min_value=0))
def test_a_copy_stands_at_rest(tape: bytes, through: int) -> None:
    ledger = lived(tape).ledger
    copied = ledger[: through % (len(ledger) + 1)]
    ended = closing(copied, keep_nothing).events
    assert stood(AT_REST, [*copied, *ended, Forked(origin="o", through=1)]).state == (
        "at_rest"
    )
