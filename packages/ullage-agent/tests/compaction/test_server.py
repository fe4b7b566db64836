"""Compaction by the provider, end to end on both wires that offer it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    OLD_ANTHROPIC,
    RESPONSES,
    SUMMARY,
    Dialect,
    agent_on,
    conversing,
    exported,
    generated,
    heard,
    imported,
    is_summary_call,
    of_kind,
    refused,
    said,
    script,
    turns,
)
from tests.context.sessions import words
from ullage.events import CallStarted, CompactionCommitted, CompactionRolledBack, Event
from ullage.messages import Message, ProviderItem
from ullage_agent.runtime.agent import Agent
from ullage_simulators import Server, running
from ullage_simulators.server import Exchange

WINDOW = 64_000
OFFERED = [ANTHROPIC, RESPONSES]
ASKED = "Summarize this conversation."
"""What the simulators ask a script for a compaction with."""
RULE = "Never move a cask."


def told(dialect: Dialect, summary: dict[str, Any] | None = None, **more: Any) -> Any:
    """A scenario whose compactions are ``SUMMARY``."""
    given = {"text": SUMMARY} if summary is None else summary
    line = {"when": {"contains": ASKED}, **given}
    long = {"when": {"contains": "Tell me of"}, "text": words(1_500, 1)}
    return script(dialect, line, long, window=WINDOW, max_output=16_000, **more)


def history() -> list[Message]:
    """Long enough to be compacted, with a rule of the user's."""
    return [said("rule", RULE), *turns(26, size=400)]


def agent(server: Server, store: Path, dialect: Dialect, **more: Any) -> Agent:
    chosen = {"strategy": ["server", "hybrid"], "window": WINDOW, **more}
    return agent_on(server, store, dialect, **chosen)


def committed(events: list[Event]) -> CompactionCommitted:
    (event,) = of_kind(events, CompactionCommitted)
    return event


