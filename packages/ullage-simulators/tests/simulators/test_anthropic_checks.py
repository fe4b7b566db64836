"""What the checks of the Anthropic simulator let through: the requests of current clients."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types.beta import BetaContentBlockParam
from anthropic.types.beta.message_create_params import MessageCreateParamsBase

from tests.simulators.asking import WEATHER, Ask, Body, Talk
from ullage_simulators import read, running
from ullage_simulators.anthropic.checks import BLOCKS, FIELDS
from ullage_simulators.anthropic.compaction import KIND
from ullage_simulators.anthropic.tools import CHANGES

NEWEST = "claude-opus-5-5"
OLD = "claude-sonnet-4-5"
HEADERS: dict[str, str | None] = {"anthropic-beta": "context-management-2025-06-27"}
TOOL: Body = {"name": "get_weather", "input_schema": WEATHER}
EFFORT: Body = {"role": "system", "content": [], "output_config": {"effort": "low"}}
REMINDER: Body = {"role": "system", "content": "Today is Monday."}
HI: Body = {"role": "user", "content": "hi there"}


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running(seed=3) as server:
        yield Talk(server)


def ask(*messages: Body, **more: Any) -> Ask:
    body = {"model": NEWEST, "max_tokens": 2_000, "messages": list(messages)}
    return Ask("/v1/messages", {**body, **more}, HEADERS)


def test_all_fields_that_the_sdk_can_send_are_known() -> None:
    sent = set(typing.get_type_hints(MessageCreateParamsBase)) - {"betas"}
    assert sent <= FIELDS


def test_the_field_of_claude_codes_auto_mode_is_known(talk: Talk) -> None:
    context = {"v": 1, "permission_mode": "auto"}
    safeguard = {"type": "dangerous_tool_use", "classifier_context": context}
    talk.ok("anthropic", ask(HI, safeguards=[safeguard]))


def test_all_blocks_that_the_sdk_can_send_are_known() -> None:
    kinds: set[str] = set()
    for block in typing.get_args(BetaContentBlockParam):
        if hasattr(block, "__required_keys__"):
            kinds.update(typing.get_args(typing.get_type_hints(block)["type"]))
    assert len(kinds) > 20
    assert kinds <= BLOCKS | {KIND} | CHANGES


@pytest.mark.parametrize("last", [EFFORT, REMINDER])
def test_a_system_message_at_the_end_is_not_the_last_speaker(last: Body) -> None:
    lines = [
        {"when": {"after": "user", "contains": "hi there"}, "text": "a user spoke"},
        {"when": {"after": "tool"}, "text": "a tool spoke"},
    ]
    call = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "sun"}
    loop = [HI, {"role": "assistant", "content": [call]}]
    loop.append({"role": "user", "content": [result]})
    with running(read({"answers": lines})) as server:
        told = Talk(server)
        first = told.ok("anthropic", ask(HI, last))
        second = told.ok("anthropic", ask(*loop, last, tools=[TOOL]))
    assert first["content"][-1]["text"] == "a user spoke"
    assert second["content"][-1]["text"] == "a tool spoke"


def test_a_message_that_only_sets_the_effort_may_stand_anywhere(talk: Talk) -> None:
    said = {"role": "assistant", "content": "Hello."}
    talk.ok("anthropic", ask(EFFORT, HI, EFFORT, said, EFFORT, HI, EFFORT))


def test_models_without_bound_thinking_take_its_controls(talk: Talk) -> None:
    binding = {"prefix_mismatch_behavior": "drop_block"}
    thinking = {"type": "adaptive", "block_binding": binding}
    beta: dict[str, str | None] = {
        "anthropic-beta": "thinking-binding-controls-2026-08-01"
    }
    sent = ask(HI, model="claude-opus-4-6", thinking=thinking)._replace(headers=beta)
    assert talk.ok("anthropic", sent)["input_transformations"] == []


@pytest.mark.parametrize("path", ["/api/hello", "/", ""])
@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_a_client_may_ask_for_the_server(talk: Talk, method: str, path: str) -> None:
    hello = Ask(path, {}, {"x-api-key": None}, method=method)
    assert talk.status("anthropic", hello) == 200


def test_an_unknown_field_is_only_a_warning_in_a_lenient_run() -> None:
    with running(read({}), lenient=True) as server:
        Talk(server).ok("anthropic", ask(HI, model=OLD, brand_new=True))
        (warning,) = server.exchanges[-1].warnings
    assert warning.text == "brand_new: Extra inputs are not permitted"


def deferred(talk: Talk, *messages: Body, **tool: Any) -> int:
    tools = [TOOL, {**TOOL, "name": "later", "description": "far " * 300, **tool}]
    sent = ask(*messages, model="claude-opus-4-6", tools=tools)
    count = sent._replace(path="/v1/messages/count_tokens")
    return int(talk.ok("anthropic", count)["input_tokens"])


def test_a_deferred_tool_is_billed_from_where_it_is_first_referred_to(talk: Talk) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {}}
    loop = [HI, {"role": "assistant", "content": [call]}]
    found = {"type": "tool_reference", "tool_name": "later"}
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": content}
        for content in ([], [found], [found, found])
    ]
    none, one, two = (
        deferred(talk, *loop, {"role": "user", "content": [result]}, defer_loading=True)
        for result in results
    )
    declared = deferred(talk, HI) - deferred(talk, HI, defer_loading=True)
    assert 300 < declared <= one - none + 20
    assert 0 <= two - one < 60
