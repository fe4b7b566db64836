"""The Compactor around the real clients of OpenAI and Anthropic, over the simulators."""

from __future__ import annotations

from typing import Any

import anthropic
import openai

from tests.compactor.own_loop import CHAT, MESSAGES, SYSTEM, scenario
from tests.context.sessions import words
from ullage import Compactor
from ullage_simulators import Server, running

WINDOW = 9_000
SCHEMA = {"type": "object", "properties": {"cask": {"type": "integer"}}}
TURNS = 25


def _looked(number: int) -> str:
    return f"Cask {number}. {words(350, number)}"


def _with_openai(server: Server, window: int | None) -> Compactor:
    """A conversation of 25 turns with the OpenAI SDK, whose own objects are the history."""
    client = openai.OpenAI(api_key="k", base_url=server.url("openai"), max_retries=0)
    function = {"name": "look", "description": "Looks.", "parameters": SCHEMA}
    history: list[Any] = [{"role": "system", "content": SYSTEM}]

    def send(body: Any) -> Any:
        return client.chat.completions.create(**body)

    looks = 0
    with client, Compactor("openai:small", window=window, summarise=send) as compactor:
        for number in range(TURNS):
            history.append({"role": "user", "content": f"Look at {number}, please."})
            while True:
                tools = [{"type": "function", "function": function}]
                body = {"model": "small", "messages": history, "tools": tools}
                fitted = compactor.fit_sync(body)
                try:
                    answer = send(fitted.body)
                except openai.BadRequestError as problem:
                    again = compactor.recover_sync(problem)
                    assert again is not None
                    answer = send(again.body)
                compactor.after(answer.usage, answer)
                message = answer.choices[0].message
                history.append(message)
                for call in message.tool_calls or ():
                    looks += 1
                    history.append(
                        {
                            "role": "tool",
                            "tool_call_id": call.id,
                            "content": _looked(looks),
                        }
                    )
                if not message.tool_calls:
                    break
    return compactor


def _with_anthropic(server: Server, window: int | None) -> Compactor:
    """The same with the Anthropic SDK."""
    client = anthropic.Anthropic(
        api_key="k", base_url=server.url("anthropic"), max_retries=0
    )
    tool = {"name": "look", "description": "Looks.", "input_schema": SCHEMA}
    history: list[Any] = []

    def send(body: Any) -> Any:
        return client.messages.create(**body)

    looks = 0
    model = "anthropic:small"
    with client, Compactor(model, window=window, summarise=send) as compactor:
        for number in range(TURNS):
            history.append({"role": "user", "content": f"Look at {number}, please."})
            while True:
                body = {
                    "model": "small",
                    "max_tokens": 500,
                    "system": SYSTEM,
                    "tools": [tool],
                    "messages": history,
                }
                fitted = compactor.fit_sync(body)
                try:
                    answer = send(fitted.body)
                except anthropic.BadRequestError as problem:
                    again = compactor.recover_sync(problem)
                    assert again is not None
                    answer = send(again.body)
                compactor.after(answer.usage, answer)
                history.append({"role": "assistant", "content": answer.content})
                results: list[Any] = []
                for block in answer.content:
                    if block.type == "tool_use":
                        looks += 1
                        results.append(
                            {
                                "type": "tool_result",
                                "tool_use_id": block.id,
                                "content": _looked(looks),
                            }
                        )
                if not results:
                    break
                history.append({"role": "user", "content": results})
    return compactor


def _check(server: Server, compactor: Compactor, refused: range) -> None:
    statuses = [exchange.status for exchange in server.exchanges]
    assert compactor.compactions > 0
    assert statuses.count(400) in refused
    assert set(statuses) <= {200, 400}
    billed = sum(bill.input for bill in server.truth().bills)
    assert compactor.reading().spend.all.input == billed


def test_openai_s_client_is_never_refused_and_what_is_counted_is_billed() -> None:
    with running(scenario(CHAT), seed=4) as server:
        _check(server, _with_openai(server, WINDOW), range(1))


def test_anthropic_s_client_is_never_refused_and_what_is_counted_is_billed() -> None:
    with running(scenario(MESSAGES), seed=4) as server:
        _check(server, _with_anthropic(server, WINDOW), range(1))


def test_openai_s_own_exception_is_recovered_from() -> None:
    with running(scenario(CHAT), seed=4) as server:
        _check(server, _with_openai(server, None), range(1, 4))


def test_anthropic_s_own_exception_is_recovered_from() -> None:
    with running(scenario(MESSAGES), seed=4) as server:
        _check(server, _with_anthropic(server, None), range(1, 4))
