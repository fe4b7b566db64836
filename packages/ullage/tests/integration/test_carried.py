"""The transport carries a conversation as it would be carried by hand: same bytes out, same words in."""

import asyncio
from typing import Self

import pytest

from tests.integration.conversation import (
    FIVE,
    MISTRAL,
    MOONSHOT,
    XAI,
    Conversation,
    Dialect,
)
from tests.integration.test_moves import script, there_and_back
from ullage.codec.blocks import Encoded
from ullage.codec.stream import Answer
from ullage.messages import Message, Request
from ullage.models.providers import Auth
from ullage.wire.call import ask, prepare
from ullage.wire.client import Client
from ullage.wire.endpoints import Endpoint, Key
from ullage_simulators import Server, running

AUTH: dict[str, Auth] = {"messages": "x-api-key", "generateContent": "x-goog-api-key"}


class Carried(Conversation):
    """A conversation over ``ullage.wire``, one client for all its calls."""

    def __enter__(self) -> Self:
        self.runner = asyncio.Runner()
        self.client = Client()
        return self

    def __exit__(self, *problem: object) -> None:
        self.runner.run(self.client.close())
        self.runner.close()
        super().__exit__(*problem)

    def _call(
        self, dialect: Dialect, request: Request, encoded: Encoded, call: str
    ) -> tuple[Answer, bytes]:
        endpoint = Endpoint(
            provider=dialect.provider,
            wire=dialect.wire,
            base_url=dialect.url(self.server, ""),
            key=Key("simulated"),
            auth=AUTH.get(dialect.wire, "bearer"),
        )
        assert (
            prepare(request, endpoint, options=self.options).post.content
            == encoded.content
        )
        name = f"m{len(self.messages)}"
        asked = ask(
            request,
            endpoint,
            client=self.client,
            message_id=name,
            call=call,
            options=self.options,
        )
        return self.runner.run(asked), b""


def history(
    server: Server,
    kind: type[Conversation],
    one: Dialect,
    other: Dialect,
    *,
    stream: bool,
) -> list[Message]:
    with kind(server, stream=stream) as conversation:
        there_and_back(conversation, one, other)
        return conversation.messages


PAIRS = [
    *zip(FIVE, (*FIVE[1:], FIVE[0]), strict=True),
    (MOONSHOT, MISTRAL),
    (MISTRAL, XAI),
]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    ("one", "other"),
    [pytest.param(one, other, id=f"{one.name}-{other.name}") for one, other in PAIRS],
)
def test_the_transport_gives_the_history_that_is_made_by_hand(
    one: Dialect, other: Dialect, streamed: bool
) -> None:
    made = []
    for kind in (Conversation, Carried):
        with running(script(), seed=7) as server:
            made.append(history(server, kind, one, other, stream=streamed))
            assert [exchange.status for exchange in server.exchanges] == [200] * 8
    assert made[0] == made[1]
