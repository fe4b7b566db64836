"""The bridge: a tool loop through a model of pydantic-ai, and what it may claim."""

import re
import sys
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from pydantic_ai.messages import ModelResponse, ThinkingPart
from pydantic_ai.messages import ToolCallPart as TheirCall
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from ullage.codec.stream import Answer, CallDelta, StreamEvent, TextDelta
from ullage.errors import MissingExtra, NotFound, SettingError
from ullage.installation import extra_command
from ullage.messages import (
    Message,
    ProviderData,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.meter import Meter
from ullage.wire import pydantic_ai as bridge
from ullage_simulators.answer import Call
from ullage_simulators.answer import ScriptedAnswer as Scripted
from ullage_simulators.scenario import Scenario, ScriptLine, When
from ullage_simulators.server import Server, running

ANSWERS = (
    ScriptLine(
        Scripted(
            text="Let me look.", calls=(Call(name="read", arguments='{"path": "a.txt"}'),)
        ),
        When(after="user"),
    ),
    ScriptLine(Scripted(text="It holds 42."), When(after="tool")),
)
TOOL = Tool(name="my.read")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Scenario(answers=ANSWERS), seed=4) as made:
        yield made


def model(server: Server, name: str = "gpt-4.1") -> OpenAIChatModel:
    return OpenAIChatModel(
        name, provider=OpenAIProvider(base_url=server.url("openai"), api_key="any-key")
    )


def request(
    *messages: Message, tools: tuple[Tool, ...] = (Tool(name="read"),)
) -> Request:
    return Request(
        wire=bridge.WIRE,
        model="gpt-4.1",
        system=(SystemBlock(text="Be brief."),),
        tools=tools,
        messages=messages,
    )


USER = Message(id="u", role="user", parts=(TextPart(id="t", text="What is in a.txt?"),))


async def called(given: Request, through: Any, **how: Any) -> list[StreamEvent | Answer]:
    async with aclosing(bridge.stream(given, through, **how)) as events:
        return [event async for event in events]


async def test_a_tool_loop_is_driven_through_it_and_its_readings_are_not_exact(
    server: Server,
) -> None:
    meter = Meter("gpt-4.1", wire=bridge.WIRE, provider="openai")
    history = [USER]
    for step in range(2):
        given = request(*history)
        call = meter.before(given).call
        events = await called(given, model(server), message_id=f"a{step}", call=call)
        answer = events[-1]
        assert isinstance(answer, Answer)
        assert answer.outcome == "finished"
        assert "".join(
            one.text for one in events if isinstance(one, TextDelta)
        ) == "".join(part.text for part in answer.message.of_type(TextPart))
        reading = meter.after(call, answer.usage, answer.message)
        assert not answer.usage.verified
        assert answer.usage.flags == (bridge.NOT_EXACT,)
        assert reading.basis.label.startswith("estimated")
        assert answer.usage.input == server.truth().bills[-1].input
        history.append(answer.message)
        if step == 0:
            (asked,) = answer.message.of_type(ToolCallPart)
            assert (answer.stop, asked.name) == ("tool_calls", "read")
            assert any(isinstance(one, CallDelta) for one in events)
            result = ToolResultPart(
                id="r",
                call_id=asked.call_id,
                name="read",
                content=(TextPart(id="rt", text="42"),),
            )
            history.append(Message(id="tool", role="tool", parts=(result,)))
    assert [part.text for part in history[-1].of_type(TextPart)] == ["It holds 42."]
    sent = server.exchanges[-1].body["messages"]
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"]


async def test_what_is_refused_is_one_of_our_errors(server: Server) -> None:
    with pytest.raises(NotFound):
        await called(request(USER), model(server, "nobody-knows-this"))
    with pytest.raises(SettingError):
        await called(request(USER), "no-such-provider:model")


async def test_their_parts_go_back_as_they_came() -> None:
    """A model of theirs that shows what it was sent."""
    thinking = ThinkingPart("hm", signature="c2ln", provider_name="function")
    seen: list[Any] = []

    async def respond(messages: list[Any], info: Any) -> Any:
        seen.append(messages)
        yield "fine"

    def whole(messages: list[Any], info: Any) -> ModelResponse:
        return ModelResponse(parts=[])

    theirs = FunctionModel(function=whole, stream_function=respond)
    lib = bridge._load()
    reader = bridge._Reader(
        lib,
        ProviderData(
            data=msgspec.Raw(b"{}"),
            provider="function",
            wire=bridge.WIRE,
            model=theirs.model_name,
        ),
        "a",
        {},
    )
    reasoning = reader.part(0, thinking)
    call = reader.part(
        1, TheirCall("read", '{"path": 1}', "c1", provider_details={"kept": True})
    )
    assert isinstance(reasoning, ReasoningPart)
    assert isinstance(call, ToolCallPart)
    answer = Message(id="a", role="assistant", parts=(reasoning, call))
    result = Message(
        id="r",
        role="tool",
        parts=(ToolResultPart(id="rp", call_id="c1", name="read", is_error=True),),
    )
    given = replace(
        request(USER, answer, result), provider="function", model=theirs.model_name
    )
    await called(given, theirs)
    response = seen[0][1]
    assert response.parts[0] == thinking
    assert response.parts[1].provider_details == {"kept": True}
    assert response.parts[1].args == '{"path": 1}'
    assert seen[0][2].parts[0].outcome == "failed"


async def test_names_are_mapped_there_and_back() -> None:
    async def respond(messages: list[Any], info: Any) -> Any:
        from pydantic_ai.models.function import DeltaToolCall

        yield {
            0: DeltaToolCall(
                name=info.function_tools[0].name, json_args="{}", tool_call_id="c1"
            )
        }

    theirs = FunctionModel(stream_function=respond)
    answer = (await called(request(USER, tools=(TOOL,)), theirs))[-1]
    assert isinstance(answer, Answer)
    assert [part.name for part in answer.message.of_type(ToolCallPart)] == ["my.read"]


def test_a_zero_is_taken_for_nothing_said() -> None:
    assert bridge.usage_of(RequestUsage()).input is None
    said = bridge.usage_of(
        RequestUsage(input_tokens=5, output_tokens=0, details={"reasoning_tokens": 3})
    )
    assert (said.input, said.output, said.reasoning, said.verified) == (5, 0, 3, False)


async def test_without_the_package_its_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(MissingExtra, match=re.escape(extra_command("pydantic-ai"))):
        await called(request(USER), "openai:gpt-4.1")
