"""What a provider gives comes back to it byte for byte: wire, words, JSON, words, wire, in streams and without.

One test for each datum that other libraries were seen to lose or to alter, in the order of that comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from ullage_simulators import Scenario, Server, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.faults import Fault
from ullage_simulators.scenario import ScriptLine, When

from tests.integration.conversation import (
    ANTHROPIC,
    BOUND_CLAUDE,
    CHAT,
    DEEPSEEK,
    GEMINI,
    MOONSHOT,
    OLDER_GEMINI,
    OPENROUTER,
    RESPONSES,
    Conversation,
    Dialect,
    Sent,
)
from ullage.encoding import decode_event, encode
from ullage.events import MessageAdded
from ullage.messages import Message, ProviderItem, ReasoningPart, TextPart, ToolCallPart

SPACED = '{ "path" :\t"häll/\\u00fc.txt",  "n": 1.50 }'
"""Arguments as a model may write them: spaces, an escape that need not be one, a number with a zero too many."""
ANTHROPIC_ITEM = {
    "type": "later_block",
    "data": "b3BhcXVl",
    "n": 1.50,
    "inner": {"b": 1, "a": [None, ""]},
}
RESPONSES_ITEM = {
    "id": "lt_01",
    "type": "later_item",
    "blob": "b3BhcXVl",
    "inner": {"b": 1, "a": [None, ""]},
}

LINES = (
    ScriptLine(
        ScriptedAnswer("Sealed away.", "", (Call("read", SPACED),), redacted=True),
        When(contains="redacted"),
    ),
    ScriptLine(
        ScriptedAnswer(
            "Hm.", "Something new.", (Call("read", SPACED),), extra=(ANTHROPIC_ITEM,)
        ),
        When(contains="new block"),
    ),
    ScriptLine(
        ScriptedAnswer(
            "Hm.", "Something new.", (Call("read", SPACED),), extra=(RESPONSES_ITEM,)
        ),
        When(contains="new item"),
    ),
    ScriptLine(
        ScriptedAnswer(
            "A longer thought, about labels and shelves.",
            "It is in the hall, on the left.",
        ),
        When(contains="tell"),
    ),
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


def values(raw: bytes, name: str) -> list[str]:
    """Every value of a field that is text, as the bytes between its quotes, from a body or from the events."""
    return re.findall(rf'"{name}":\s*"((?:[^"\\]|\\.)*)"', raw.decode())


def answered(sent: Sent) -> dict[str, Any]:
    """The assistant's part of a body, for the wires that keep it in one message."""
    place = "contents" if sent.dialect.wire == "generateContent" else "messages"
    found: dict[str, Any] = next(
        one for one in sent.body[place] if one["role"] in ("assistant", "model")
    )
    return found


def blocks(sent: Sent, kind: str) -> list[dict[str, Any]]:
    return [block for block in answered(sent)["content"] if block["type"] == kind]


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


def parts(sent: Sent, holding: str) -> list[dict[str, Any]]:
    """The parts of a Gemini answer that hold a field, from the events or from the body."""
    lines = (
        sent.received.splitlines() if sent.request.stream else [b"data: " + sent.received]
    )
    read = [
        msgspec.json.decode(line[6:]) for line in lines if line.startswith(b"data: {")
    ]
    return [
        part
        for one in read
        for part in one["candidates"][0]["content"]["parts"]
        if holding in part
    ]


def test_anthropic_thinking_and_its_signature(server: Server, streamed: bool) -> None:
    first, back = second(server, ANTHROPIC, "look", streamed=streamed)
    (thinking,) = blocks(back, "thinking")
    assert thinking.keys() == {"type", "thinking", "signature"}
    assert thinking["thinking"] == "I had better look."
    assert [thinking["signature"]] == [
        found for found in values(first.received, "signature") if found
    ]


def test_anthropic_thinking_whose_text_is_withheld(
    server: Server, streamed: bool
) -> None:
    params = {"max_tokens": 9_000, "thinking": {"type": "adaptive", "display": "omitted"}}
    first, back = second(
        server, replace(BOUND_CLAUDE, params=params), "look", streamed=streamed
    )
    (thinking,) = blocks(back, "thinking")
    assert thinking["thinking"] == ""
    assert [thinking["signature"]] == [
        found for found in values(first.received, "signature") if found
    ]


def test_anthropic_redacted_thinking(server: Server, streamed: bool) -> None:
    first, back = second(server, ANTHROPIC, "redacted", streamed=streamed)
    (redacted,) = blocks(back, "redacted_thinking")
    assert redacted == {
        "type": "redacted_thinking",
        "data": values(first.received, "data")[0],
    }


