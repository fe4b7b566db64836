"""Sessions on a model that refuses thinking behind a changed prefix, end to end on the simulator of its wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.bound import CALLED, MODEL, had
from tests.compaction.stage import ASKS, KEYS, SUMMARY, of_kind, refused
from tests.context.sessions import words
from ullage.events import (
    CompactionCommitted,
    EpochChanged,
    Event,
    ReasoningRefused,
)
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.session import Session
from ullage_simulators import Server, running
from ullage_simulators.scenario import read

WINDOW = 16_000
SHAPES = [(60, 1), (1, 60)]
"""Turns, and calls in each."""


@pytest.mark.parametrize(("turns", "calls"), SHAPES)
async def test_nothing_is_refused_and_all_thinking_that_stays_in_view_is_sent_on(
    turns: int, calls: int
) -> None:
    found = await had(MODEL, turns=turns, calls=calls, window=WINDOW)
    assert set(found.reasons) == {"finished"}
    assert not found.refused
    assert len(found.changes) >= 3
    assert {change.strategy for change in found.changes} == {"server"}
    for change in found.changes:
        assert change.sent == change.in_view > 0
        assert change.tokens == 0


def agent(server: Server, place: Path, model: str = MODEL, **more: Any) -> Agent:
    def look() -> str:
        """Looks at a cask."""
        return words(300, 1)

    settings: dict[str, Any] = {"window": WINDOW, "reserve": 4_000, "tools": [look]}
    return Agent(
        f"anthropic:{model}",
        store=place / "s.db",
        base_url=server.url("anthropic"),
        environment={**KEYS, "ULLAGE_DATA": str(place)},
        config=False,
        count="never",
        **{**settings, **more},
    )


def scenario(**more: Any) -> Any:
    answers = [
        {"when": {"contains": ASKS}, "text": SUMMARY},
        {"when": {"contains": CALLED}, "text": SUMMARY},
        {
            "when": {"after": "user"},
            "reasoning": words(60, 1),
            "calls": [{"name": "look"}],
        },
        {"reasoning": words(60, 2), "text": "It is full."},
    ]
    return read({"answers": answers, **more})


async def asked(session: Session, turns: int) -> list[Event]:
    for n in range(turns):
        assert (await session.ask(f"Is cask {n} full?")).reason == "finished"
    return await session.history()


async def test_a_change_of_the_policy_names_the_thinking_that_it_costs(
    tmp_path: Path,
) -> None:
    with running(scenario()) as server:
        async with agent(server, tmp_path).session("s") as session:
            await asked(session, 2)
            await session.set(reasoning="last")
            (epoch,) = of_kind(await asked(session, 1), EpochChanged)
        assert not refused(server)
    assert epoch.reason == "policy"
    assert epoch.reasoning_lost is not None
    assert 4 * 50 < epoch.reasoning_lost < 4 * 300


async def test_thinking_behind_a_compaction_that_another_model_gets_as_text_is_not_sent_to_it(
    tmp_path: Path,
) -> None:
    with running(scenario()) as server:
        async with agent(server, tmp_path, "claude-opus-5-5").session("s") as session:
            before = await asked(session, 20)
            await session.set(model="anthropic:claude-mythos-5-2")
            events = await asked(session, 1)
        assert not refused(server)
    assert of_kind(before, CompactionCommitted)
    assert not of_kind(events, ReasoningRefused)
    (epoch,) = [each for each in of_kind(events, EpochChanged) if each.reason == "model"]
    assert epoch.reasoning_lost


async def test_a_provider_that_refuses_is_asked_once_and_the_session_goes_on_without_thinking(
    tmp_path: Path,
) -> None:
    """A model that binds by its name, on a server that can't compact."""
    name = "claude-fable-5-9"
    old = {"name": name, "like": "claude-sonnet-4-5", "window": WINDOW}
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}
    with running(scenario(models=[old])) as server:
        one = agent(server, tmp_path, name, params=thinks)
        async with one.session("s") as session:
            events = await asked(session, 60)
        asked_for = [
            each for each in server.exchanges if "compaction" in (each.body or {})
        ]
    assert [each.rule for each in asked_for] == ["compaction_unsupported"]
    assert any(epoch.reasoning_lost for epoch in of_kind(events, EpochChanged))
