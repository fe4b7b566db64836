"""Drops on every wire: the next bill is the predicted one, the strict simulator takes it, and undo is exact."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    BOUND_ANTHROPIC,
    CHAT,
    DEEPSEEK,
    GEMINI,
    OLD_ANTHROPIC,
    RESPONSES,
    Dialect,
    of_kind,
    refused,
    scene,
    script,
    turns,
)
from tests.context.sessions import words
from tests.tiers import first_of
from ullage.events import CallEnded
from ullage.usage import Usage
from ullage_agent.runtime.session import Session

WIRES = (
    ANTHROPIC,
    BOUND_ANTHROPIC,
    RESPONSES,
    CHAT,
    GEMINI,
    DEEPSEEK,
    OLD_ANTHROPIC,
)
HAD = turns(8, size=400)
BILL_OFF = 0.01
CACHE_OFF = 0.05
DROPS = 6
CACHE_STEP = 128
"""Some providers cache prompts in steps of so many tokens."""


class Billed(NamedTuple):
    """What the provider said of a call."""

    input: int
    fresh: int
    """Input that came from no cache."""


async def billed(session: Session, text: str) -> Billed:
    await session.ask(text)
    ended = of_kind(await session.history(), CallEnded)[-1]
    usage = ended.usage
    assert usage is not None
    return Billed(of_input(usage), of_input(usage) - (usage.cache_read or 0))


def of_input(usage: Usage) -> int:
    assert usage.input is not None
    return usage.input


def drawn(dice: random.Random, ids: Sequence[str]) -> str:
    """A result, a text, a message or a stretch."""
    name = dice.choice(ids)
    kind = dice.choice(("part", "message", "stretch"))
    if kind == "part":
        return dice.choice((f"{name}.0", f"{name}.1", f"{name}.text"))
    if kind == "message":
        return name
    last = min(len(ids) - 1, ids.index(name) + dice.randrange(6))
    return f"{name}..{ids[last]}"


@pytest.mark.parametrize("seed", first_of(list(range(12)), 1))
@pytest.mark.parametrize("dialect", WIRES, ids=lambda dialect: dialect.name)
async def test_random_drops_are_billed_as_predicted_and_undone_to_the_digest(
    dialect: Dialect, seed: int, tmp_path: Path
) -> None:
    """Seven wires, twelve seeds, six drops each: 504 drops, each made, undone, made again and billed."""
    dice = random.Random(f"{dialect.name} {seed}")
    scenario = script(dialect, window=200_000, max_output=8_000)
    async with scene(
        tmp_path, dialect, HAD, scenario=scenario, window=200_000, auto=False
    ) as (server, session):
        for number in range(10):
            last = await billed(session, words(400, 500 + number))
        for number in range(DROPS):
            before = await state(session)
            place = await droppable_place(session, dice)
            surgery = await session.drop(place)
            assert (await session.context()).used.tokens == surgery.after
            await session.uncompact(surgery.id)
            assert await state(session) == before
            surgery = await session.drop(place)
            bill = await billed(session, f"Go on with number {number}.")
            said = (await session._meter()).steps[-1].estimated
            assert abs(bill.input - said) <= BILL_OFF * bill.input, (surgery, bill)
            new = bill.input + surgery.freed - last.input
            if last.fresh < last.input / 2:
                off = abs(bill.fresh - (surgery.cache_lost + new))
                most = max(CACHE_STEP, CACHE_OFF * (surgery.cache_lost + new))
                assert off <= most, (surgery, bill, last)
            last = bill
            if dice.random() < 0.3:
                await session.uncompact(surgery.id)
                last = await billed(session, "And back again.")
        assert refused(server) == []


class State(NamedTuple):
    digest: str
    tokens: int
    messages: tuple[str, ...]


async def state(session: Session) -> State:
    fold = (await session._look()).fold
    tokens = (await session.context()).used.tokens
    return State(fold.view.digest, tokens, tuple(fold.view.entries))


async def droppable_place(session: Session, dice: random.Random) -> str:
    """A place that can be dropped: others say why they can't."""
    while True:
        ids = [message.id for message in await session.messages()][:-4]
        place = drawn(dice, ids)
        surgery = await session.drop(place, dry_run=True)
        assert surgery.id == ""
        if not surgery.refused:
            return place
