"""The promises of the loop, held in a world where everything that can happen does, in any order."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loop.world import Tape, World
from tests.tiers import examples
from ullage_agent.loop.steps import (
    AskApproval,
    CallModel,
    CloseCalls,
    Compact,
    Deliver,
    DropAttempt,
    EndTurn,
    FetchAnswer,
    Pause,
    Rest,
    RunTools,
    Settle,
)


def lived(tape: bytes) -> World:
    world = World(Tape(tape))
    world.live()
    world.check_queue()
    world.check_ledger()
    world.check_turns()
    return world


@settings(max_examples=examples(200))
@given(st.binary(max_size=400))
def test_every_promise_holds_whatever_happens(tape: bytes) -> None:
    lived(tape)


@pytest.mark.parametrize("seed", range(8))
def test_every_promise_holds_in_long_lives(seed: int) -> None:
    drawn = random.Random(seed)
    for _ in range(25):
        lived(drawn.randbytes(600))


def test_the_lives_lead_through_every_step() -> None:
    drawn = random.Random(8)
    seen = {type(step) for _ in range(40) for step in lived(drawn.randbytes(600)).steps}
    assert seen == {
        AskApproval,
        CallModel,
        CloseCalls,
        Compact,
        Deliver,
        DropAttempt,
        EndTurn,
        FetchAnswer,
        Pause,
        Rest,
        RunTools,
        Settle,
    }
