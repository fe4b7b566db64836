"""The calls for summaries of a caller's own loop, by the caller's function or by a client of ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ullage_simulators import Server, running

from tests.runtime.own_loop import (
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
from ullage import Compactor
from ullage.compaction import STRATEGIES
from ullage.events import CallEnded, CompactionCommitted, Event

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
def test_a_summary_reads_what_was_sent_before_from_the_providers_cache(
    wire: LoopWire, is_by_us: bool
) -> None:
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
