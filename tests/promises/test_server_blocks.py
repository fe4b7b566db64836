"""What Anthropic signs goes back as it came: thinking and the block of its own compaction, while it clears results."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.integration.epochs import blocks_of
from tests.promises import stage
from ullage.events import CompactionCommitted
from ullage.messages import COMPACTION, Message, ProviderItem, ReasoningPart
from ullage_agent.runtime.agent import Agent
from ullage_simulators import Server, running
from ullage_simulators.server import Exchange

EDITS = [
    {"type": "clear_thinking_20251015", "keep": "all"},
    {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 2_000},
        "keep": {"type": "tool_uses", "value": 1},
    },
]
PAGE = "The keeper lit the lamp at dusk and wrote the hour into the book. " * 40
TURNS = 4
STEPS = 3


def read(page: int) -> str:
    """Read a page of the book.

    Args:
        page: Its number.
    """
    return f"Page {page}. {PAGE}"


def scenario() -> Any:
    """Turns of tool calls with thinking before each; a compaction is answered with a summary."""
    lines: list[dict[str, Any]] = [
        {"when": {"contains": "Summarize this"}, "text": "The lamp was lit at dusk."}
    ]
    for turn in range(TURNS):
        for page in range(STEPS):
            call = {"name": "read", "arguments": {"page": 10 * turn + page}}
            thought = f"Page {page} of turn {turn} may hold it."
            lines.append({"reasoning": thought, "calls": [call], "times": 1})
        lines.append(
            {"reasoning": "It is there.", "text": f"At dusk. {PAGE * 5}", "times": 1}
        )
    return stage.script(*lines)


def agent(server: Server, store: Path, speaker: stage.Speaker, stream: bool) -> Agent:
    params = {**speaker.params, "context_management": {"edits": EDITS}}
    chosen: dict[str, Any] = {
        "model": speaker.model,
        "params": params,
        "stream": stream,
        "strategy": ["server"],
        "count": "never",
    }
    return stage.agent_for(store, server=server, tools=[read], **chosen)


def sent(exchange: Exchange) -> list[str]:
    """The blocks of a request in order, each as its JSON; without the cache's moving marks."""
    return [json.dumps(block.content) for block in blocks_of("messages", exchange.body)]


def signatures(messages: list[Message]) -> list[str]:
    """The signatures of all thinking, in order."""
    found: list[str] = []
    for message in messages:
        for part in message.of_type(ReasoningPart):
            assert part.provider is not None
            found.append(json.loads(bytes(part.provider.data))["signature"])
    return found


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "speaker", [stage.CLAUDE, stage.BOUND_CLAUDE], ids=lambda each: each.name
)
async def test_signed_blocks_go_back_as_they_came_and_each_request_extends_the_last(
    speaker: stage.Speaker, stream: bool, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    with running(scenario(), seed=8) as server:
        async with agent(server, store, speaker, stream).session("s") as session:
            for turn in range(2):
                result = await session.ask(f"When was the lamp of turn {turn} lit?")
                assert result.reason == "finished", result
            await session.compact()
            await session.wait()
            result = await session.ask("When was the lamp of turn 2 lit?")
            assert result.reason == "finished", result
        # A process that only has the ledger sends the same.
        async with agent(server, store, speaker, stream).session("s") as session:
            result = await session.ask("When was the lamp of turn 3 lit?")
            assert result.reason == "finished", result
            events = list(await session.history())
            held = list(await session.messages())
            cleared = (await session.context()).notes
        calls = stage.generated(server)
    assert not [call.said for call in calls if call.rule]
    (commit,) = stage.of_kind(events, CompactionCommitted)
    assert commit.rung == "server"
    (place,) = [at for at, call in enumerate(calls) if "compaction" in call.body]
    for run in (calls[:place], calls[place + 1 :]):
        for before, after in pairwise(run):
            assert sent(after)[: len(sent(before))] == sent(before)
    last = calls[-1].body["messages"]
    (block,) = [each for each in last[0]["content"] if each["type"] == "compaction"]
    assert commit.summary is not None
    item = next(commit.summary.of_type(ProviderItem))
    assert item.kind == COMPACTION
    assert item.provider is not None
    assert json.dumps(block) == json.dumps(json.loads(bytes(item.provider.data)))
    thought = [
        each["signature"]
        for message in last
        for each in message["content"]
        if isinstance(each, dict) and each["type"] == "thinking"
    ]
    assert thought
    assert thought == signatures(held[:-1])
    assert "cleared" in " ".join(cleared)
