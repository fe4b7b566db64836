import json

import pytest

from tests.wire.local_server import Reply, problem, serving
from ullage.codec.wire import CountEndpoint
from ullage.codec.wires import wire_named
from ullage.errors import (
    BadKey,
    InvalidRequest,
    NotFound,
    ProviderError,
    RateLimited,
    ServerError,
)
from ullage.messages import ImagePart, Message, Request, TextPart
from ullage.wire.client import Client
from ullage.wire.counting import count

USER = Message(id="u", role="user", parts=(TextPart(id="t", text="hello"),))


def request(wire: str) -> Request:
    return Request(wire=wire, model="m", messages=(USER,))


def way(wire: str, name: str) -> CountEndpoint:
    return next(one for one in wire_named(wire).counts if one.name == name)


def counted(body: bytes) -> Reply:
    return Reply([body], headers={"content-type": "application/json"})


@pytest.mark.parametrize(
    ("wire", "name", "body", "path"),
    [
        ("messages", "count_tokens", b'{"input_tokens": 42}', "/v1/messages/count_tokens"),
        ("responses", "input_tokens", b'{"input_tokens": 42}', "/v1/responses/input_tokens"),
        ("generateContent", "countTokens", b'{"totalTokens": 42}', "/v1/models/m:countTokens"),
        ("chat", "input_tokens", b'{"input_tokens": 42}', "/v1/chat/completions/input_tokens"),
        ("chat", "tokenize", b'{"count": 42, "tokens": [1, 2]}', "/tokenize"),
    ],
)  # fmt: skip
async def test_a_request_is_counted_as_its_wire_does(
    wire: str, name: str, body: bytes, path: str
) -> None:
    async with serving(counted(body)) as server, Client() as client:
        endpoint = server.endpoint(wire)
        tokens = await count(request(wire), endpoint, way(wire, name), client=client)
        assert tokens == 42
        assert [one.path for one in server.asked] == [path]


TEMPLATE = b'{"prompt": "<|im_start|>user\\nhello<|im_end|>"}'


async def test_an_older_llama_cpp_writes_a_text_and_lists_its_tokens() -> None:
    async with serving(counted(b"{}")) as server, Client() as client:
        observation = counted(b'{"tokens": [7, 8, 9]}')
        server.at = {"/apply-template": counted(TEMPLATE), "/tokenize": observation}
        endpoint = server.endpoint("chat")
        named = way("chat", "apply-template")
        assert await count(request("chat"), endpoint, named, client=client) == 3
        template, tokenize = server.asked
    assert (template.path, tokenize.path) == ("/apply-template", "/tokenize")
    assert json.loads(tokenize.body) == {
        "content": "<|im_start|>user\nhello<|im_end|>",
        "add_special": True,
        "parse_special": True,
    }


@pytest.mark.parametrize(
    ("template", "tokens"),
    [
        (TEMPLATE, b'{"tokens": []}'),
        (TEMPLATE, b'{"tokens": 3}'),
        (TEMPLATE, b"{}"),
        (b'{"prompt": 12}', b'{"tokens": [1]}'),
        (b'{"prompt": null}', b'{"tokens": [1]}'),
        (b"{}", b'{"tokens": [1]}'),
    ],
)
async def test_an_empty_list_of_tokens_is_no_count(
    template: bytes, tokens: bytes
) -> None:
    async with serving(counted(b"{}")) as server, Client() as client:
        server.at = {"/apply-template": counted(template), "/tokenize": counted(tokens)}
        for name in ("apply-template", "tokenize"):
            with pytest.raises(ServerError):
                await count(
                    request("chat"), server.endpoint(), way("chat", name), client=client
                )


@pytest.mark.parametrize("name", ["tokenize", "apply-template"])
async def test_a_count_of_text_alone_is_not_asked_for_with_an_image(name: str) -> None:
    image = ImagePart(id="i", width=800, height=600)
    asked = Request(
        wire="chat", model="m", messages=(Message(id="u", role="user", parts=(image,)),)
    )
    async with serving(counted(b"{}")) as server, Client() as client:
        with pytest.raises(InvalidRequest):
            await count(asked, server.endpoint("chat"), way("chat", name), client=client)
        assert not server.asked


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b"",
        b'{"input_tokens": "42"}',
        b'{"input_tokens": true}',
        b'{"input_tokens": -1}',
        b'{"input_tokens": 0}',
        b'{"input_tokens": 1e400}',
        b'{"input_tokens": 100000000000000000000}',
        b'{"input_tokens": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"tokens": [1, 2, 3]}',
    ],
)
async def test_an_answer_without_a_count_is_a_server_s_error(body: bytes) -> None:
    async with serving(counted(body)) as server, Client() as client:
        with pytest.raises(ServerError):
            await count(
                request("chat"),
                server.endpoint(),
                way("chat", "input_tokens"),
                client=client,
            )


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, BadKey), (404, NotFound), (429, RateLimited), (500, ServerError)],
)
async def test_a_refusal_is_raised_and_not_repeated(
    status: int, error: type[ProviderError]
) -> None:
    async with serving(problem(status)) as server, Client() as client:
        with pytest.raises(error):
            await count(
                request("messages"),
                server.endpoint("messages"),
                way("messages", "count_tokens"),
                client=client,
            )
        assert len(server.asked) == 1
