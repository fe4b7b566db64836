"""The WebSocket mode of Responses, by OpenAI's own SDK and by a bare WebSocket."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from openai.resources.responses.responses import ResponsesConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from tests.simulators.asking import WEATHER, Ask, Body, Talk
from ullage_simulators import Server, read, running

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": WEATHER,
    "strict": False,
}
HI: Any = {"role": "user", "content": "say get_weather"}
AND: Any = {"role": "user", "content": "And now?"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=4) as server:
        yield server


@contextmanager
def connection(server: Server) -> Iterator[ResponsesConnection]:
    client = openai.OpenAI(base_url=server.url("openai"), api_key="any")
    with client.responses.connect() as opened:
        yield opened


def create(opened: ResponsesConnection, *items: Any, **more: Any) -> Any:
    """The last event of a response: it is complete, or the error."""
    request = {"model": "gpt-5", "tools": [TOOL], "store": False, **more}
    opened.response.create(input=list(items), **request)
    for event in opened:
        if event.type in ("response.completed", "response.failed", "error"):
            return event
    raise AssertionError("the connection ended")


def result_of(response: Any) -> Body:
    return {
        "type": "function_call_output",
        "call_id": response.output[-1].call_id,
        "output": "sunny",
    }


def test_a_tool_loop_sends_what_is_new_and_is_billed_for_all(server: Server) -> None:
    with connection(server) as opened:
        first = create(opened, HI).response
        result = result_of(first)
        second = create(opened, result, previous_response_id=first.id).response
        third = create(opened, AND, previous_response_id=second.id).response
    assert second.output_text == "Done: get_weather gave sunny"
    items = [item.model_dump(exclude_none=True) for item in first.output]
    items += [result, *(item.model_dump(exclude_none=True) for item in second.output)]
    whole = {"model": "gpt-5", "tools": [TOOL], "input": [HI, *items, AND]}
    answer = Talk(server).ok("openai", Ask("/responses", whole))
    assert third.usage.input_tokens == answer["usage"]["input_tokens"]
    assert server.truth().bills[-2].input == third.usage.input_tokens


def test_what_is_not_stored_belongs_to_its_connection(server: Server) -> None:
    with connection(server) as opened:
        first = create(opened, AND).response
    with connection(server) as other:
        refused = create(other, AND, previous_response_id=first.id)
    assert refused.status == 400
    assert refused.error.code == "previous_response_not_found"
    with connection(server) as opened:
        stored = create(opened, AND, store=True).response
    with connection(server) as other:
        assert create(other, AND, previous_response_id=stored.id).response.output


def test_a_connection_keeps_the_last_response_of_each_lane(server: Server) -> None:
    with connection(server) as opened:
        first = create(opened, AND, stream_id="a").response
        forked = create(
            opened, AND, stream_id="b", previous_response_id=first.id
        ).response
        second = create(opened, AND, stream_id="a", previous_response_id=first.id)
        assert second.stream_id == "a"
        gone = create(opened, AND, stream_id="a", previous_response_id=first.id)
        assert gone.error.code == "previous_response_not_found"
        last = create(opened, AND, stream_id="b", previous_response_id=forked.id)
        assert last.response.output


def test_a_refused_continuation_is_forgotten(server: Server) -> None:
    with connection(server) as opened:
        first = create(opened, HI).response
        parent = {"previous_response_id": first.id}
        refused = create(opened, AND, **parent)
        assert "No tool output found" in refused.error.message
        gone = create(opened, result_of(first), **parent)
        assert gone.error.code == "previous_response_not_found"


def test_a_response_without_an_answer_is_continued(server: Server) -> None:
    with connection(server) as opened:
        warm = create(opened, HI, generate=False).response
        assert warm.output == []
        first = create(opened, AND, previous_response_id=warm.id).response
    whole = {"model": "gpt-5", "tools": [TOOL], "input": [HI, AND]}
    answer = Talk(server).ok("openai", Ask("/responses", whole))
    assert first.usage.input_tokens == answer["usage"]["input_tokens"]


@contextmanager
def bare(server: Server, wire: str = "openai", **headers: str) -> Iterator[Connection]:
    url = server.url(wire).replace("http://", "ws://") + "/responses"
    with connect(url, additional_headers=headers) as opened:
        yield opened


def test_another_message_is_refused_and_the_connection_continues(server: Server) -> None:
    with bare(server, authorization="Bearer any") as opened:
        opened.send(json.dumps({"type": "response.steer", "input": []}))
        refused = json.loads(opened.recv())
        assert (refused["type"], refused["status"]) == ("error", 400)
        assert "'response.steer'" in refused["error"]["message"]
        opened.send(
            json.dumps({"type": "response.create", "model": "gpt-5", "input": "a"})
        )
        assert json.loads(opened.recv())["type"] == "response.created"
    assert server.exchanges[-1].method == "WEBSOCKET"


@pytest.mark.parametrize(
    ("wire", "headers", "status"),
    [("openai", {}, 401), ("anthropic", {"authorization": "Bearer any"}, 426)],
)
def test_a_connection_is_refused_as_a_request_is(
    server: Server, wire: str, headers: dict[str, str], status: int
) -> None:
    with pytest.raises(InvalidStatus) as refused, bare(server, wire, **headers):
        pass
    assert refused.value.response.status_code == status


def test_a_fault_closes_the_connection_in_the_middle_of_an_answer() -> None:
    cut = read({"faults": [{"kind": "cut", "request": 1, "at": 40}]})
    with running(cut) as server, bare(server, authorization="Bearer any") as opened:
        opened.send(
            json.dumps({"type": "response.create", "model": "gpt-5", "input": "a"})
        )
        assert len(opened.recv()) == 40
        with pytest.raises(ConnectionClosed):
            opened.recv()
