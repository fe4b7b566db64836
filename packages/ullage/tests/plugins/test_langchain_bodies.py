"""The body that a chat model would send, and LangChain's messages for it."""

from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from ullage.plugins.langchain_bodies import (
    body_of,
    messages_from,
    summary_settings,
)


def look(cask: int) -> str:
    """Look at a cask."""
    return str(cask)


def call(name: str) -> Any:
    return {"name": "look", "args": {"cask": 1}, "id": name, "type": "tool_call"}


TOOLS = {"tools": [convert_to_openai_tool(look)]}
TALK: list[BaseMessage] = [
    SystemMessage("You look after casks."),
    HumanMessage("Look at two."),
    AIMessage("I will look.", tool_calls=[call("a"), call("b")]),
    ToolMessage("full", tool_call_id="a"),
    ToolMessage("empty", tool_call_id="b"),
    HumanMessage("And now?"),
    AIMessage("All is well."),
]


class FakeMerging(FakeListChatModel):
    """Builds bodies of Messages as langchain-anthropic does, which isn't installed here."""

    def _get_request_payload(self, messages: Any, **kwargs: Any) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        for message in messages:
            if isinstance(message, SystemMessage):
                continue
            if isinstance(message, AIMessage):
                items.append({"role": "assistant", "content": message.content})
                continue
            block: dict[str, Any] = {"type": "text", "text": message.content}
            if isinstance(message, ToolMessage):
                block = {
                    "type": "tool_result",
                    "tool_use_id": message.tool_call_id,
                    "content": message.content,
                }
            if items and items[-1]["role"] == "user":
                items[-1]["content"].append(block)
            else:
                items.append({"role": "user", "content": [block]})
        return {"model": "m", "max_tokens": 9, "system": "s", "messages": items}


def chat(**more: Any) -> ChatOpenAI:
    return ChatOpenAI(model="nobody-knows-this", api_key=SecretStr("none"), **more)


MODELS = {
    "chat": chat(),
    "responses": chat(use_responses_api=True),
    "merging": FakeMerging(responses=[]),
    "other": FakeListChatModel(responses=[]),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_a_body_that_is_not_changed_gives_the_same_objects(name: str) -> None:
    made = body_of(MODELS[name], TALK, {})
    back = made.messages_of(made.body)
    asked = TALK if name != "merging" else [back[0], *TALK[1:]]
    assert [id(each) for each in back] == [id(each) for each in asked]


@pytest.mark.parametrize("name", ["chat", "responses"])
def test_the_body_is_the_one_that_the_chat_model_itself_makes(name: str) -> None:
    made = body_of(MODELS[name], TALK, TOOLS)
    assert made.is_exact
    assert made.body["model"] == "nobody-knows-this"
    assert [tool["type"] for tool in made.body["tools"]] == ["function"]


def test_another_chat_model_is_converted_by_langchain_with_its_tools() -> None:
    made = body_of(MODELS["other"], TALK, TOOLS)
    assert not made.is_exact
    assert len(made.body["messages"]) == len(TALK)
    assert made.body["tools"][0]["function"]["name"] == "look"


def test_a_replaced_item_becomes_a_new_message_and_the_others_stay() -> None:
    made = body_of(MODELS["chat"], TALK, {})
    items = list(made.body["messages"])
    items[3] = {**items[3], "content": "[cleared]"}
    back = made.messages_of({**made.body, "messages": items})
    assert back[3] == ToolMessage("[cleared]", tool_call_id="a")
    assert all(back[at] is TALK[at] for at in range(7) if at != 3)


def test_of_a_message_with_several_items_those_left_make_a_new_one() -> None:
    made = body_of(MODELS["responses"], TALK, {})
    items = [
        item
        for item in made.body["input"]
        if item.get("type") != "function_call" or item["call_id"] == "a"
    ]
    back = made.messages_of({**made.body, "input": items})
    answer = back[2]
    assert isinstance(answer, AIMessage)
    assert [each["id"] for each in answer.tool_calls] == ["a"]
    assert answer.text == "I will look."


def test_items_of_messages_that_share_one_give_results_before_words() -> None:
    made = body_of(MODELS["merging"], TALK, {})
    items = list(made.body["messages"])
    first, second, said = items[2]["content"]
    items[2] = {
        "role": "user",
        "content": [{**first, "content": "[cleared]"}, second, said],
    }
    back = made.messages_of({**made.body, "messages": items})
    kinds = [type(each).__name__ for each in back[3:6]]
    assert kinds == ["ToolMessage", "ToolMessage", "HumanMessage"]
    assert back[3].content == "[cleared]"


def test_a_summary_stands_where_it_was_put() -> None:
    made = body_of(MODELS["chat"], TALK, {})
    summary = {"role": "user", "content": "So far: all is well."}
    items = [made.body["messages"][0], summary, *made.body["messages"][5:]]
    back = made.messages_of({**made.body, "messages": items})
    assert back == [TALK[0], HumanMessage("So far: all is well."), *TALK[5:]]


def test_a_system_prompt_outside_of_the_items_comes_first() -> None:
    made = body_of(MODELS["chat"], TALK, {})
    asked = {"instructions": "Sum up.", "messages": [{"role": "user", "content": "x"}]}
    assert made.messages_of(asked) == [SystemMessage("Sum up."), HumanMessage("x")]


@pytest.mark.parametrize(
    "items",
    [
        [{"role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}],
        [{"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}],
        [{"role": "assistant", "content": "Yes."}],
    ],
    ids=["responses", "messages", "chat"],
)
def test_an_answer_of_any_wire_is_an_answer(items: list[dict[str, Any]]) -> None:
    (made,) = messages_from(items)
    assert isinstance(made, AIMessage)
    assert made.text == "Yes."


def test_calls_inside_of_content_are_calls() -> None:
    block = {"type": "tool_use", "id": "a", "name": "look", "input": {"cask": 1}}
    (made,) = messages_from([{"role": "assistant", "content": [block]}])
    assert isinstance(made, AIMessage)
    assert made.tool_calls == [call("a")]


def test_reasoning_and_calls_of_one_answer_are_one_message() -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}
    asked = {"type": "function_call", "call_id": "a", "name": "look"}
    items: list[dict[str, Any]] = [reasoning, {**asked, "arguments": '{"cask": 1}'}]
    (made,) = messages_from(items)
    assert isinstance(made, AIMessage)
    assert made.content == [reasoning]
    assert made.tool_calls == [call("a")]


def test_a_summary_is_asked_for_with_the_same_tools_and_its_own_length() -> None:
    made = body_of(MODELS["chat"], TALK, TOOLS)
    asked = {"tools": ["any"], "max_completion_tokens": 500, "temperature": 1}
    assert summary_settings(made, asked) == {**TOOLS, "max_completion_tokens": 500}
    assert summary_settings(made, {}) == {}