def test_an_openai_reasoning_item_with_its_id_and_encrypted_content(
    server: Server, streamed: bool
) -> None:
    first, back = second(server, RESPONSES, "look", streamed=streamed)
    (given,) = (item for item in output(first) if item["type"] == "reasoning")
    assert items(back, "reasoning") == [given]
    assert given["encrypted_content"].encode() in back.encoded.content


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
    ("said", "phase"), [("look", "commentary"), ("tell", "final_answer")]
)
def test_the_phase_and_the_id_of_an_openai_message(
    server: Server, said: str, phase: str, streamed: bool
) -> None:
    first, back = second(server, RESPONSES, said, streamed=streamed)
    (given,) = (item for item in output(first) if item["type"] == "message")
    (message,) = (item for item in items(back, "message") if item["role"] == "assistant")
    assert message["phase"] == phase == given["phase"]
    assert message["id"] == given["id"]


def test_a_function_call_item_of_openai_keeps_its_two_ids(
    server: Server, streamed: bool
) -> None:
    first, back = second(server, RESPONSES, "look", streamed=streamed)
    given = [item for item in output(first) if item["type"] == "function_call"]
    for name in ("id", "call_id", "name", "arguments"):
        assert [item[name] for item in items(back, "function_call")] == [
            item[name] for item in given
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


@pytest.mark.parametrize(
    "dialect", [pytest.param(one, id=one.name) for one in (GEMINI, OLDER_GEMINI)]
)
def test_a_gemini_call_with_its_signature_and_no_id_of_ours(
    server: Server, dialect: Dialect, streamed: bool
) -> None:
    first, back = second(server, dialect, "look", streamed=streamed)
    calls = [part for part in answered(back)["parts"] if "functionCall" in part]
    assert [
        call["thoughtSignature"] for call in calls if "thoughtSignature" in call
    ] == values(first.received, "thoughtSignature")
    assert "thoughtSignature" in calls[0]
    assert [call["functionCall"] for call in calls] == [
        part["functionCall"] for part in parts(first, "functionCall")
    ]
    assert all(("id" in call["functionCall"]) == (dialect is GEMINI) for call in calls)
    results = [
        part for part in back.body["contents"][-1]["parts"] if "functionResponse" in part
    ]
    assert all(
        ("id" in part["functionResponse"]) == (dialect is GEMINI) for part in results
    )


def test_gemini_text_with_a_signature_is_not_merged_with_the_text_before_it(
    server: Server, streamed: bool
) -> None:
    first, back = second(server, GEMINI, "tell", streamed=streamed)
    said = [part for part in answered(back)["parts"] if not part.get("thought")]
    (signature,) = values(first.received, "thoughtSignature")
    assert "".join(part["text"] for part in said) == "It is in the hall, on the left."
    assert [part.get("thoughtSignature") for part in said][-1] == signature
    assert [part["text"] for part in said if "thoughtSignature" in part] == (
        [""] if streamed else [said[-1]["text"]]
    )


@pytest.mark.parametrize(
    "dialect", [pytest.param(one, id=one.name) for one in (DEEPSEEK, MOONSHOT)]
)
def test_deepseeks_and_kimis_reasoning_content(
    server: Server, dialect: Dialect, streamed: bool
) -> None:
    _, back = second(server, dialect, "look", streamed=streamed)
    assert answered(back)["reasoning_content"] == "I had better look."
    assert "reasoning" not in answered(back)


def test_openrouters_reasoning_details_with_their_signature_and_nothing_added(
    server: Server, streamed: bool
) -> None:
    first, back = second(server, OPENROUTER, "look", streamed=streamed)
    (signature,) = values(first.received, "signature")
    (detail,) = answered(back)["reasoning_details"]
    assert detail == {
        "type": "reasoning.text",
        "text": "I had better look.",
        "signature": signature,
        "format": "anthropic-claude-v1",
        "index": 0,
    }


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        pytest.param(ANTHROPIC, "new block", id="anthropic"),
        pytest.param(RESPONSES, "new item", id="responses"),
    ],
)
def test_an_item_of_a_kind_nobody_knows_comes_back_whole(
    server: Server, dialect: Dialect, said: str, streamed: bool
) -> None:
    _, back = second(server, dialect, said, streamed=streamed)
    item = ANTHROPIC_ITEM if dialect is ANTHROPIC else RESPONSES_ITEM
    assert len(list(back.request.messages[1].of_type(ProviderItem))) == 1
    assert msgspec.json.encode(item) in back.encoded.content


ALL = (ANTHROPIC, RESPONSES, CHAT, GEMINI, DEEPSEEK, OPENROUTER)


@pytest.mark.parametrize("dialect", [pytest.param(one, id=one.name) for one in ALL])
@pytest.mark.parametrize("kind", ["unknown-events", "duplicate-events"])
def test_events_nobody_knows_and_events_that_come_twice_change_nothing(
    dialect: Dialect, kind: Any
) -> None:
    heard = []
    for faults in ((), (Fault(kind),)):
        with running(Scenario(answers=LINES, faults=faults), seed=3) as server:
            first, back = second(server, dialect, "look", streamed=True)
        heard.append((first.answer.message, first.answer.usage, back.encoded.content))
    assert heard[0] == heard[1]


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
