"""Arguments, reasoning of an unknown model, and answers that broke off, through the simulators over HTTP and back.

``packages/ullage/tests/codec/test_fidelity.py`` has a test for each datum of a provider that goes back byte for byte.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.integration.conversation import (
    ANTHROPIC,
    CHAT,
    DEEPSEEK,
    GEMINI,
    MOONSHOT,
    OPENROUTER,
    RESPONSES,
    Conversation,
    Dialect,
    Sent,
)
from ullage.encoding import decode_event, encode
from ullage.events import MessageAdded
from ullage.messages import Message, ReasoningPart, TextPart, ToolCallPart
from ullage_simulators import Scenario, Server, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.faults import Fault
from ullage_simulators.scenario import ScriptLine, When

SPACED = '{ "path" :\t"häll/\\u00fc.txt",  "n": 1.50 }'
"""Arguments as a model may write them: spaces, an escape that need not be one, a number with a zero too many."""

LINES = (
    ScriptLine(
        ScriptedAnswer(
            "I had better look.", "I look.", (Call("read", SPACED), Call("list", "{}"))
        ),
        When(contains="look"),
    ),
)


def through_json(message: Message) -> Message:
    """As it is when it was stored and read again."""
    event = decode_event(encode(MessageAdded(message=message)))
    assert isinstance(event, MessageAdded)
    assert event.message == message
    return event.message


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Scenario(answers=LINES), seed=3) as server:
        yield server


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def second(
    server: Server, dialect: Dialect, said: str, *, streamed: bool
) -> tuple[Sent, Sent]:
    """The call that made an answer, and the one that sent it back."""
    with Conversation(server, stream=streamed, stored=through_json) as conversation:
        conversation.say(said)
        answer = conversation.ask(dialect)
        if any(answer.message.of_type(ToolCallPart)):
            conversation.give("found")
        else:
            conversation.say("thanks")
        conversation.ask(dialect)
        return conversation.sent[0], conversation.sent[1]


def items(sent: Sent, kind: str) -> list[dict[str, Any]]:
    return [item for item in sent.body["input"] if item.get("type") == kind]


def output(sent: Sent) -> list[dict[str, Any]]:
    """The items of a Responses answer, from the event that ends it or from the body."""
    if not sent.request.stream:
        return list(msgspec.json.decode(sent.received)["output"])
    events = [
        msgspec.json.decode(line[6:])
        for line in sent.received.splitlines()
        if line.startswith(b"data: {")
    ]
    return list(
        next(each["response"] for each in events if each["type"] == "response.completed")[
            "output"
        ]
    )


def test_an_openai_reasoning_item_of_a_model_nobody_has_heard_of(streamed: bool) -> None:
    model = next(each for each in Scenario().models if each.name == "gpt-5.5")
    unheard = replace(model, name="house-model-1")
    with running(Scenario(answers=LINES, models=(unheard,)), seed=3) as server:
        first, back = second(
            server, replace(RESPONSES, model="house-model-1"), "look", streamed=streamed
        )
    assert items(back, "reasoning") == [
        item for item in output(first) if item["type"] == "reasoning"
    ]
    assert "I had better look." not in [
        part["text"]
        for item in items(back, "message")
        if item["role"] == "assistant"
        for part in item["content"]
    ]


@pytest.mark.parametrize(
    "dialect",
    [pytest.param(one, id=one.name) for one in (RESPONSES, CHAT, DEEPSEEK, MOONSHOT)],
)
def test_the_bytes_of_a_calls_arguments(
    server: Server, dialect: Dialect, streamed: bool
) -> None:
    _, back = second(server, dialect, "look", streamed=streamed)
    assert msgspec.json.encode(SPACED) in back.encoded.content
    assert [
        call.arguments for call in back.request.messages[1].of_type(ToolCallPart)
    ] == [
        SPACED,
        "{}",
    ]


def test_the_bytes_of_arguments_that_anthropic_streams(server: Server) -> None:
    _, back = second(server, ANTHROPIC, "look", streamed=True)
    assert f'"input":{SPACED}'.encode() in back.encoded.content


def cut_after(dialect: Dialect, mark: bytes) -> Conversation:
    """A conversation whose first answer broke right behind ``mark``; it has gone on since."""
    with running(Scenario(answers=LINES), seed=3) as server:
        first, _ = second(server, dialect, "look", streamed=True)
    at = first.received.index(mark) + len(mark)
    with (
        running(
            Scenario(answers=LINES, faults=(Fault("cut", request=1, at=at),)), seed=3
        ) as server,
        Conversation(server, stored=through_json) as conversation,
    ):
        conversation.say("look")
        broken = conversation.ask(dialect, whole=False)
        assert broken.outcome == "dropped"
        conversation.say("and now?")
        assert conversation.ask(dialect).outcome == "finished"
        return conversation


HALF_THOUGHTS = [
    pytest.param(ANTHROPIC, b"I had better loo", id="anthropic"),
    pytest.param(RESPONSES, b'"delta":"I had better loo"', id="responses"),
    pytest.param(GEMINI, b'"text":"I had better loo","thought":true', id="gemini"),
    pytest.param(DEEPSEEK, b'"reasoning_content":"I had better loo"', id="deepseek"),
    pytest.param(OPENROUTER, b'"text":"I had better loo"', id="openrouter"),
]


@pytest.mark.parametrize(("dialect", "mark"), HALF_THOUGHTS)
def test_half_a_thought_of_an_answer_that_broke_is_never_sent_as_text(
    dialect: Dialect, mark: bytes
) -> None:
    sent = cut_after(dialect, mark + b'"}}\n\n' if dialect is ANTHROPIC else mark).sent[1]
    assert b"had better" not in sent.encoded.content


def test_half_a_thought_of_an_answer_that_broke_is_kept_in_the_history() -> None:
    held = cut_after(ANTHROPIC, b'I had better loo"}}\n\n').messages[1]
    assert [part.text for part in held.of_type(ReasoningPart)] == ["I had better loo"]
    assert held.interrupted


CUT_CALLS = [
    pytest.param(ANTHROPIC, b'"partial_json":"{ \\"path', id="anthropic"),
    pytest.param(RESPONSES, b"response.function_call_arguments.delta", id="responses"),
    pytest.param(CHAT, b'"arguments":"{ \\"path', id="chat"),
    pytest.param(DEEPSEEK, b'"arguments":"{ \\"path', id="deepseek"),
    pytest.param(GEMINI, b'"functionCall":{"name":"read"', id="gemini"),
]


@pytest.mark.parametrize(("dialect", "mark"), CUT_CALLS)
def test_a_call_that_was_cut_is_answered_or_left_out_and_never_blocks_what_follows(
    dialect: Dialect, mark: bytes
) -> None:
    conversation = cut_after(dialect, mark)
    assert b"INVALID_JSON" not in conversation.sent[1].encoded.content
    said = "".join(part.text for part in conversation.messages[1].of_type(TextPart))
    assert said == "I look."
    assert msgspec.json.encode(said) in conversation.sent[1].encoded.content
