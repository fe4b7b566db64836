"""The requests of a loop over the wire: the same bytes as one at a time, with retries and another provider between."""

from contextlib import aclosing

from tests.wire.local_server import Reply, chat, serving
from ullage.codec.history import History
from ullage.codec.stream import Answer
from ullage.messages import Message, Request, TextPart
from ullage.wire.call import prepare, stream
from ullage.wire.client import Client
from ullage.wire.endpoints import Endpoint


def user(name: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.t", text="hello"),))


async def test_a_loop_sends_what_single_requests_send() -> None:
    replies = (Reply(chat("one")), Reply(chat("two")), Reply(chat("three")))
    async with serving(*replies) as server, Client() as client:
        history = History()
        endpoint = server.endpoint()
        added: tuple[Message, ...] = (user("u"),)
        for at in range(3):
            request = Request(
                wire="chat", model="m", messages=history.extended(added), stream=True
            )
            events = stream(
                request, endpoint, client=client, history=history, message_id=f"a{at}"
            )
            async with aclosing(events):
                answer = [one async for one in events][-1]
            assert isinstance(answer, Answer)
            assert server.asked[at].body == prepare(request, endpoint).post.content
            added = (answer.message, user(f"u{at}"))
        assert len(server.asked[2].json["messages"]) == 5


def test_another_endpoint_gets_its_own_form_of_the_same_session() -> None:
    history = History()
    messages: tuple[Message, ...] = (user("u"),)
    for at, (wire, provider) in enumerate(
        [("chat", "openai"), ("messages", "anthropic"), ("chat", "mistral")]
    ):
        endpoint = Endpoint(base_url="http://127.0.0.1:1", wire=wire, provider=provider)
        messages = (*messages, user(f"v{at}"))
        request = Request(wire="chat", model="m", messages=messages)
        made, whole = (
            prepare(request, endpoint, history=history),
            prepare(request, endpoint),
        )
        assert made.post == whole.post
        assert made.request == whole.request
        assert made.repaired == whole.repaired