@pytest.mark.parametrize("dialect", OFFERED, ids=lambda each: each.name)
async def test_the_providers_compaction_takes_the_place_of_what_leaves(
    dialect: Dialect, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    before = history()
    await imported(store, before)
    with running(told(dialect), seed=5) as server:
        async with conversing(agent(server, store, dialect)) as session:
            for text in ("How are they now?", "And now?"):
                await session.send(text)
                await session.wait()
                if not of_kind(await session.history(), CompactionCommitted):
                    await session.compact()
                    await session.wait()
            events = list(await session.history())
            event = committed(events)
            reading = await session.context()
            bills = server.truth().bills
            assert (await session.explain("a0")).status == "summarised"
            await session.uncompact(event.compaction)
            restored = list(await session.messages())
            assert restored[: len(before)] == before
            assert await exported(session) == restored
        assert not refused(server)
        calls = generated(server)
    assert event.rung == "server"
    assert event.summary is not None
    item = next(part for part in event.summary.parts if isinstance(part, ProviderItem))
    assert item.provider is not None
    assert not any(is_summary_call(call) for call in calls)
    first, asked, *later = calls
    assert first.bill is not None
    assert asked.bill is not None
    for call in later:
        sent = heard(call)
        assert RULE in sent, "a rule of the user's stays in the provider's sight"
        assert words(400, 10_003) not in sent, "what left is not sent"
    assert bills[2].input < 0.5 * first.bill.input
    estimated = _estimates(events)[0]
    assert estimated.low <= bills[2].input <= estimated.high
    assert reading.used.low <= reading.used.tokens


def is_compaction_call(exchange: Exchange) -> bool:
    """Whether a request asked the provider to compact."""
    body = exchange.body or {}
    return "compaction" in body or exchange.path.endswith("/compact")


def _estimates(events: list[Event]) -> list[Any]:
    """The estimates of the calls after the compaction."""
    kinds = [type(event) for event in events]
    after = events[kinds.index(CompactionCommitted) :]
    return [event.estimate for event in of_kind(after, CallStarted)]


async def compacted_twice(
    tmp_path: Path, dialect: Dialect, scenario: Any, **more: Any
) -> tuple[list[Event], list[Exchange]]:
    """A session with a compaction that was asked for, then more of it, and another; its events and the calls."""
    store = tmp_path / "s.db"
    await imported(store, history())
    with running(scenario, seed=5) as server:
        async with conversing(agent(server, store, dialect, **more)) as session:
            await session.send("How are they now?")
            await session.wait()
            await session.compact(more.get("wish", ""))
            await session.wait()
            for at in range(3):
                await session.send(f"Tell me of cask {at}.")
                await session.wait()
            await session.compact()
            await session.wait()
            await session.send("And now?")
            result = await session.wait()
            assert result.reason == "finished", result.note
            events = list(await session.history())
        return events, generated(server)


@pytest.mark.parametrize("dialect", OFFERED, ids=lambda each: each.name)
async def test_a_second_compaction_takes_the_first_ones_place(
    dialect: Dialect, tmp_path: Path
) -> None:
    events, calls = await compacted_twice(tmp_path, dialect, told(dialect))
    assert [each.rung for each in of_kind(events, CompactionCommitted)] == ["server"] * 2
    assert not [call.rule for call in calls if call.rule]
    assert heard(calls[-1]).count('"type": "compaction"') == 1


REFUSING = [OLD_ANTHROPIC, CHAT, GEMINI]


@pytest.mark.parametrize("dialect", REFUSING, ids=lambda each: each.name)
async def test_an_endpoint_without_it_is_asked_once_at_most_and_the_next_strategy_follows(
    dialect: Dialect, tmp_path: Path
) -> None:
    events, calls = await compacted_twice(tmp_path, dialect, told(dialect))
    rungs = [each.rung for each in of_kind(events, CompactionCommitted)]
    assert rungs == ["summary", "summary"]
    rolled = of_kind(events, CompactionRolledBack)
    reasons = [each.reason for each in rolled if each.rung == "server"]
    asked = [call for call in calls if is_compaction_call(call)]
    if dialect is OLD_ANTHROPIC:
        assert [call.rule for call in asked] == ["compaction_unsupported"]
        assert reasons == ["not_offered", "not_offered"]
    else:
        assert not asked
        assert reasons == ["not_offered", "not_offered"]


NO_SUMMARY = [
    ({"calls": [{"name": "look"}]}, "tool_call"),
    ({"text": "No.", "stop": "refusal"}, "refused"),
    ({"text": "", "calls": []}, "empty"),
]


@pytest.mark.parametrize(("answer", "reason"), NO_SUMMARY)
async def test_where_the_provider_wrote_no_summary_the_next_strategy_follows(
    answer: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    scenario = told(ANTHROPIC, summary=answer)
    events, _ = await compacted_twice(tmp_path, ANTHROPIC, scenario)
    rolled = of_kind(events, CompactionRolledBack)
    first = next(each for each in rolled if each.rung == "server")
    assert first.reason == reason
    rungs = [each.rung for each in of_kind(events, CompactionCommitted)]
    assert rungs == ["summary", "summary"]


@pytest.mark.parametrize("dialect", OFFERED, ids=lambda each: each.name)
async def test_wishes_of_the_user_go_to_anthropic_and_keep_openais_from_being_asked(
    dialect: Dialect, tmp_path: Path
) -> None:
    wish = "Keep the numbers of the casks."
    store = tmp_path / "s.db"
    await imported(store, history())
    line = {"when": {"contains": wish}, "text": SUMMARY}
    scenario = script(dialect, line, window=WINDOW, max_output=16_000)
    with running(scenario, seed=5) as server:
        async with conversing(agent(server, store, dialect)) as session:
            await session.compact(wish)
            await session.wait()
            event = committed(list(await session.history()))
        asked = [call for call in generated(server) if is_compaction_call(call)]
    if dialect is ANTHROPIC:
        assert event.rung == "server"
        assert wish in asked[0].body["compaction"]["instructions"]
    else:
        assert event.rung == "summary"
        assert not asked


MOVES = [
    (ANTHROPIC, OLD_ANTHROPIC),
    (ANTHROPIC, RESPONSES),
    (RESPONSES, ANTHROPIC),
    (RESPONSES, GEMINI),
    (ANTHROPIC, CHAT),
]


@pytest.mark.parametrize(("there", "then"), MOVES, ids=lambda each: each.name)
async def test_another_model_gets_the_text_that_stands_for_a_compaction(
    there: Dialect, then: Dialect, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    await imported(store, history())
    with running(told(there), seed=5) as server:
        async with conversing(agent(server, store, there)) as session:
            await session.compact()
            await session.wait()
            event = committed(list(await session.history()))
    assert event.rung == "server"
    other = then.model(WINDOW, 16_000, "other")
    with running(told(then, models=[other]), seed=6) as server:
        name = f"{then.provider}:other"
        async with conversing(agent(server, store, then, model=name)) as session:
            await session.send("And now?")
            result = await session.wait()
            assert result.reason == "finished", result.note
            estimate = of_kind(await session.history(), CallStarted)[-1].estimate
        (call,) = generated(server)
        (bill,) = server.truth().bills
    assert not call.rule, call.said
    sent = heard(call)
    assert "Previous context summary" in sent
    assert '"compaction"' not in sent
    assert RULE in sent
    if there is ANTHROPIC:
        assert "To look at the casks one after the other." in sent
    assert estimate is not None
    assert bill.input <= estimate.high
