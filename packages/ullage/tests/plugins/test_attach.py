"""The real SDKs over the simulators: each call is one reading, and what was reported is what was billed."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Iterator
from typing import Any, assert_type

import anthropic
import httpx2
import openai
import pytest
from google import genai
from pytest import LogCaptureFixture

import ullage
from tests.plugins.sdk_users import (
    ASKED,
    CLAUDE,
    GPT,
    USERS,
    anthropic_client,
    chat,
    chat_stream,
    claude,
    converse,
    genai_client,
    openai_async,
    openai_client,
    run,
)
from ullage.errors import WrongType
from ullage.events import CallEnded, CallStarted, Event
from ullage.plugins.attach import attach, detach
from ullage_simulators import Scenario, Server, running
from ullage_simulators.faults import Fault

Json = dict[str, Any]
HELLO: Json = {"role": "user", "content": "hello there, how are you today?"}


class Followed:
    """A meter with its events."""

    def __init__(self, model: str = GPT) -> None:
        self.events: list[Event] = []
        self.meter = ullage.Meter(model, on_event=self.events.append)

    @property
    def started(self) -> list[CallStarted]:
        return [one for one in self.events if isinstance(one, CallStarted)]

    @property
    def ended(self) -> list[CallEnded]:
        return [one for one in self.events if isinstance(one, CallEnded)]

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(one.purpose, one.outcome) for one in self.ended]

    @property
    def inputs(self) -> list[int | None]:
        return [None if one.usage is None else one.usage.input for one in self.ended]


@pytest.fixture
def server() -> Iterator[Server]:
    with running(seed=15) as server:
        yield server


def billed(server: Server) -> list[int]:
    return [bill.input for bill in server.truth().bills]


@pytest.mark.parametrize("name", sorted(USERS))
def test_each_call_is_one_reading_and_one_bill(server: Server, name: str) -> None:
    user, followed = USERS[name], Followed(USERS[name].model)

    async def talk() -> None:
        client = user.client(server)
        assert attach(client, followed.meter) is client
        await converse(client, user.say)

    asyncio.run(talk())
    assert followed.outcomes == [("main", "finished")] * len(ASKED)
    assert [one.call for one in followed.started] == [one.call for one in followed.ended]
    assert followed.inputs == billed(server)
    assert followed.meter.reading().basis.last_input == billed(server)[-1]
    outputs = [one.usage.output for one in followed.ended if one.usage is not None]
    assert outputs == [bill.output for bill in server.truth().bills]
    assert len(followed.meter) == 2 * len(ASKED)
    kinds = {type(event).__name__ for event in followed.events}
    assert "Rewound" not in kinds and "CompactionCommitted" not in kinds


def test_the_client_keeps_its_type(server: Server) -> None:
    meter = ullage.Meter(GPT)
    assert_type(ullage.attach(openai_client(server), meter), openai.OpenAI)
    assert_type(ullage.attach(openai_async(server), meter), openai.AsyncOpenAI)
    claude = ullage.attach(anthropic_client(server), lambda name: meter)
    assert_type(claude, anthropic.Anthropic)
    assert_type(ullage.detach(claude), anthropic.Anthropic)
    assert_type(ullage.attach(genai_client(server), meter), genai.Client)


def test_calls_of_tools_are_followed_like_others(server: Server) -> None:
    followed = Followed()
    client = attach(openai_client(server), followed.meter)
    tool: Any = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    messages: list[Any] = [{"role": "user", "content": "please get_weather for Paris"}]
    asked: Any = {"model": GPT, "tools": [tool]}
    first = client.chat.completions.create(messages=messages, **asked)
    message = first.choices[0].message
    assert message.tool_calls
    messages += [
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"},
    ]
    client.chat.completions.create(messages=messages, **asked)
    assert followed.inputs == billed(server)
    assert len(followed.inputs) == 2


def test_counts_of_tokens_and_lists_of_models_are_no_calls(server: Server) -> None:
    followed = Followed(CLAUDE)
    client = attach(anthropic_client(server), followed.meter)
    client.messages.count_tokens(model=CLAUDE, messages=[HELLO])  # type: ignore[list-item]
    client.models.list()
    assert followed.events[1:] == []
    run(claude(client, [HELLO]))
    assert followed.outcomes == [("main", "finished")]


def test_a_detached_client_is_as_it_was(server: Server) -> None:
    followed = Followed()
    client = openai_client(server)
    before = dict(vars(client._client))
    detach(attach(client, followed.meter))
    assert vars(client._client) == before
    run(chat(client, [HELLO]))
    assert followed.started == []


def test_attaching_again_replaces_the_meter(server: Server) -> None:
    first, second = Followed(), Followed()
    client = attach(openai_client(server), first.meter)
    attach(client, second.meter)
    run(chat(client, [HELLO]))
    assert (len(first.started), len(second.started)) == (0, 1)


def test_an_http_client_that_an_sdk_is_given_can_be_attached_to(server: Server) -> None:
    followed = Followed()
    http = attach(httpx2.Client(), followed.meter)
    run(chat(openai_client(server, http_client=http), [HELLO]))
    assert followed.inputs == billed(server)


@pytest.mark.parametrize(
    "given", [None, "client", 5, ullage], ids=["nothing", "text", "number", "module"]
)
def test_what_is_no_client_is_refused_with_what_to_do(given: object) -> None:
    with pytest.raises(WrongType, match=r"Meter\.before"):
        attach(given, ullage.Meter(GPT))


# -- what goes wrong --


def failing(*faults: Fault) -> Scenario:
    return Scenario(faults=faults)


def test_each_attempt_of_the_sdk_is_a_call() -> None:
    followed = Followed()
    fault = Fault("status", request=1, status=500, retry_after_s=0.01)
    with running(failing(fault), seed=15) as server:
        client = attach(openai_client(server, max_retries=2), followed.meter)
        run(converse(client, chat))
        assert followed.outcomes == [("main", "failed")] + [("main", "finished")] * 3
        assert followed.inputs == [None, *billed(server)]


def test_an_error_reaches_the_program_as_it_came(server: Server) -> None:
    followed = Followed()
    client = attach(openai_client(server), followed.meter)
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="nobody-knows-this", messages=[HELLO])  # type: ignore[list-item]
    assert followed.outcomes == [("main", "failed")]


def test_a_timeout_is_a_call_that_failed() -> None:
    followed = Followed()
    fault = Fault("hang", request=1, at=0, seconds=60)
    with running(failing(fault), seed=15) as server:
        client = attach(openai_client(server, timeout=0.3), followed.meter)
        with pytest.raises(openai.APITimeoutError):
            run(chat(client, [HELLO]))
    assert followed.outcomes == [("main", "failed")]


def test_a_stream_that_is_cut_is_no_finished_call() -> None:
    followed = Followed()
    fault = Fault("reset", request=1, at=700)
    with running(failing(fault), seed=15) as server:
        client = attach(openai_client(server), followed.meter)
        with pytest.raises(Exception):  # noqa: B017 - the SDK decides which
            run(chat_stream(client, [HELLO]))
        assert [outcome for _, outcome in followed.outcomes] != ["finished"]
        assert len(followed.outcomes) == 1
        run(chat_stream(client, [HELLO]))
    assert followed.outcomes[-1] == ("main", "finished")


def first_piece(client: openai.OpenAI) -> Any:
    """A stream of which the first piece was read."""
    stream = client.chat.completions.create(
        model=GPT,
        messages=[HELLO],  # type: ignore[list-item]
        stream=True,
    )
    next(iter(stream))
    return stream


LONG_ANSWER = Scenario(
    answers=(), chunk=4, faults=(Fault("slow", request=1, seconds=0.02),)
)


def test_a_stream_that_is_dropped_is_cancelled_at_the_next_call() -> None:
    followed = Followed()
    with running(LONG_ANSWER, seed=15) as server:
        client = attach(openai_client(server), followed.meter)
        first_piece(client)
        gc.collect()
        run(chat(client, [HELLO]))
    assert followed.outcomes == [("main", "cancelled"), ("main", "finished")]


def test_a_stream_that_is_left_ends_when_its_conversation_goes_on() -> None:
    followed = Followed()
    with running(LONG_ANSWER, seed=15) as server:
        client = attach(openai_client(server), followed.meter)
        left = first_piece(client)
        answered: Json = {"role": "assistant", "content": "well"}
        run(chat(client, [HELLO, answered, HELLO]))
        assert followed.outcomes == [("main", "cancelled"), ("main", "finished")]
        left.close()
        assert len(followed.outcomes) == 2
        first_piece(client).close()
        assert followed.outcomes[2:] == [("other", "cancelled")]


def test_a_cancelled_task_is_a_cancelled_call() -> None:
    followed = Followed()
    fault = Fault("hang", request=1, at=0, seconds=60)

    async def cancelled(server: Server) -> None:
        client = attach(openai_async(server), followed.meter)
        sending = asyncio.ensure_future(
            client.chat.completions.create(model=GPT, messages=[HELLO])  # type: ignore[list-item]
        )
        while not server.exchanges:
            await asyncio.sleep(0.01)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    with running(failing(fault), seed=15) as server:
        asyncio.run(cancelled(server))
    assert followed.outcomes == [("main", "cancelled")]


def test_a_stream_without_usage(server: Server, caplog: LogCaptureFixture) -> None:
    followed = Followed()
    client = attach(openai_client(server), followed.meter)
    for _ in range(2):
        for _ in client.chat.completions.create(
            model=GPT,
            messages=[HELLO],  # type: ignore[list-item]
            stream=True,
            extra_headers={"x-ullage-session": "one"},
        ):
            pass
    assert followed.inputs == [None, None]
    assert followed.meter.reading().used.tokens > 0
    said = [one.getMessage() for one in caplog.records if "include_usage" in one.msg]
    assert len(said) == 1


def test_an_error_of_metering_is_logged(
    server: Server, caplog: LogCaptureFixture
) -> None:
    def broken(event: Event) -> None:
        if isinstance(event, CallStarted | CallEnded):
            raise RuntimeError("a fault of the listener")

    client = attach(openai_client(server), ullage.Meter(GPT, on_event=broken))
    assert run(chat(client, [HELLO]))
    assert "a fault of the listener" in caplog.text
    assert {one.name for one in caplog.records if one.levelno > logging.INFO} == {
        "ullage.attach"
    }


# -- several conversations --


def test_other_conversations_are_spend(server: Server, caplog: LogCaptureFixture) -> None:
    followed = Followed()
    client = attach(openai_client(server), followed.meter)
    run(converse(client, chat))
    reading = followed.meter.reading()
    other: Json = {"role": "user", "content": "a title for this conversation, please"}
    run(chat(client, [other]))
    run(chat(client, [other | {"content": "something else"}]))
    after = followed.meter.reading()
    assert after.used == reading.used
    assert after.basis.last_input == billed(server)[2]
    assert followed.inputs == billed(server)
    assert followed.outcomes[-2:] == [("other", "finished")] * 2
    assert caplog.text.count("second conversation") == 1


def test_a_function_gives_each_conversation_its_own_meter(server: Server) -> None:
    meters: dict[str, ullage.Meter] = {}

    def meter(name: str) -> ullage.Meter:
        return meters.setdefault(name, ullage.Meter(GPT))

    async def talk() -> None:
        client = attach(openai_async(server), meter)

        async def say(history: list[Any]) -> str:
            sent = await client.chat.completions.create(model=GPT, messages=history)
            return str(sent.choices[0].message.content)

        async def conversation(topic: str) -> None:
            await converse(client, lambda _, history: say(history), (topic, *ASKED))

        await asyncio.gather(*(conversation(f"Topic {n}") for n in range(5)))

    asyncio.run(talk())
    assert len(meters) == 5
    steps = [step for meter in meters.values() for step in meter.steps]
    assert sorted(step.actual or 0 for step in steps) == sorted(billed(server))
    assert {len(meter.steps) for meter in meters.values()} == {4}


def test_a_header_names_the_conversation_and_is_not_sent(server: Server) -> None:
    meters: dict[str, ullage.Meter] = {}

    def meter(name: str) -> ullage.Meter:
        return meters.setdefault(name, ullage.Meter(GPT))

    sent: list[Any] = []
    http = httpx2.Client(event_hooks={"request": [sent.append]})
    client = attach(openai_client(server, http_client=http), meter)
    for name in ("ann", "bob", "ann"):
        client.chat.completions.create(
            model=GPT,
            messages=[HELLO],  # type: ignore[list-item]
            extra_headers={"x-ullage-session": name},
        )
    assert list(meters) == ["ann", "bob"]
    assert len(meters["ann"].steps) == 2
    assert [one for one in sent if "x-ullage-session" in one.headers] == []


def test_two_calls_at_once_are_one_step_and_spend(server: Server) -> None:
    followed = Followed()

    async def talk() -> None:
        client = attach(openai_async(server), followed.meter)
        history = await converse(client, lambda given, _: said(given), ASKED[:1])
        history.append(HELLO)
        sent = [
            client.chat.completions.create(model=GPT, messages=history) for _ in range(3)
        ]
        await asyncio.gather(*sent)

    async def said(client: Any) -> str:
        first: Json = {"role": "user", "content": ASKED[0]}
        answer = await client.chat.completions.create(model=GPT, messages=[first])
        return str(answer.choices[0].message.content)

    asyncio.run(talk())
    purposes = sorted(one.purpose for one in followed.ended)
    assert purposes == ["main", "main", "other", "other"]
    assert sorted(followed.inputs, key=str) == sorted(billed(server), key=str)


def test_clients_of_google_are_followed_in_both_their_halves(server: Server) -> None:
    followed = Followed("gemini-2.5-pro")
    client = genai_client(server)
    attach(client.aio, followed.meter)
    client.models.generate_content(model="gemini-2.5-pro", contents="hello")
    assert followed.inputs == billed(server)
