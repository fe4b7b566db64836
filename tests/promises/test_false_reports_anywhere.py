"""False reports at random calls of sessions that are compacted, rewound, reopened and moved to other models."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.promises.stage import SIX, agent_for, script
from tests.tiers import first_of
from ullage.errors import CommandRefused
from ullage_agent.runtime.session import Session
from ullage_simulators import running

KINDS = ("huge-usage", "cumulative-usage", "uncached-only", "tiny-usage", "nan-usage")
WINDOW = 40_000
STEPS = 12
WORDS = "The keeper of the museum counts lamps, maps and letters once more. "


async def change(session: Session, dice: random.Random) -> None:
    """Something that moves what a reading rests on."""
    match dice.choice(("compact", "rewind", "model", "nothing")):
        case "compact":
            try:
                await session.compact()
            except CommandRefused:  # there is nothing to compact yet
                return
        case "rewind":
            asked = [each for each in await session.messages() if each.role == "user"]
            if asked:
                await session.rewind(dice.choice(asked).id)
        case "model":
            await session.set(**dice.choice(SIX).settings())


@pytest.mark.parametrize("seed", first_of(range(40), 3))
async def test_no_false_report_makes_a_request_that_fits_unfixable(
    seed: int, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    requests = sorted(dice.sample(range(1, 3 * STEPS), 2 * STEPS))
    faults = [{"kind": dice.choice(KINDS), "request": number} for number in requests]
    answer = {"text": "It is noted in the book. " * dice.randint(1, 40)}
    with running(script(answer, faults=faults), seed=seed) as server:
        settings = {**dice.choice(SIX).settings(), "window": WINDOW}
        settings["stream"] = dice.random() < 0.5
        step = 0
        while step < STEPS:
            async with agent_for(tmp_path / "s.db", server=server).session(
                "s", resume=True, **settings
            ) as session:
                for _ in range(dice.randint(1, 5)):
                    asked = f"{step}. {WORDS * dice.randint(1, 150)}"
                    result = await session.ask(asked, check=False)
                    assert result.reason == "finished", (
                        step,
                        result.reason,
                        result.error,
                    )
                    reading = await session.context()
                    assert reading.proven_high < WINDOW
                    await change(session, dice)
                    step += 1
