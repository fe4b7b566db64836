"""The calls for summaries of a caller's own loop, by the caller's function or by a client of ours."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any, TypeGuard

import pytest

from tests.compactor.own_loop import (
    ASKS,
    BY_NAME,
    CHAT,
    MESSAGES,
    RESPONSES,
    WIRES,
    LoopWire,
    OwnLoop,
    scenario,
    turns,
)
from tests.context.sessions import words
from ullage import Compactor
from ullage.compaction import STRATEGIES
from ullage.errors import SettingError
from ullage.events import CallEnded, CompactionCommitted, Event
from ullage_simulators import Server, running

ASKING = [strategy for strategy in STRATEGIES if strategy.name != "clear"]
KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
MARK = {"cache_control": {"type": "ephemeral"}}


class FormedLoop(OwnLoop):
    """Its items are written as people write them, and not as Ullage does; on Messages the newest has a cache mark."""

    def body(self) -> dict[str, Any]:
        body = super().body()
        if self.wire is RESPONSES:
            body["input"] = [self._formed(item) for item in body["input"]]
        elif self.wire in (CHAT, MESSAGES):
            items = [self._formed(item) for item in body["messages"]]
            if self.wire is MESSAGES:
                items[-1]["content"][-1] |= MARK
            body["messages"] = items
        return body

    def _formed(self, item: dict[str, Any]) -> dict[str, Any]:
        """The item with its text in a block."""
        content = item.get("content")
        if item.get("role") not in ("user", "assistant") or not content:
            return dict(item)
        kind = "input_text" if self.wire is RESPONSES else "text"
        if isinstance(content, str):
            return {**item, "content": [{"type": kind, "text": content}]}
        return {**item, "content": [dict(block) for block in content]}


def by_us(loop: OwnLoop, server: Server, model: str = "small", **more: Any) -> Compactor:
    """A Compactor that asks for summaries itself."""
    return Compactor(
        f"{loop.wire.provider}:{model}",
        base_url=server.url(loop.wire.serves),
        wire=loop.wire.name,
        window=loop.window,
        environment=KEYS,
        **more,
    )


@pytest.mark.parametrize("is_by_us", [True, False], ids=["by us", "by the caller"])
@pytest.mark.parametrize("wire", WIRES, ids=BY_NAME)
def test_a_summary_reads_the_providers_cache(wire: LoopWire, is_by_us: bool) -> None:
    """Of 7,031 to 7,435 tokens 6,656 to 7,141 are read from the cache. Written anew, Responses and Gemini read none."""
    asked: list[CallEnded] = []

    def note(event: Event) -> None:
        if isinstance(event, CallEnded) and event.purpose == "summary":
            asked.append(event)

    with running(scenario(wire), seed=4) as server:
        loop = FormedLoop(wire, server.url(wire.serves))
        settings: dict[str, Any] = {"strategies": ASKING, "on_event": note}
        made = by_us(loop, server, **settings) if is_by_us else loop.compactor(**settings)
        with made as compactor:
            turns(loop, compactor, 20)
            assert compactor.compactions > 0
    assert [event.outcome for event in asked] == ["finished"]
    used = asked[0].usage
    assert used is not None
    assert used.input is not None
    assert used.cache_read is not None
    assert used.cache_read > used.input * 0.9


def test_a_model_for_summaries_is_named_without_its_provider() -> None:
    bodies: list[dict[str, Any]] = []
    with running(scenario(CHAT), seed=4) as server:
        loop = FormedLoop(CHAT, server.url("openai"))

        def send(body: dict[str, Any]) -> dict[str, Any]:
            bodies.append(body)
            return loop.post({**body, "model": "small"})

        with loop.compactor(
            send, summary_model="openai:gpt-4.1-mini", strategies=ASKING
        ) as compactor:
            turns(loop, compactor, 20)
    assert bodies
    assert {body["model"] for body in bodies} == {"gpt-4.1-mini"}


def test_a_conversation_that_goes_over_to_another_model_is_summarised_by_that() -> None:
    with running(scenario(CHAT), seed=4) as server:
        loop = FormedLoop(CHAT, server.url("openai"))
        with by_us(loop, server, model="gpt-4.1", strategies=ASKING) as compactor:
            turns(loop, compactor, 20)
        asked = [one.body for one in server.exchanges if ASKS in json.dumps(one.body)]
    assert asked
    assert {body["model"] for body in asked} == {"small"}


class Hanging:
    """A function that hangs until ``go_on``, the first time that it is called."""

    def __init__(self, send: Callable[[dict[str, Any]], Any]) -> None:
        self.send = send
        self.calls = 0
        self.go_on = threading.Event()

    def in_a_thread(self, body: dict[str, Any]) -> Any:
        self.calls += 1
        if self.calls == 1:
            self.go_on.wait(600)
        return self.send(body)

    async def in_the_loop(self, body: dict[str, Any]) -> Any:
        self.calls += 1
        if self.calls == 1:
            await asyncio.Event().wait()
        return await asyncio.to_thread(self.send, body)


@pytest.mark.parametrize("way", ["in_a_thread", "in_the_loop"])
def test_a_summariser_that_hangs_is_given_up_and_the_next_one_is_used(way: str) -> None:
    ended: list[Event] = []
    with running(scenario(CHAT), seed=4) as server:
        loop = FormedLoop(CHAT, server.url("openai"))
        hanging = Hanging(loop.post)
        with loop.compactor(
            getattr(hanging, way),
            strategies=ASKING,
            summary_timeout_s=0.05,
            on_event=ended.append,
        ) as compactor:
            while not hanging.calls:
                turns(loop, compactor, 1)
            given_up = [each for each in ended if _is_given_up(each)]
            compactor._summary_timeout_s = 600
            turns(loop, compactor, 20)
            committed = [e for e in ended if isinstance(e, CompactionCommitted)]
            hanging.go_on.set()
        statuses = [each.status for each in server.exchanges]
    assert len(given_up) == 1, "no model is asked again for the same body"
    assert "no answer within 0.05 s" in given_up[0].error
    assert hanging.calls > 1
    assert [event.rung for event in committed][-1] == "summary"
    assert set(statuses) == {200}


def _is_given_up(event: Event) -> TypeGuard[CallEnded]:
    return isinstance(event, CallEnded) and event.error_kind == "SummaryTimeout"


async def test_a_summariser_that_hangs_is_given_up_in_an_event_loop_too() -> None:
    with running(scenario(CHAT), seed=4) as server:
        loop = FormedLoop(CHAT, server.url("openai"))
        events: list[Event] = []
        hanging = Hanging(loop.post)
        async with loop.compactor(
            hanging.in_the_loop,
            strategies=ASKING,
            summary_timeout_s=0.05,
            on_event=events.append,
        ) as compactor:
            while not hanging.calls:
                loop.say(words(300, len(loop.items)))
                fitted = await compactor.fit(loop.body())
                answer = await asyncio.to_thread(loop.post, fitted.body)
                compactor.after(loop.usage(answer), answer)
                loop.take(answer)
    assert [each for each in events if _is_given_up(each)]


@pytest.mark.parametrize("given", [0, -1, "5", True, float("nan")], ids=str)
def test_a_time_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(SettingError, match="summary_timeout_s"):
        Compactor(window=9_000, summary_timeout_s=given)


def test_a_history_with_a_lost_call_is_summarised_in_one_call() -> None:
    """The call is mended in what is sent. It kept the whole history from being shown once, and pieces cost more."""
    ended: list[Event] = []
    with running(scenario(CHAT), seed=4) as server:
        loop = FormedLoop(CHAT, server.url("openai"))
        function = {"name": "look", "arguments": "{}"}
        call = {"id": "call_lost", "type": "function", "function": function}
        with loop.compactor(strategies=ASKING, on_event=ended.append) as compactor:
            turns(loop, compactor, 3)
            loop.items.append({"role": "user", "content": "Open the valve."})
            lost = {"role": "assistant", "content": None, "tool_calls": [call]}
            loop.items.append(lost)
            turns(loop, compactor, 17)
    committed = [event for event in ended if isinstance(event, CompactionCommitted)]
    assert [event.rung for event in committed] == ["summary"]
