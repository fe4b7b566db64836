"""A strategy of the user's own in a live session: whatever it does, the session goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    SESSION,
    agent_on,
    generated,
    imported,
    is_accepted,
    is_summary_call,
    of_kind,
    refused,
    script,
    turns,
)
from ullage.context.choice import STRATEGIES
from ullage.context.policy import STRATEGY_CALLS
from ullage.context.situation import Situation
from ullage.context.strategy import Ask, Candidate, Proposal
from ullage.context.summary import Summarize
from ullage.events import CompactionCommitted, CompactionRolledBack
from ullage_simulators import running


class Own:
    """A strategy that does what it is told."""

    name = "own"

    def __init__(self, does: Callable[[Situation], object], calls: int = 0) -> None:
        self.does = does
        self.calls = calls

    def calls_at_most(self, situation: Situation) -> int:
        return self.calls

    def propose(self, situation: Situation, answers: object) -> Proposal:
        return cast(Proposal, self.does(situation))


def raises(situation: Situation) -> object:
    raise LookupError("there is no such shelf")


def forgets_a_message(situation: Situation) -> object:
    return Candidate(
        CompactionCommitted(
            compaction=situation.compaction, summarised=(situation.messages[0].id,)
        )
    )


def asks_on_and_on(situation: Situation) -> object:
    asked = Summarize().propose(situation, ())
    return asked if isinstance(asked, Ask) else None


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (Own(raises), "failed"),
        (Own(lambda _: 7), "failed"),
        (Own(forgets_a_message), "uncovered"),
        (Own(asks_on_and_on, 1_000_000), "failed"),
    ],
    ids=["raises", "gives nonsense", "forgets", "asks for ever"],
)
@pytest.mark.parametrize("alone", [False, True], ids=["above ours", "alone"])
async def test_a_strategy_that_fails_is_passed_over_and_the_session_goes_on(
    own: Own, reason: str, alone: bool, tmp_path: Path
) -> None:
    """Over the point and inside the limit, a session with nothing but a broken strategy still makes its call."""
    with running(script(ANTHROPIC, window=48_000)) as server:
        await imported(tmp_path / "s.db", turns(95))
        strategies = (own,) if alone else (own, *STRATEGIES)
        agent = agent_on(
            server, tmp_path / "s.db", ANTHROPIC, window=48_000, strategy=strategies
        )
        async with agent.session(SESSION) as session:
            await session.send("And cask 7?")
            result = await session.wait()
            events = await session.history()
        assert result.reason == "finished", result
        rolled = [
            (each.rung, each.reason) for each in of_kind(events, CompactionRolledBack)
        ]
        assert ("own", reason) in rolled, rolled
        assert len(of_kind(events, CompactionCommitted)) == (0 if alone else 1)
        found = len([one for one in generated(server) if is_summary_call(one)])
        assert found <= STRATEGY_CALLS + 7
        assert is_accepted(generated(server)[-1]) and not refused(server)
