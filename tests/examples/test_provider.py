"""``examples/provider.py`` against what llama.cpp's server answers (recorded from llama-server of Debian sid)."""

import json
import runpy
from collections.abc import Iterator
from typing import Any

import pytest

import ullage
from scripts.house.pages import ROOT
from tests.wire.local_server import Asked, LocalServer, Reply, serving
from ullage.errors import Overflow, ServerError

FILE = ROOT / "examples" / "provider.py"


@pytest.fixture
def provider() -> Iterator[Any]:
    yield runpy.run_path(str(FILE))["LlamaCpp"]


def event(content: str, predicted: int, **last: object) -> bytes:
    said = {"content": content, "stop": bool(last), "tokens_predicted": predicted}
    return b"data: %b\n\n" % json.dumps({**said, "tokens_evaluated": 9, **last}).encode()


def answering(local: LocalServer, *pieces: bytes, status: int = 200) -> None:
    prompt = b'{"prompt":"<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\n"}'
    local.at["/apply-template"] = Reply([prompt])
    local.at["/completion"] = Reply(list(pieces), status=status)


def agent(provider: Any, local: LocalServer) -> ullage.Agent:
    url = local.url.removesuffix("/v1")
    return ullage.Agent(
        provider(url),
        system="Be brief.",
        max_output=7,
        store=None,
        config=False,
        environment={},
    )


async def test_it_streams_and_reports(provider: Any) -> None:
    async with serving(Reply()) as local:
        answering(
            local,
            event(" The", 1),
            event(" cellar", 2),
            event("", 3, stop_type="eos"),
        )
        pieces = [piece async for piece in agent(provider, local).stream("hi")]
        result = await agent(provider, local).ask("hi")
    assert pieces == [" The", " cellar"]
    assert (result.usage.input, result.usage.output) == (9, 3)
    template, completion = (one.json for one in local.asked[:2])
    assert [message["role"] for message in template["messages"]] == ["system", "user"]
    assert completion["prompt"].startswith("<|im_start|>user")
    assert completion["n_predict"] == 7


async def test_a_request_that_does_not_fit_is_an_overflow(provider: Any) -> None:
    message = (
        "request (2210 tokens) exceeds the available context size (2048 tokens), try "
        "increasing it"
    )
    error = {
        "code": 400,
        "message": message,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 2210,
        "n_ctx": 2048,
    }
    async with serving(Reply()) as local:
        answering(local, json.dumps({"error": error}).encode(), status=400)
        own = provider(local.url.removesuffix("/v1"))
        request = ullage.messages.Request(wire="python", model="loaded")
        with pytest.raises(Overflow) as raised:
            await anext(aiter(own.stream(request)))
    assert (raised.value.count, raised.value.limit) == (2210, 2048)


async def test_an_answer_may_be_cut_and_a_server_may_fail(provider: Any) -> None:
    def failing(asked: Asked) -> Reply:
        return Reply([b'{"error":{"message":"no slot"}}'], status=500)

    async with serving(Reply()) as local:
        answering(local, event(" The", 7, stop_type="limit"))
        result = await agent(provider, local).ask("hi", check=False)
        assert result.reason == "length"
        local.at["/apply-template"] = failing
        own = provider(local.url.removesuffix("/v1"))
        with pytest.raises(ServerError, match="no slot"):
            await anext(aiter(own.stream(ullage.messages.Request(wire="", model=""))))
