"""Summaries by models whose answers are short, and by models whose longest answer nobody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.compaction.stage import (
    DIALECTS,
    LLAMACPP,
    Dialect,
    generated,
    is_accepted,
    is_summary_call,
    of_kind,
    scene,
    script,
    turns,
)
from tests.tiers import first_of
from ullage.events import CompactionCommitted, CompactionRolledBack
from ullage_agent.runtime.compacting import rules_of
from ullage_agent.runtime.settings import Settings

WINDOW = 48_000
LONGEST = 2_000
"""Less than 1.5 times the summary that a window of this size asks for by itself."""


def outputs(body: dict[str, Any]) -> list[int]:
    """The output limits that a request names, whatever its wire calls them."""
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    tables = (body, body.get("generationConfig", {}))
    found = [table[name] for table in tables for name in names if name in table]
    inner = body.get("generationConfig", {}).get("maxOutputTokens")
    return found if inner is None else [inner]


@pytest.mark.parametrize("dialect", first_of(DIALECTS, 3), ids=str)
async def test_a_model_with_short_answers_writes_the_summary_on_its_own_request(
    dialect: Dialect, tmp_path: Path
) -> None:
    """One call that is accepted; where the limit was unknown and too large, one refused call before it."""
    scenario = script(dialect, window=WINDOW, max_output=LONGEST)
    async with scene(
        tmp_path, dialect, turns(68), scenario=scenario, window=WINDOW, strategy="summary"
    ) as (server, session):
        await session.compact()
        await session.wait()
        events = await session.history()
    (committed,) = of_kind(events, CompactionCommitted)
    assert committed.rung == "summary" and not of_kind(events, CompactionRolledBack)
    *earlier, last = [one for one in generated(server) if is_summary_call(one)]
    assert is_accepted(last) and len(earlier) <= 1


async def test_a_summary_is_bounded_without_a_known_limit(tmp_path: Path) -> None:
    """A model that repeats itself would otherwise fill the whole window, for nothing."""
    looping = {"text": "the gauge reads full, " * 4_000}
    scenario = script(LLAMACPP, window=16_000, max_output=16_000, summary=looping)
    async with scene(
        tmp_path, LLAMACPP, turns(26), scenario=scenario, window=16_000, strategy="hybrid"
    ) as (server, session):
        await session.compact()
        await session.wait()
        events = await session.history()
        assert (await session.context()).spend.all.output <= 2 * 3_200
    assert [one.rung for one in of_kind(events, CompactionRolledBack)][:1] == ["summary"]
    for exchange in generated(server):
        assert exchange.body is not None
        (most,) = outputs(exchange.body)
        assert most <= 0.2 * 16_000


def test_the_window_and_the_longest_answer_of_another_model_are_looked_up() -> None:
    settings = Settings(
        model="anthropic:claude-opus-4-6",
        summary_model="anthropic:claude-3-5-haiku-20241022",
        base_url="http://127.0.0.1:1",
    )
    rules = rules_of(settings)
    assert rules.own_model
    assert (rules.summary_window, rules.summary_output) == (200_000, 8_192)
    unknown = rules_of(
        Settings(model="anthropic:claude-opus-4-6", summary_model="ollama:x")
    )
    assert unknown.own_model and unknown.summary_window is None
    assert not rules_of(Settings(model="anthropic:claude-opus-4-6")).own_model
