"""The setting ``strategy`` in a live session: what is chosen is what runs, and a failure is named as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    generated,
    is_summary_call,
    of_kind,
    scene,
    script,
    turns,
)
from tests.compaction.test_own_strategies import Own
from ullage.context.choice import NOOP
from ullage.errors import CommandRefused, ContextUnfixable, SettingError
from ullage.events import CompactionCommitted, CompactionStarted, Pruned

WINDOW = 48_000
OVER_POINT = 85
OVER_WINDOW = 120


async def test_a_refused_summary_with_nothing_behind_it_ends_the_turn_with_that_reason(
    tmp_path: Path,
) -> None:
    async with scene(
        tmp_path,
        ANTHROPIC,
        turns(OVER_WINDOW),
        scenario=script(ANTHROPIC, window=WINDOW, summary={"text": ""}),
        window=WINDOW,
        strategy="llm",
    ) as (server, session):
        result = await session.ask("And cask 7?", check=False)
    assert result.reason == "too_large" and isinstance(result.error, ContextUnfixable)
    assert "must stay" not in result.note and "pieces (" in result.note
    assert all(map(is_summary_call, generated(server)))


async def test_noop_compacts_nothing_and_says_so_at_the_limit(tmp_path: Path) -> None:
    """Past the usual point it goes on; over the limit the turn ends, and the reading has no compaction threshold."""
    async with scene(
        tmp_path, ANTHROPIC, turns(OVER_POINT), window=WINDOW, strategy="noop"
    ) as (_, session):
        assert (await session.ask("And cask 7?")).reason == "finished"
        assert (await session.context()).compaction_point is None
        with pytest.raises(CommandRefused, match="strategy` is noop"):
            await session.compact()
        long = "The cask stands where it stood. " * 4_000
        result = await session.ask(long, check=False)
        assert result.reason == "too_large" and result.note.endswith(NOOP)
        events = await session.history()
    assert not of_kind(events, CompactionStarted) and not of_kind(events, Pruned)


async def test_a_session_chooses_for_itself_while_it_runs(tmp_path: Path) -> None:
    async with scene(tmp_path, ANTHROPIC, turns(40), window=WINDOW) as (_, session):
        await session.set(strategy=["drop"])
        await session.compact()
        await session.wait()
        (committed,) = of_kind(await session.history(), CompactionCommitted)
        assert committed.rung == "drop"
        with pytest.raises(SettingError, match="did you mean 'prune'"):
            await session.set(strategy="prnue")
        with pytest.raises(SettingError, match=r"give it to Agent"):
            await session.set(strategy=(Own(lambda _: None), "hybrid"))
        await session.set(strategy=None)
        await session.compact()
        await session.wait()
        _, again = of_kind(await session.history(), CompactionCommitted)
        assert again.rung in ("summary", "pieces")
