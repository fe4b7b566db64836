"""Tools that load on demand, and messages of the system for one turn."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulators.asking import Ask, Body, Talk
from ullage_simulators import running

MODEL = "claude-opus-5"
BETAS: dict[str, str | None] = {
    "anthropic-beta": "inline-tools-2026-09-15,mid-conversation-system-clear-at-2026-08-21"
}
LOOK: Body = {"name": "look_up", "description": "far " * 300, "input_schema": {}}
HAND: Body = {"name": "hand", "input_schema": {}}
DEFERRED: Body = {**LOOK, "defer_loading": True}
NUDGE: Body = {"role": "system", "content": "Be kind. " * 50}
ONCE: Body = {**NUDGE, "clear_at": "next_user_message"}
ASKED: Body = {"role": "user", "content": "please look_up the cask"}
ANSWER: Body = {"role": "assistant", "content": "It is full."}


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running(seed=2) as server:
        yield Talk(server)


def answer(talk: Talk, *messages: Body, **more: Any) -> Any:
    body = {"model": MODEL, "max_tokens": 900, "messages": list(messages), **more}
    return talk.ok("anthropic", Ask("/v1/messages", body, BETAS))


def change(kind: str, **tool: Any) -> Body:
    given = tool or {"type": "tool_reference", "name": "look_up"}
    return {"role": "system", "content": [{"type": kind, "tool": given}]}


def is_called(given: Any) -> bool:
    return any(block["type"] == "tool_use" for block in given["content"])


def test_a_deferred_tool_is_called_once_a_block_has_named_it(talk: Talk) -> None:
    tools = [HAND, DEFERRED]
    assert not is_called(answer(talk, ASKED, tools=tools))
    assert is_called(answer(talk, ASKED, change("tool_addition"), tools=tools))


def test_a_tool_that_was_taken_out_is_not_called(talk: Talk) -> None:
    taken = change("tool_removal")
    assert is_called(answer(talk, ASKED, tools=[LOOK]))
    assert not is_called(answer(talk, ASKED, taken, tools=[LOOK]))
    again = change("tool_addition")
    assert is_called(answer(talk, ASKED, taken, ANSWER, ASKED, again, tools=[LOOK]))


def test_a_tool_may_be_defined_where_it_is_added(talk: Talk) -> None:
    """It costs what it costs among the tools, without what stands around it."""
    inline = change("tool_addition", type="tool_definition", definition=LOOK)
    given = answer(talk, ASKED, inline, tools=[HAND])
    assert is_called(given)
    without = answer(talk, ASKED, change("tool_removal"), tools=[HAND, DEFERRED])
    cost = given["usage"]["input_tokens"] - without["usage"]["input_tokens"]
    assert 300 < cost < 700


def test_without_the_header_a_change_of_tools_is_of_an_unknown_kind(talk: Talk) -> None:
    body = {"model": MODEL, "max_tokens": 900, "tools": [LOOK]}
    body["messages"] = [ASKED, change("tool_removal")]
    assert talk.status("anthropic", Ask("/v1/messages", body)) == 400
    assert talk.server.exchanges[-1].rule == "block_unknown"


def test_a_system_message_for_one_turn_costs_nothing_after_it(talk: Talk) -> None:
    def size(*messages: Body) -> int:
        return int(answer(talk, *messages)["usage"]["input_tokens"])

    assert size(ASKED, ONCE) == size(ASKED, NUDGE)
    assert size(ASKED, ONCE, ANSWER, ASKED) == size(ASKED, ANSWER, ASKED)
    assert size(ASKED, NUDGE, ANSWER, ASKED) > size(ASKED, ANSWER, ASKED) + 50
