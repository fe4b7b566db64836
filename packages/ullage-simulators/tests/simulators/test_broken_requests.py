"""Requests of every shape, from any client: answered or refused, never a failure of the simulator itself."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.asking import WEATHER, Ask, Body, Talk
from ullage_simulators import running

USER: Body = {"role": "user", "content": "hello"}
TOOL: Body = {
    "name": "get_weather",
    "input_schema": WEATHER,
    "parameters": WEATHER,
    "type": "function",
}
GOOD: dict[str, Ask] = {
    "anthropic": Ask("/v1/messages", {"model": "claude-sonnet-4-5", "max_tokens": 2_000,
        "thinking": {"type": "enabled", "budget_tokens": 1_024}, "system": [{"type": "text", "text": "x"}],
        "messages": [USER, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}, USER]}),
    "openai": Ask("/responses", {"model": "gpt-5", "input": [USER,
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"}], "tools": [TOOL], "reasoning": {
        "effort": "low"}}),
    "deepseek": Ask("/chat/completions", {"model": "deepseek-chat", "messages": [USER, {"role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {
        "role": "tool", "tool_call_id": "a", "content": "x"}]}),
    "gemini": Ask("/v1beta/models/gemini-2.5-flash:generateContent", {"contents": [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}], "generationConfig": {
        "thinkingConfig": {"thinkingBudget": 1}}}),
}  # fmt: skip
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, True, "", "x", "\x00", [], [None], {}, {"type": 1}, {"role": []}, 1e400]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for name in (
        value
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    ):
        yield from places(value[name], (*path, name))


def put(body: Body, path: tuple[Any, ...], value: Any) -> Body:
    changed = copy.deepcopy(body)
    place: Any = changed
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return changed


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running() as server:
        yield Talk(server)


@pytest.mark.parametrize("wire", GOOD)
def test_the_whole_request_is_accepted(talk: Talk, wire: str) -> None:
    ask = GOOD[wire]
    if (
        wire == "anthropic"
    ):  # its history has no thinking, which the turn it began was asked for
        ask = ask.but(messages=[USER])
    assert talk.status(wire, ask) == 200


@pytest.mark.parametrize("wire", GOOD)
@given(data=st.data())
def test_an_odd_value_is_answered(talk: Talk, wire: str, data: st.DataObject) -> None:
    ask = GOOD[wire]
    path = data.draw(st.sampled_from([place for place in places(ask.body) if place]))
    value = data.draw(ODD)
    response = talk.send(wire, ask._replace(body=put(ask.body, path, value)))
    assert response.status_code in (200, 400, 401, 404, 413), response.text
    assert response.json()


@pytest.mark.parametrize("wire", GOOD)
@given(raw=st.binary(max_size=200))
def test_any_bytes_are_refused(talk: Talk, wire: str, raw: bytes) -> None:
    response = talk.send(wire, GOOD[wire]._replace(raw=raw))
    assert 400 <= response.status_code < 500


@pytest.mark.parametrize("wire", GOOD)
def test_a_number_of_very_many_digits_is_refused(talk: Talk, wire: str) -> None:
    response = talk.send(wire, GOOD[wire]._replace(raw=b"1" * 5_000))
    assert 400 <= response.status_code < 500
