"""pydantic-ai's messages as items of a Chat body, and back to the very same objects."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from ullage.codec.bodies import read_body
from ullage.context.caller_items import Insert, Keep, Replace
from ullage.messages import ImagePart, ReasoningPart, ToolResultPart
from ullage.plugins.pydantic_ai_messages import (
    ChatRequest,
    chat_request,
    completion,
    usage_json,
)
from ullage_simulators.answer import Call
from ullage_simulators.answer import ScriptedAnswer as Scripted
from ullage_simulators.scenario import Scenario, ScriptLine, When
from ullage_simulators.server import running

NO_PARAMETERS = ModelRequestParameters()


def request_of(*messages: ModelMessage) -> ChatRequest:
    return chat_request(list(messages), NO_PARAMETERS, model="nobody-knows-this")


ASKED = ModelRequest(
    parts=[SystemPromptPart("Be brief."), UserPromptPart("What is in a.txt?")]
)
CALLED = ModelResponse(
    parts=[
        ThinkingPart("hm", signature="c2ln", provider_name="openai"),
        TextPart("Let me look."),
        ToolCallPart("read", {"path": "a.txt"}, "c1"),
        ToolCallPart("read", {"path": "b.txt"}, "c2"),
    ]
)
RESULTS = ModelRequest(
    parts=[
        ToolReturnPart("read", "forty-two", "c1"),
        ToolReturnPart("read", {"lines": 3}, "c2"),
        UserPromptPart("And now?"),
    ]
)
HISTORY: list[ModelMessage] = [ASKED, CALLED, RESULTS]


def kept(request: ChatRequest) -> tuple[Keep, ...]:
    return tuple(Keep(place) for place in range(len(request.body["messages"])))


async def test_a_body_is_what_pydantic_ai_itself_sends() -> None:
    class Weather(BaseModel):
        """The weather."""

        degrees: float

    answers = (
        ScriptLine(
            Scripted(calls=(Call(name="look", arguments='{"place": "here"}'),)),
            When(after="user"),
        ),
        ScriptLine(
            Scripted(calls=(Call(name="final_result", arguments='{"degrees": 20.5}'),)),
            When(after="tool"),
        ),
    )
    with running(Scenario(answers=answers), seed=3) as server:
        model = OpenAIChatModel(
            "gpt-4.1",
            provider=OpenAIProvider(base_url=server.url("openai"), api_key="any-key"),
        )
        agent = Agent(
            model,
            instructions="Look first.",
            system_prompt="Be brief.",
            output_type=Weather,
        )

        @agent.tool_plain
        def look(place: str) -> str:
            """Look at a place."""
            return "sunny"

        seen: list[ChatRequest] = []
        mapped = OpenAIChatModel.request

        class Seeing(OpenAIChatModel):
            async def request(self, *given: Any) -> ModelResponse:
                _, prepared = self.prepare_request(given[1], given[2])
                seen.append(chat_request(given[0], prepared, model=self.model_name))
                return await mapped(self, *given)

        with agent.override(model=Seeing("gpt-4.1", provider=model._provider)):
            result = await agent.run("How is the weather?")
        assert result.output.degrees == 20.5
        sent = [exchange.body for exchange in server.exchanges]
    assert len(seen) == len(sent) == 2
    for ours, theirs in zip(seen, sent, strict=True):
        for item in ours.body["messages"]:
            item.pop("name", None)  # which tool a result is of: Chat has no field for it
        assert ours.body["messages"] == theirs["messages"]
        assert ours.body["tools"] == theirs["tools"]
        assert ours.body["model"] == theirs["model"]


def test_messages_that_a_plan_keeps_are_the_same_objects() -> None:
    request = request_of(*HISTORY)
    for back, message in zip(request.messages(kept(request)), HISTORY, strict=True):
        assert back is message


def test_a_replaced_result_leaves_the_other_parts_as_they_are() -> None:
    request = request_of(*HISTORY)
    at = [item.get("tool_call_id") for item in request.body["messages"]].index("c1")
    plan = list(kept(request))
    body = {"role": "tool", "tool_call_id": "c1", "content": "[cleared]"}
    changed = request.messages((*plan[:at], Replace(at, body), *plan[at + 1 :]))
    assert changed[:2] == [ASKED, CALLED]
    assert changed[0] is ASKED
    assert changed[1] is CALLED
    cleared, other, said = changed[2].parts
    assert isinstance(cleared, ToolReturnPart)
    assert (cleared.content, cleared.tool_name) == ("[cleared]", "read")
    assert other is RESULTS.parts[1]
    assert said is RESULTS.parts[2]
    first = RESULTS.parts[0]
    assert isinstance(first, ToolReturnPart)
    assert first.content == "forty-two", "the program's own message is not touched"


def test_what_a_plan_inserts_is_a_request_of_its_own() -> None:
    request = request_of(*HISTORY)
    last = len(request.body["messages"]) - 1
    summary = {"role": "user", "content": "Earlier: a.txt was read."}
    made = request.messages((Keep(0), Insert(summary), Keep(last)))
    assert [type(message).__name__ for message in made] == ["ModelRequest"] * 3
    assert made[0].parts == [ASKED.parts[0]]
    assert made[1].parts[0].content == "Earlier: a.txt was read."  # type: ignore[union-attr]
    assert made[2].parts[0] is RESULTS.parts[2]


def test_a_replaced_answer_keeps_the_parts_that_are_not_changed() -> None:
    request = request_of(*HISTORY)
    at = [item["role"] for item in request.body["messages"]].index("assistant")
    item = json.loads(json.dumps(request.body["messages"][at]))
    item["tool_calls"][1]["function"]["arguments"] = '{"path": "…"}'
    plan = list(kept(request))
    answer = request.messages((*plan[:at], Replace(at, item), *plan[at + 1 :]))[1]
    assert [
        one is other for one, other in zip(answer.parts, CALLED.parts, strict=True)
    ] == [True, True, True, False]
    assert answer.parts[3].args == '{"path": "…"}'  # type: ignore[union-attr]


def test_an_answer_without_its_reasoning_goes_out_without_it() -> None:
    request = request_of(*HISTORY)
    at = [item["role"] for item in request.body["messages"]].index("assistant")
    item = dict(request.body["messages"][at])
    del item["reasoning_content"]
    plan = list(kept(request))
    answer = request.messages((*plan[:at], Replace(at, item), *plan[at + 1 :]))[1]
    assert [part.part_kind for part in answer.parts] == ["text", "tool-call", "tool-call"]


def test_instructions_are_counted_and_stay_beside_the_messages() -> None:
    asked = ModelRequest(
        parts=[UserPromptPart("Go on.")], instructions="Look after valves."
    )
    request = request_of(asked)
    assert request.body["messages"][0] == {
        "role": "system",
        "content": "Look after valves.",
    }
    (back,) = request.messages(kept(request))
    assert back is asked


def test_everything_in_a_history_is_read_as_what_it_is() -> None:
    picture = BinaryContent(b"\x89PNG\r\n\x1a\n" + bytes(40), media_type="image/png")
    asked = ModelRequest(
        parts=[
            UserPromptPart(
                ["What is this?", picture, ImageUrl("https://example.com/a.png")]
            )
        ]
    )
    native = NativeToolCallPart("web_search", {"query": "valves"}, tool_call_id="n1")
    said = ModelResponse(parts=[ThinkingPart("hm"), native, TextPart("A valve.")])
    result = ModelRequest(parts=[ToolReturnPart("look", ["seen", picture], "c9")])
    called = ModelResponse(parts=[ToolCallPart("look", {}, "c9")])
    read = read_body(request_of(asked, said, called, result).body)
    kinds = [[type(part).__name__ for part in message.parts] for message in read.messages]
    assert kinds == [
        ["TextPart", "ImagePart", "ImagePart"],
        ["ReasoningPart", "TextPart", "ProviderItem"],
        ["ToolCallPart"],
        ["ToolResultPart"],
    ]
    (thought,) = read.messages[1].of_type(ReasoningPart)
    assert thought.text == "hm"
    (given,) = read.messages[3].of_type(ToolResultPart)
    assert any(isinstance(part, ImagePart) for part in given.content)


def test_a_summary_request_sends_the_own_objects_and_what_was_added() -> None:
    request = request_of(*HISTORY)
    asking = {"role": "user", "content": "Write a summary."}
    made = request.summary_messages([*request.body["messages"], asking])
    assert made[0] is ASKED
    assert made[2] is RESULTS
    assert made[-1].parts[0].content == "Write a summary."  # type: ignore[union-attr]


class Incomparable(dict[str, Any]):
    """An item that no other one may be compared with."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


@pytest.mark.parametrize("is_same", [True, False], ids=["the same items", "equal items"])
def test_a_summary_request_compares_no_item_with_all(is_same: bool) -> None:
    made = request_of(*HISTORY)
    own = [Incomparable(item) for item in made.body["messages"]]
    request = replace(made, body={**made.body, "messages": own})
    items = own if is_same else [Incomparable(reversed(item.items())) for item in own]
    (asked, said, *rest) = request.summary_messages(items)
    assert asked is ASKED
    assert said is HISTORY[1]
    assert rest[0] is RESULTS


def test_an_answer_is_a_completion_with_the_usage_that_was_reported() -> None:
    usage = RequestUsage(
        input_tokens=100,
        cache_read_tokens=60,
        output_tokens=20,
        details={"reasoning_tokens": 5},
    )
    answer = completion(
        ModelResponse(parts=[TextPart("fine")], usage=usage, finish_reason="length")
    )
    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": "fine"}
    assert choice["finish_reason"] == "length"
    assert answer["usage"]["prompt_tokens"] == 100
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 60
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 5


def test_usage_of_zeros_is_none_reported() -> None:
    assert usage_json(RequestUsage()) is None
