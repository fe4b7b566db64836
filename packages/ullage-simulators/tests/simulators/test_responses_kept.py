"""Conversations that OpenAI keeps: by ``previous_response_id``, and as ``conversation``."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.simulators.asking import WEATHER, Ask, Body, Talk
from ullage_simulators import Server, running

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": WEATHER,
    "strict": False,
}
LONG = "All work and no play makes a dull day. " * 300
HI: Body = {"role": "user", "content": f"say get_weather. {LONG}"}
AND: Body = {"role": "user", "content": "And tomorrow?"}
RULES_OF_THE_CELLAR = "You are a cellarman. " * 40


def ask(*items: Body, **more: Any) -> Ask:
    return Ask("/responses", {"model": "gpt-5", "input": list(items), **more})


def count(talk: Talk, *items: Body, **more: Any) -> int:
    asked = ask(*items, **more)._replace(path="/responses/input_tokens")
    return int(talk.ok("openai", asked)["input_tokens"])


def get(path: str, method: str = "GET") -> Ask:
    return Ask(path, {}, method=method)


def result_of(answer: Body) -> Body:
    call = answer["output"][-1]
    return {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}


def chain(talk: Talk, **more: Any) -> tuple[list[Body], list[Body]]:
    """Three answers of a chain with a tool loop, and the items of the whole conversation before the last one."""
    more = {"tools": [TOOL], **more}
    first = talk.ok("openai", ask(HI, **more))
    second = talk.ok(
        "openai", ask(result_of(first), previous_response_id=first["id"], **more)
    )
    third = talk.ok("openai", ask(AND, previous_response_id=second["id"], **more))
    items = [HI, *first["output"], result_of(first), *second["output"], AND]
    return [first, second, third], items


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5.5", "gpt-4.1"])
def test_a_chain_is_billed_as_the_whole_conversation(talk: Talk, model: str) -> None:
    answers, items = chain(talk, model=model)
    whole = talk.ok("openai", ask(*items, tools=[TOOL], model=model))
    assert answers[-1]["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
    assert answers[-1]["previous_response_id"] == answers[-2]["id"]


def test_a_chain_reads_from_the_cache_what_came_before(talk: Talk) -> None:
    answers, _ = chain(talk)
    first, second, _ = (answer["usage"] for answer in answers)
    cached = second["input_tokens_details"]["cached_tokens"]
    assert first["input_tokens"] - 128 < cached <= first["input_tokens"]


def test_the_count_of_a_continuation_is_its_bill(talk: Talk) -> None:
    answers, _ = chain(talk)
    parent = {"previous_response_id": answers[-1]["id"], "tools": [TOOL]}
    counted = count(talk, AND, **parent)
    assert counted == talk.ok("openai", ask(AND, **parent))["usage"]["input_tokens"]


def test_the_instructions_of_the_parent_are_not_carried_over(talk: Talk) -> None:
    first = talk.ok("openai", ask(AND, instructions=RULES_OF_THE_CELLAR))
    parent = {"previous_response_id": first["id"]}
    without = count(talk, AND, **parent)
    with_them = count(talk, AND, **parent, instructions=RULES_OF_THE_CELLAR)
    assert without + 100 < with_them


@pytest.mark.parametrize("store", [False, True])
def test_what_is_not_stored_has_no_continuation(talk: Talk, store: bool) -> None:
    first = talk.ok("openai", ask(AND, store=store))
    answered = talk.send("openai", ask(AND, previous_response_id=first["id"]))
    assert answered.status_code == (200 if store else 400)
    shown = talk.send("openai", get(f"/responses/{first['id']}"))
    assert shown.status_code == (200 if store else 404)


def test_a_fork_continues_from_an_earlier_response(talk: Talk) -> None:
    answers, items = chain(talk)
    parent = {"previous_response_id": answers[0]["id"], "tools": [TOOL]}
    forked = talk.ok("openai", ask(result_of(answers[0]), AND, **parent))
    replayed = [*items[: len(answers[0]["output"]) + 2], AND]
    whole = talk.ok("openai", ask(*replayed, tools=[TOOL]))
    assert forked["usage"]["input_tokens"] == whole["usage"]["input_tokens"]


def test_a_conversation_takes_the_items_of_its_responses(talk: Talk) -> None:
    begun = Ask("/conversations", {"items": [HI], "metadata": {"of": "casks"}})
    conversation = talk.ok("openai", begun)["id"]
    first = talk.ok("openai", ask(AND, conversation=conversation))
    assert first["conversation"] == {"id": conversation}
    second = talk.ok("openai", ask(AND, conversation={"id": conversation}))
    items = [HI, AND, *first["output"], AND]
    whole = talk.ok("openai", ask(*items))
    assert second["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
    counted = count(talk, AND, conversation=conversation)
    third = talk.ok("openai", ask(AND, conversation=conversation))
    assert counted == third["usage"]["input_tokens"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=14) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url("openai"), api_key="any", max_retries=0)


def test_the_sdk_loops_over_a_chain(client: openai.OpenAI, server: Server) -> None:
    more: Any = {"model": "gpt-5", "tools": [TOOL]}
    with client.responses.stream(input=[HI], **more) as stream:  # type: ignore[list-item]
        first = stream.get_final_response()
    (call,) = [item for item in first.output if item.type == "function_call"]
    result: Any = {
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": "sunny",
    }
    parent: Any = {"previous_response_id": first.id, **more}
    with client.responses.stream(input=[result], **parent) as stream:
        second = stream.get_final_response()
    assert second.output_text == "Done: get_weather gave sunny"
    assert second.usage is not None
    assert second.usage.input_tokens == server.truth().bills[-1].input
    listed = client.responses.input_items.list(second.id, order="asc").data
    kinds = [item.type for item in listed]
    assert kinds == ["message", "reasoning", "function_call", "function_call_output"]


def test_the_sdk_gets_and_deletes_a_response(client: openai.OpenAI) -> None:
    made = client.responses.create(model="gpt-5", input="hello")
    assert client.responses.retrieve(made.id).output_text == made.output_text
    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{made.id}' not"):
        client.responses.retrieve(made.id)


def test_the_sdk_manages_a_conversation(client: openai.OpenAI) -> None:
    made = client.conversations.create(metadata={"of": "casks"})
    asked: Any = {"role": "user", "content": "How full is the cask?"}
    client.conversations.items.create(made.id, items=[asked, asked])
    client.responses.create(model="gpt-5", input="And now?", conversation=made.id)
    listed = list(client.conversations.items.list(made.id, order="asc", limit=2))
    kinds = [item.type for item in listed]
    assert kinds == ["message", "message", "message", "reasoning", "message"]
    newest = list(client.conversations.items.list(made.id))
    assert [item.id for item in newest] == [item.id for item in reversed(listed)]
    first = listed[0].id
    assert first is not None
    assert (
        client.conversations.items.retrieve(first, conversation_id=made.id) == listed[0]
    )
    client.conversations.items.delete(first, conversation_id=made.id)
    assert len(list(client.conversations.items.list(made.id))) == 4
    assert client.conversations.update(made.id, metadata={"of": "vats"}).metadata == {
        "of": "vats"
    }
    assert client.conversations.retrieve(made.id).metadata == {"of": "vats"}
    assert client.conversations.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError, match="Conversation with id"):
        client.conversations.retrieve(made.id)


def test_a_request_is_shown_as_it_was_sent(talk: Talk) -> None:
    answers, _ = chain(talk)
    asked = ask(AND, previous_response_id=answers[-1]["id"], tools=[TOOL])
    talk.ok("openai", asked)
    assert talk.server.exchanges[-1].body == asked.body
