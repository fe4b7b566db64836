"""Reasoning is sent whole, to whom it belongs, with what follows it, or not at all."""

import json

import pytest
from msgspec.structs import replace

from tests.codec.histories import data
from tests.codec.test_repair import call, request, user
from ullage.codec.repair import repair
from ullage.codec.repair_parts import NO_REASONING, NO_SIGNATURE
from ullage.messages import (
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from ullage.reasoning import ReasoningPolicy

Target = tuple[str, str, str]
CLAUDE = ("messages", "anthropic", "claude-opus-4-5")
GPT = ("responses", "openai", "gpt-5.2")
GEMINI = ("generateContent", "google", "gemini-3-pro")
DEEPSEEK = ("chat", "deepseek", "deepseek-v4-pro")
RS = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA", "summary": []}
SAID = TextPart(id="said", text="so")


def answer(
    parts: tuple[Part, ...], to: Target, interrupted: str | None = None
) -> tuple[Part, ...]:
    message = Message(id="a", role="assistant", parts=parts, interrupted=interrupted)
    repaired = repair(request(user("u"), message, user("v"), target=to)).request
    return next((one.parts for one in repaired.messages if one.id == "a"), ())


def thought(fields: object, of: Target) -> ReasoningPart:
    return ReasoningPart(id="th", text="hm", provider=data(fields, of))


@pytest.mark.parametrize(
    ("of", "to", "kept"),
    [
        (("messages", "anthropic", "claude-haiku-4-5"), CLAUDE, True),
        (("messages", "bedrock", "claude-opus-4-5"), CLAUDE, True),
        (("messages", "deepseek", "deepseek-v4-pro"), CLAUDE, False),
        (("responses", "openai", "gpt-5.2-2025-12-11"), GPT, True),
        (("responses", "openai", "gpt-5"), GPT, False),
        (("responses", "azure", "gpt-5.2"), GPT, False),
        (("chat", "openrouter", "deepseek/deepseek-v4"), DEEPSEEK, False),
    ],
)
def test_who_can_read_whose_reasoning(of: Target, to: Target, kept: bool) -> None:
    parts = answer((thought({**RS, "signature": "x"}, of), SAID), to)
    assert any(part.id == "th" for part in parts) is kept


def test_unfinished_thinking_is_left_out() -> None:
    assert answer(
        (ReasoningPart(id="th", text="I was ab"), SAID), CLAUDE, "cancelled"
    ) == (SAID,)
    assert answer((thought({"id": "rs_1", "summary": []}, GPT), SAID), GPT) == (SAID,)


def test_reasoning_with_nothing_after_it_is_left_out() -> None:
    assert answer((SAID, thought({"signature": "x"}, CLAUDE)), CLAUDE) == (SAID,)
    assert answer((thought({"signature": "x"}, CLAUDE),), CLAUDE) == ()


def test_an_item_whose_reasoning_is_gone_loses_its_own_id() -> None:
    held = data({"id": "fc_1", "n": 1}, GPT)
    named = ToolCallPart(id="c", call_id="c", name="f", arguments="{}", provider=held)
    kept = answer((thought(RS, ("responses", "azure", "gpt-5.2")), named), GPT)
    (part,) = kept
    assert isinstance(part, ToolCallPart)
    assert part.provider is not None
    assert json.loads(bytes(part.provider.data)) == {"n": 1}


def test_a_stored_response_may_name_its_reasoning() -> None:
    message = Message(
        id="a", role="assistant", parts=(thought({"id": "rs_1"}, GPT), SAID)
    )
    asked = request(user("u"), message, user("v"), target=GPT)
    assert message in repair(replace(asked, chained="resp_1")).request.messages
    asked.params["store"] = True  # which the encoder does not send
    assert message not in repair(asked).request.messages


def test_gemini_3_gets_the_documented_stand_in_on_the_first_call_of_a_step() -> None:
    first, second = answer((call("c1", "1"), call("c2", "2")), GEMINI)
    assert isinstance(first, ToolCallPart)
    assert first.provider is not None
    assert json.loads(bytes(first.provider.data)) == {"thoughtSignature": NO_SIGNATURE}
    assert second == call("c2", "2")
    assert answer(
        (call("c1", "1"),), ("generateContent", "google", "gemini-2.5-pro")
    ) == (call("c1", "1"),)


def test_deepseek_gets_a_blank_for_reasoning_it_never_gave() -> None:
    blank, _ = answer((SAID,), DEEPSEEK)
    assert isinstance(blank, ReasoningPart)
    assert blank.provider is not None
    assert json.loads(bytes(blank.provider.data)) == {"reasoning_content": NO_REASONING}
    assert answer((SAID,), ("chat", "groq", "deepseek-r1")) == (SAID,)


def test_a_server_tools_call_that_was_cut_is_left_out() -> None:
    held = data({"type": "server_tool_use", "id": "s1"}, CLAUDE)
    item = ProviderItem(id="i", kind="server_tool_use", provider=held)
    assert answer((SAID, item), CLAUDE, "cancelled") == (SAID,)
    assert answer((SAID, item), CLAUDE) == (SAID, item)


def test_what_the_application_holds_back_leaves_a_valid_request() -> None:
    parts = (thought({"reasoning_content": None}, DEEPSEEK), SAID)
    message = Message(id="a", role="assistant", parts=parts)
    asked = request(user("u"), message, user("v"), target=DEEPSEEK)
    bare = repair(asked, policy=ReasoningPolicy(strip="all"))
    blank, said = bare.request.messages[1].parts
    assert isinstance(blank, ReasoningPart)
    assert blank.text == NO_REASONING
    assert said is SAID
    named = TextPart(id="t", text="so", provider=data({"id": "msg_1"}, GPT))
    message = Message(id="a", role="assistant", parts=(thought(RS, GPT), named))
    (part,) = (
        repair(
            request(user("u"), message, user("v"), target=GPT),
            policy=ReasoningPolicy(strip="all"),
        )
        .request.messages[1]
        .parts
    )
    assert part == TextPart(id="t", text="so")


def test_reasoning_that_names_no_field_of_chats_is_left_out() -> None:
    blank, said = answer((thought({}, DEEPSEEK), SAID), DEEPSEEK)
    assert isinstance(blank, ReasoningPart)
    assert (blank.text, said) == (NO_REASONING, SAID)
