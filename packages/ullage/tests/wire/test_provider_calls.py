"""Calls of a ``Provider``: tried again, limited and closed as calls over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from ullage.codec.blocks import PLAIN, Options
from ullage.codec.stream import Answer, TextDelta
from ullage.errors import (
    BadKey,
    LimitExceeded,
    NoAnswer,
    RateLimited,
    Unreachable,
    WrongType,
)
from ullage.messages import ImagePart, Message, Request, TextPart
from ullage.provider import AnswerPiece, Provider
from ullage.usage import Usage
from ullage.wire.call import Retries, ask, stream
from ullage.wire.client import Client, Timeouts
from ullage.wire.discovery import limits
from ullage.wire.endpoints import Endpoint

Answering = Callable[[Request], AsyncIterator[AnswerPiece]]


class Own(Provider):
    window, max_output = 4_000, 500

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    def stream(self, request: Request) -> AsyncIterator[AnswerPiece]:
        return self._answering(request)


def asked(
    answering: Answering,
    *,
    timeouts: Timeouts | None = None,
    options: Options = PLAIN,
    parts: tuple[Any, ...] = (TextPart(id="p", text="Hello."),),
) -> Answer:
    endpoint = Endpoint(
        provider="own", wire="python", base_url="python://own", source=Own(answering)
    )
    message = Message(id="m", role="user", parts=parts)
    request = Request(
        wire="python", provider="own", model="m", messages=(message,), stream=True
    )
    return asyncio.run(
        ask(
            request,
            endpoint,
            client=Client(timeouts=timeouts),
            options=options,
            retries=Retries(first_s=0.001),
        )
    )


def test_a_refusal_before_the_first_piece_is_tried_again() -> None:
    tries: list[Request] = []

    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        tries.append(request)
        if len(tries) < 3:
            raise RateLimited("Later.")
        yield "Hello."

    assert asked(answering).message.text == "Hello."
    assert len(tries) == 3


def test_what_may_not_be_tried_again_is_raised() -> None:
    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        raise BadKey("No key.")
        yield ""

    with pytest.raises(BadKey):
        asked(answering)


def test_a_failure_in_the_middle_keeps_what_came() -> None:
    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        yield "Hel"
        raise Unreachable("Gone.")

    answer = asked(answering)
    assert (answer.message.text, answer.outcome) == ("Hel", "dropped")


def test_any_other_exception_is_a_bug() -> None:
    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        raise KeyError("x")
        yield ""

    with pytest.raises(KeyError):
        asked(answering)


def test_silence_ends_the_call() -> None:
    async def silent(request: Request) -> AsyncIterator[AnswerPiece]:
        await asyncio.sleep(60)
        yield "late"

    async def stuck(request: Request) -> AsyncIterator[AnswerPiece]:
        yield "Hel"
        await asyncio.sleep(60)

    with pytest.raises(NoAnswer):
        asked(silent, timeouts=Timeouts(first_byte_s=0.01))
    cut = asked(stuck, timeouts=Timeouts(between_s=0.01))
    assert isinstance(cut.error, Unreachable)


def test_an_answer_that_takes_too_long_is_stopped() -> None:
    async def slow(request: Request) -> AsyncIterator[AnswerPiece]:
        while True:
            yield "more "
            await asyncio.sleep(0)

    answer = asked(slow, timeouts=Timeouts(call_s=0.01))
    assert isinstance(answer.error, LimitExceeded)


def test_a_timeout_of_the_providers_own_is_its_own() -> None:
    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        raise TimeoutError("mine")
        yield ""

    with pytest.raises(TimeoutError, match="mine"):
        asked(answering)


def test_a_coroutine_is_told_what_to_write() -> None:
    async def answering(request: Request) -> Any:
        return "Hello."

    with pytest.raises(WrongType, match="async generator"):
        asked(answering)  # type: ignore[arg-type]


def test_settings_and_media_are_in_the_request() -> None:
    seen: list[Request] = []

    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        seen.append(request)
        yield "Yes."

    image = ImagePart(id="i", mime="image/png", source="kept:1")
    options = Options(max_output=7, temperature=0.5, media={"kept:1": b"png"})
    asked(answering, options=options, parts=(image,))
    assert seen[0].params == {"max_output": 7, "temperature": 0.5}
    (part,) = seen[0].messages[0].parts
    assert isinstance(part, ImagePart)
    assert part.source == "data:image/png;base64,cG5n"


def test_leaving_early_closes_the_provider() -> None:
    closed: list[str] = []

    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        try:
            while True:
                yield "more "
        finally:
            closed.append("closed")

    async def leave() -> None:
        endpoint = Endpoint(
            provider="own", wire="python", base_url="python://own", source=Own(answering)
        )
        request = Request(wire="python", model="m", stream=True)
        events = stream(request, endpoint, client=Client())
        assert isinstance(await anext(events), TextDelta)
        await events.aclose()

    asyncio.run(leave())
    assert closed == ["closed"]


def test_its_limits_are_known_without_a_question() -> None:
    async def answering(request: Request) -> AsyncIterator[AnswerPiece]:
        yield Usage()

    own = Own(answering)
    endpoint = Endpoint(
        provider="own", wire="python", base_url="python://own", source=own
    )
    found = asyncio.run(limits(endpoint, "m", client=Client()))
    assert (found.window, found.max_output) == (4_000, 500)
