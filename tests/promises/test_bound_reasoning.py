"""A session survives whatever binds its reasoning: a refusal mends itself, and what was dropped is not sent again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import of_kind
from tests.wire.local_server import Asked, LocalServer, Reply, problem, serving
from ullage.errors import WrongConversation
from ullage.events import ReasoningRefused
from ullage_agent.runtime.agent import Agent

REFUSED = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def thinking_in(body: Any) -> int:
    """How many thinking blocks a request carries."""
    found = 0
    for message in body["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else ():
            found += block["type"] == "thinking"
    return found


def answered(**more: object) -> Reply:
    """An answer with thinking."""
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Full."},
    ]
    usage = {"input_tokens": 40, "output_tokens": 20}
    answer = {"type": "message", "content": content, "stop_reason": "end_turn"}
    return Reply([json.dumps({**answer, "usage": usage, **more}).encode()])


def refusing(asked: Asked) -> Reply:
    """A server that takes no thinking."""
    return problem(400, REFUSED) if thinking_in(asked.json) else answered()


def dropping(asked: Asked) -> Reply:
    """A server that drops all thinking, and says so."""
    dropped = {"type": "thinking_dropped", "reason": "prefix_binding_mismatch"}
    return answered(input_transformations=[dropped] * thinking_in(asked.json))


def asked_of(server: LocalServer) -> list[Asked]:
    """The requests for an answer."""
    return [asked for asked in server.asked if asked.path == "/v1/messages"]


def agent_at(
    server: LocalServer, place: Path, model: str, *, learns: bool = False
) -> Agent:
    return Agent(
        f"anthropic:{model}",
        base_url=server.url.removesuffix("/v1"),
        environment={"ANTHROPIC_API_KEY": "k", "ULLAGE_DATA": str(place)},
        store=place / "s.db",
        stream=False,
        config=False,
        count="never",
        learns=learns,
    )


@pytest.mark.parametrize("model", ["claude-fable-5-2", "claude-opus-7"])
async def test_a_refusal_is_answered_by_leaving_the_reasoning_out(
    tmp_path: Path, model: str
) -> None:
    async with serving(problem(404)) as server:
        server.at["/v1/messages"] = refusing
        agent = agent_at(server, tmp_path, model)
        async with agent.session("s") as session:
            for text in ("How full?", "And now?", "Sure?"):
                assert (await session.ask(text)).reason == "finished"
            events = [event async for event in session.events(after=0, until_rest=True)]
    sent = [thinking_in(asked.json) for asked in asked_of(server)]
    refused = of_kind(events, ReasoningRefused)
    assert sent == [0, 1, 0, 1, 0], "each answer is refused once, and never sent again"
    assert [event.model for event in refused] == [model, model]


async def test_a_model_that_has_refused_is_known_to_bind_in_later_sessions(
    tmp_path: Path,
) -> None:
    async with serving(problem(404)) as server:
        server.at["/v1/messages"] = refusing
        agent = agent_at(server, tmp_path, "claude-opus-7", learns=True)
        async with agent.session("first") as session:
            await session.ask("How full?")
            assert not (await session._meter())._fold.refuses_changes
            await session.ask("And now?")
        async with agent.session("later") as session:
            await session.ask("How full?")
            assert (await session._meter())._fold.refuses_changes


async def test_a_refusal_of_a_request_without_reasoning_ends_the_turn_and_names_the_way_out(
    tmp_path: Path,
) -> None:
    async with serving(problem(400, REFUSED)) as server:
        async with agent_at(server, tmp_path, "claude-fable-5-2").session("s") as session:
            with pytest.raises(WrongConversation, match="reasoning = 'none'"):
                await session.ask("How full?")
        assert len(asked_of(server)) == 1


async def test_what_the_provider_dropped_is_not_sent_again(tmp_path: Path) -> None:
    async with serving(problem(404)) as server:
        server.at["/v1/messages"] = dropping
        async with agent_at(server, tmp_path, "claude-fable-5-2").session("s") as session:
            for text in ("How full?", "And now?", "Sure?"):
                assert (await session.ask(text)).reason == "finished"
    assert [thinking_in(each.json) for each in asked_of(server)] == [0, 1, 1]
