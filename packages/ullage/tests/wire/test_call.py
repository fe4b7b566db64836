"""A call: what is tried again, what never is, and what comes out."""

import asyncio
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from tests.wire.local_server import LocalServer, Reply, chat, event, problem, serving
from ullage.codec.stream import Answer, CallDelta, StreamEvent, TextDelta
from ullage.errors import (
    BadKey,
    DamagedAnswer,
    NotFound,
    Overloaded,
    RateLimited,
    ServerError,
    WrongConversation,
)
from ullage.messages import Message, Request, TextPart, Tool, ToolCallPart
from ullage.wire.call import Retries, Retrying, ask, prepare, stream
from ullage.wire.client import Client
from ullage.wire.endpoints import Endpoint

USER = Message(id="u", role="user", parts=(TextPart(id="t", text="hello"),))


def request(
    *, streamed: bool = True, wire: str = "chat", tools: tuple[Tool, ...] = ()
) -> Request:
    return Request(wire=wire, model="m", messages=(USER,), tools=tools, stream=streamed)


class Waits(list[float]):
    """Takes the place of sleeping."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


async def called(
    server: LocalServer,
    client: Client,
    waits: Waits,
    given: Request | None = None,
    **how: object,
) -> list[StreamEvent | Answer]:
    events = stream(
        given or request(),
        server.endpoint(),
        client=client,
        sleep=waits,
        **how,  # type: ignore[arg-type]
    )
    async with aclosing(events):
        return [one async for one in events]


def answer_of(events: list[StreamEvent | Answer]) -> Answer:
    assert isinstance(events[-1], Answer)
    return events[-1]


async def test_an_answer_streams_and_ends_with_its_usage() -> None:
    async with serving(Reply(chat("hel", "lo"))) as server, Client() as client:
        events = await called(server, client, Waits())
        assert [one.text for one in events if isinstance(one, TextDelta)] == ["hel", "lo"]
        answer = answer_of(events)
        assert answer.outcome == "finished"
        assert answer.stop == "stop"
        assert answer.usage.input == 7
        assert answer.usage.output == 3
        assert server.asked[0].json["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_a_passing_trouble_is_tried_again_with_the_same_bytes(status: int) -> None:
    async with (
        serving(problem(status), problem(status), Reply(chat("ok"))) as server,
        Client() as client,
    ):
        waits = Waits()
        heard: list[Retrying] = []
        events = await called(server, client, waits, on_retry=heard.append)
        assert answer_of(events).outcome == "finished"
        assert len({one.body for one in server.asked}) == 1
        assert [one.attempt for one in heard] == [1, 2]
        assert waits == [one.wait_s for one in heard]
        assert waits[0] < waits[1]


async def test_the_provider_says_how_long_to_wait() -> None:
    slow = problem(429, "slow down", **{"retry-after": "7"})
    async with serving(slow, Reply(chat("ok"))) as server, Client() as client:
        waits = Waits()
        await called(server, client, waits)
        assert waits == [7.0]


async def test_one_that_asks_for_too_long_is_not_asked_again() -> None:
    async with (
        serving(problem(429, "tomorrow", **{"retry-after": "86400"})) as server,
        Client() as client,
    ):
        with pytest.raises(RateLimited) as caught:
            await called(server, client, Waits())
        assert caught.value.retry_after_s == 86400
        assert len(server.asked) == 1


@pytest.mark.parametrize(("status", "kind"), [(401, BadKey), (404, NotFound)])
async def test_what_would_fail_again_is_not_tried_again(
    status: int, kind: type[Exception]
) -> None:
    async with serving(problem(status)) as server, Client() as client:
        with pytest.raises(kind):
            await called(server, client, Waits())
        assert len(server.asked) == 1


async def test_patience_has_an_end() -> None:
    async with serving(problem(503)) as server, Client() as client:
        with pytest.raises(Overloaded):
            await called(server, client, Waits(), retries=Retries(tries=3))
        assert len(server.asked) == 3


BUSY = event({"error": {"message": "Overloaded", "type": "overloaded_error"}})


@pytest.mark.parametrize(
    "first",
    [
        Reply(then="cut"),
        Reply(),
        Reply([BUSY]),
        Reply([b"data: {broken\n\n", *chat("x")]),
    ],
    ids=["cut", "ended", "an error", "damaged"],
)
async def test_what_goes_wrong_before_the_first_piece_is_tried_again(
    first: Reply,
) -> None:
    async with serving(first, Reply(chat("ok"))) as server, Client() as client:
        events = await called(server, client, Waits())
        assert answer_of(events).outcome == "finished"
        assert [one.text for one in events if isinstance(one, TextDelta)] == ["ok"]
        assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("late", "outcome", "kind"),
    [
        ([BUSY], "failed", Overloaded),
        ([b"data: {broken\n\n", *chat("CCC")], "dropped", DamagedAnswer),
    ],
)
async def test_what_goes_wrong_after_the_first_piece_ends_the_answer(
    late: list[bytes], outcome: str, kind: type[Exception]
) -> None:
    reply = Reply([*chat("half", done=False), *late])
    async with serving(reply) as server, Client() as client:
        answer = answer_of(await called(server, client, Waits()))
        assert (answer.outcome, type(answer.error)) == (outcome, kind)
        assert [part.text for part in answer.message.of_type(TextPart)] == ["half"]
        assert len(server.asked) == 1


async def test_a_server_that_refuses_to_be_asked_for_usage_is_not_asked_again() -> None:
    refusal = problem(400, "Unrecognized request argument supplied: stream_options")
    async with (
        serving(refusal, Reply(chat("ok", usage=False))) as server,
        Client() as client,
    ):
        answer = answer_of(await called(server, client, Waits()))
        assert answer.outcome == "finished"
        assert answer.usage.input is None
        await called(server, client, Waits())
        expected = [True, False, False]
        assert ["stream_options" in one.json for one in server.asked] == expected


async def test_a_server_that_can_not_drop_bound_thinking_is_not_asked_to_again() -> None:
    refusal = problem(
        400, "thinking.adaptive.block_binding: Extra inputs are not permitted"
    )
    body = b'{"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}'
    asked = replace(
        request(wire="messages", streamed=False),
        model="claude-fable-5-2",
        provider="anthropic",
    )
    async with serving(refusal, Reply([body])) as server, Client() as client:
        endpoint = server.endpoint("messages", "anthropic")
        for _ in range(2):
            answer = await ask(asked, endpoint, client=client, sleep=Waits())
            assert answer.outcome == "finished"
        assert ["thinking" in one.json for one in server.asked] == [True, False, False]


async def test_a_refusal_of_bound_thinking_is_not_taken_for_an_unknown_field() -> None:
    said = "messages.1.content.0: Invalid `signature` in `thinking` block. "
    said += "The block is bound to a different conversation. "
    said += 'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    asked = replace(
        request(wire="messages", streamed=False),
        model="claude-fable-5-2",
        provider="anthropic",
    )
    async with serving(problem(400, said)) as server, Client() as client:
        endpoint = server.endpoint("messages", "anthropic")
        with pytest.raises(WrongConversation, match="reasoning = 'none'"):
            await ask(asked, endpoint, client=client, sleep=Waits())
        assert len(server.asked) == 1


async def test_a_whole_answer_needs_no_stream() -> None:
    body = b'{"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}'
    whole = Reply([body], headers={"content-type": "application/json"})
    async with serving(whole) as server, Client() as client:
        for streamed in (
            False,
            True,
        ):  # a server may answer whole though it was asked to stream
            events = await called(server, client, Waits(), request(streamed=streamed))
            assert [
                part.text for part in answer_of(events).message.of_type(TextPart)
            ] == ["hi"]
        assert (await ask(request(), server.endpoint(), client=client)).stop == "stop"


async def test_a_page_of_a_proxy_is_no_answer() -> None:
    page = Reply([b"<html>Sign in</html>"], headers={"content-type": "text/html"})
    async with serving(page) as server, Client() as client:
        with pytest.raises(ServerError, match="text/html"):
            await called(server, client, Waits(), retries=Retries(tries=1))


async def test_tools_that_went_out_under_another_name_come_back_under_ours() -> None:
    tool = Tool(name="my.tool")
    prepared = prepare(request(tools=(tool,)), LocalServer().endpoint())
    (sent,) = prepared.repaired.names
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": sent, "arguments": "{}"},
    }
    pieces = [
        event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}),
        event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        b"data: [DONE]\n\n",
    ]
    async with serving(Reply(pieces)) as server, Client() as client:
        events = await called(server, client, Waits(), request(tools=(tool,)))
        assert server.asked[0].json["tools"][0]["function"]["name"] == sent
        assert {one.name for one in events if isinstance(one, CallDelta)} == {"my.tool"}
        assert [
            part.name for part in answer_of(events).message.of_type(ToolCallPart)
        ] == ["my.tool"]


async def test_cancelling_closes_the_connection_at_once() -> None:
    async with (
        serving(Reply(chat("a", done=False), then="hang")) as server,
        Client() as client,
    ):
        got = asyncio.Event()

        async def run() -> None:
            async with aclosing(
                stream(request(), server.endpoint(), client=client)
            ) as events:
                async for _ in events:
                    got.set()

        task = asyncio.ensure_future(run())
        await asyncio.wait_for(got.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.gone.wait(), 60)


def test_the_name_of_a_held_answer_stays_one_step_of_the_path() -> None:
    endpoint = Endpoint(
        provider="gateway", wire="responses", base_url="https://gateway.example/v1"
    )
    name = "../keys/delete?all=1#"
    post = prepare(request(wire="responses"), endpoint, response=name).post
    assert post.path == "/responses/..%2Fkeys%2Fdelete%3Fall%3D1%23?stream=true"
