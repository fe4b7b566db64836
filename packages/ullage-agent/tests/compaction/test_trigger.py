"""When a compaction begins: at the first boundary where it has to, on the number that every display was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    KEYS,
    RESPONSES,
    SESSION,
    VLLM,
    generated,
    is_summary_call,
    of_kind,
    refused,
    scene,
    script,
)
from tests.context.sessions import words
from ullage.errors import Overflow
from ullage.events import CallStarted, CompactionStarted, Event, Pruned, ReadingTaken
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running

WINDOW = 16_000


def look(at: int) -> str:
    """Look at a cask.

    Args:
        at: Its number.
    """
    return words(500, at)


LINES: tuple[dict[str, Any], ...] = (
    {
        "when": {"after": "user", "contains": "look"},
        "calls": [{"name": "look", "arguments": {"at": 5}}],
    },
    {"text": f"It is whole. {words(80, 9)}"},
)


def assert_fired_in_time(events: Sequence[Event], point: int) -> int:
    """Before each main call the reading was below the point, or it fired, and only then; gives how often."""
    taken: ReadingTaken | None = None
    fired = 0
    is_done = False
    for event in events:
        match event:
            case ReadingTaken():
                taken = event
            case CompactionStarted(trigger="point") | Pruned():
                assert taken is not None
                assert taken.used.high >= point == taken.compaction_point, (
                    "it fired below the point"
                )
                if isinstance(event, CompactionStarted):
                    assert (event.snapshot, event.high) == (
                        taken.snapshot,
                        taken.used.high,
                    )
                fired, is_done = fired + 1, True
            case CallStarted(purpose="main"):
                assert event.estimate is not None
                assert event.estimate.high < point or is_done, "it was skipped"
                assert taken is not None and event.snapshot == taken.snapshot
                is_done = False
            case _:
                pass
    return fired


@pytest.mark.parametrize(
    ("settings", "point"),
    [
        ({}, 12_800),
        ({"trigger": 0.5}, 8_000),
        ({"trigger": 9_000}, 9_000),
        ({"models": {"small": {"trigger": 0.6}}}, 9_600),
        ({"trigger": 1.0}, 14_000),
    ],
    ids=["default", "share", "tokens", "model", "input limit"],
)
async def test_it_fires_at_the_first_boundary_at_or_above_the_point_on_the_reading_that_was_shown(
    settings: dict[str, Any], point: int, tmp_path: Path
) -> None:
    async with scene(
        tmp_path,
        ANTHROPIC,
        scenario=script(ANTHROPIC, *LINES, window=WINDOW),
        window=WINDOW,
        tools=[look],
        **settings,
    ) as (server, session):
        for number in range(50):
            await session.send(
                f"No. {number:03}: {'look' if number % 2 else ''} {words(100, number)}"
            )
            assert (await session.wait()).reason == "finished"
        events = await session.history()
    assert not refused(server)
    assert assert_fired_in_time(events, point) >= 2


async def test_a_session_may_set_its_own_trigger_and_the_next_reading_shows_it(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, RESPONSES, window=WINDOW) as (_, session):
        for number in range(10):
            await session.ask(f"No. {number:03}: {words(350, number)}")
        assert not of_kind(await session.history(), CompactionStarted)
        await session.set(trigger=3_000)
        reading = (await session.ask("And now?")).reading
        assert reading.compaction_point == 3_000
        assert of_kind(await session.history(), CompactionStarted)


async def test_without_auto_nothing_is_ever_compacted_and_an_overflow_is_a_typed_error(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ANTHROPIC, window=WINDOW, auto=False) as (server, session):
        reason = ""
        for number in range(60):
            await session.send(f"No. {number:03}: {words(350, number)}")
            result = await session.wait(check=False)
            if (reason := result.reason) != "finished":
                break
        assert reason == "too_large"
        assert isinstance(result.error, Overflow)
        assert not [
            each
            for each in await session.history()
            if isinstance(each, CompactionStarted | Pruned)
        ]
    assert not any(is_summary_call(one) for one in generated(server))


@pytest.mark.parametrize("included", [False, True])
async def test_seed_004_raw_160k_effective_100k_limit_150k(
    included: bool, tmp_path: Path
) -> None:
    """A tenth of its size: reasoning that is not sent back is not counted, and nothing fires; sent back, it does."""
    answer = {"reasoning": words(450, 3), "text": f"It is whole. {words(450, 4)}"}
    limit = 15_000
    models = [VLLM.model(20_000, 4_000, "glm-4.7")]
    with running(script(VLLM, answer, models=models)) as server:
        agent = Agent(
            f"{VLLM.provider}:glm-4.7", base_url=server.url("vllm"), store=tmp_path / "s.db", environment=KEYS,
            config=False, window=20_000, reserve=5_000, trigger=limit, reasoning="all" if included else "none",
        )  # fmt: skip
        async with agent.session(SESSION) as session:
            raw, fired = 0, list[CompactionStarted]()
            while raw < 1.06 * limit and not fired:
                reading = (await session.ask(f"And the next? {words(200, raw)}")).reading
                spent = server.truth().bills
                unsent = 0 if included else sum(bill.reasoning for bill in spent[:-1])
                raw = spent[-1].input + spent[-1].output + unsent
                fired = of_kind(await session.history(), CompactionStarted)
            effective = (await session.ask("And the last?")).reading.used.tokens
            assert reading.input_limit == reading.compaction_point == limit
            fired = of_kind(await session.history(), CompactionStarted)
        assert not refused(server)
        if included:
            assert fired and fired[0].high is not None and fired[0].high >= limit
        else:
            assert not fired
            assert effective < 0.75 * limit < limit < raw
