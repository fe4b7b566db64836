"""A stream as its user has it: text while it is written, and what leaving early does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import SIX, Speaker, agent_for, generated, script
from ullage import tool
from ullage.errors import CommandRefused, ProviderError, WrongType
from ullage.events import ToolEnded
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running
from ullage_simulators.server import Server

WIRES = pytest.mark.parametrize("speaker", SIX, ids=lambda speaker: speaker.name)
STORY = "Once there was a cask. " * 40
SLOW = {"answers": [{"text": STORY}], "server": {"delay_s": 0.02}}
ENDLESS = {**SLOW, "server": {"delay_s": 0.2}}


@tool
def level(cask: int) -> str:
    """How full a cask is."""
    return f"Cask {cask} is half full."


def agent_of(
    server: Server, place: Path, speaker: Speaker = SIX[0], **more: Any
) -> Agent:
    return agent_for(place / "s.db", server=server, **{**speaker.settings(), **more})


@WIRES
async def test_a_stream_is_the_text_of_the_answer_and_then_its_result(
    speaker: Speaker, tmp_path: Path
) -> None:
    with running(script({"reasoning": "Hm.", "text": STORY})) as server:
        async with agent_of(server, tmp_path, speaker).session() as session:
            stream = session.stream("Tell me a story.")
            texts = [text async for text in stream]
    assert "".join(texts) == STORY == stream.result.text
    assert len(texts) > 1
    assert stream.result.reason == "finished"


@WIRES
async def test_text_before_a_tool_call_comes_too_and_thinking_and_calls_do_not(
    speaker: Speaker, tmp_path: Path
) -> None:
    look = {"name": "level", "arguments": {"cask": 3}}
    scenario = script(
        {"reasoning": "I need it.", "text": "I look. ", "calls": [look], "times": 1},
        {"text": "It is half full."},
    )
    with running(scenario) as server:
        agent = agent_of(server, tmp_path, speaker, tools=[level])
        async with agent.session() as session:
            texts = [text async for text in session.stream("How full is cask 3?")]
            events = [event async for event in session.events(after=0, until_rest=True)]
    assert "".join(texts) == "I look. It is half full."
    assert any(isinstance(event, ToolEnded) for event in events)


async def test_an_answer_that_does_not_stream_is_given_whole(tmp_path: Path) -> None:
    with running(script({"text": STORY})) as server:
        agent = agent_of(server, tmp_path, stream=False)
        assert "".join([text async for text in agent.stream("Tell me.")]) == STORY


async def test_a_failed_turn_raises_its_error_from_the_loop(tmp_path: Path) -> None:
    faults = [{"kind": "status", "status": 400, "request": 0}]
    with running(script({"text": STORY}, faults=faults)) as server:
        stream = agent_of(server, tmp_path).stream("Tell me a story.")
        with pytest.raises(ProviderError):
            async for _ in stream:
                pass
        assert stream.result.reason == "failed"


async def test_a_message_that_can_t_be_sent_raises_at_once(tmp_path: Path) -> None:
    with running(script({"text": STORY})) as server:
        stream = agent_of(server, tmp_path).stream(3)  # type: ignore[call-overload]
        with pytest.raises(WrongType, match="Nothing was stored"):
            await anext(stream)
        with pytest.raises(CommandRefused, match="no result yet"):
            _ = stream.result


async def test_leaving_the_loop_leaves_the_turn_running(tmp_path: Path) -> None:
    with running(script({"text": STORY})) as server:
        async with agent_of(server, tmp_path).session() as session:
            async for text in session.stream("Tell me a story."):
                assert text
                break
            result = await session.wait()
    assert (result.text, result.reason) == (STORY, "finished")


async def test_leaving_the_block_around_a_stream_cancels_the_turn_and_keeps_what_was_written(
    tmp_path: Path,
) -> None:
    with running(script(**ENDLESS)) as server:
        async with agent_of(server, tmp_path).session() as session:
            async with session.stream("Tell me a story.") as stream:
                first = await anext(stream)
            assert stream.result.reason == "cancelled"
            assert stream.result.text.startswith(first)
            assert len(stream.result.text) < len(STORY)


async def test_a_cancelled_reader_leaves_the_turn_running(tmp_path: Path) -> None:
    with running(script(**SLOW)) as server:
        async with agent_of(server, tmp_path).session() as session:
            stream = session.stream("Tell me a story.")
            await anext(stream)
            reader = asyncio.ensure_future(read_all(stream))
            await asyncio.sleep(0)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
            result = await session.wait()
    assert (result.text, result.reason) == (STORY, "finished")


async def read_all(stream: Any) -> str:
    return "".join([text async for text in stream])


@pytest.mark.parametrize("how", ["break", "aclose", "cancel"])
async def test_leaving_a_stream_cancels_the_turn(how: str, tmp_path: Path) -> None:
    with running(script(**ENDLESS)) as server:
        agent = agent_of(server, tmp_path)
        stream = agent.stream("Tell me a story.", session="cellar")
        if how == "cancel":
            await anext(stream)
            reader = asyncio.ensure_future(read_all(stream))
            await asyncio.sleep(0.05)
            reader.cancel()
            await asyncio.wait([reader])
            assert reader.cancelled()
        else:
            async for _ in stream:
                break
            if how == "aclose":
                await stream.aclose()
        del stream
        await until_closed(agent)
        async with agent.session("cellar", resume=False) as session:
            result = await session.wait(check=False)
            assert not await session._is_interrupted()
    assert result.reason == "cancelled"
    assert 0 < len(result.text) < len(STORY)


async def until_closed(agent: Agent) -> None:
    async with asyncio.timeout(60):
        while agent._open:
            await asyncio.sleep(0.01)


async def test_a_message_to_a_running_turn_streams_later_answers(tmp_path: Path) -> None:
    scenario = script(
        {"text": "Second.", "when": {"contains": "and then"}},
        {"text": STORY},
        server={"delay_s": 0.005},
    )
    with running(scenario) as server:
        async with agent_of(server, tmp_path).session() as session:
            first = session.stream("Tell me a story.")
            await anext(first)
            texts = [text async for text in session.stream("and then")]
    assert "".join(texts) == "Second."


async def test_an_answer_that_broke_off_stays_given_and_the_result_is_the_repeated_one(
    tmp_path: Path,
) -> None:
    faults = [{"kind": "cut", "at": 2_000, "request": 1}]
    with running(script({"text": STORY}, faults=faults)) as server:
        async with agent_of(server, tmp_path).session() as session:
            stream = session.stream("Tell me a story.")
            text = "".join([text async for text in stream])
        assert len(generated(server)) == 2
    assert text.endswith(STORY)
    assert stream.result.text == STORY
