"""Answers of a type: in the request, read, asked again, and after a restart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, Field

from ullage import Agent, Meter
from ullage.errors import AnswerInvalid, SettingError
from ullage_simulators import Scenario, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.answer_format import sample_text
from ullage_simulators.faults import Fault
from ullage_simulators.prompt import ScriptContext
from ullage_simulators.server import Exchange, Server

KEYS = {
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "GEMINI_API_KEY": "none",
    "MISTRAL_API_KEY": "none",
}
WIRES = {
    "responses": ("openai:gpt-4.1", "openai"),
    "messages": ("anthropic:claude-haiku-4-5", "anthropic"),
    "generateContent": ("gemini:gemini-2.5-flash", "gemini"),
    "chat": ("mistral:mistral-medium-latest", "mistral"),
}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Cask(msgspec.Struct):
    name: str
    litres: int
    colour: Colour
    tags: list[str] = []


@dataclass
class Cellar:
    city: str
    cask: Cask | None = None


class Note(TypedDict):
    number: int
    text: NotRequired[str]


class Line(BaseModel):
    size: int = Field(gt=0, description="How long it is.")


class Page(BaseModel):
    title: str
    lines: list[Line]


def calls(server: Server) -> list[Exchange]:
    """The requests that a model answered or refused; none of counts and lists of models."""
    found = []
    for each in server.exchanges:
        if isinstance(each.body, dict) and "oken" not in each.path.rpartition("/")[2]:
            found.append(each)
    return found


TYPES: tuple[Any, ...] = (
    Cask,
    Cellar,
    Note,
    Page,
    list[Page],
    list[int],
    dict[str, int],
    Literal["x", "y"],
    Colour,
    int,
    bool,
    int | None,
    tuple[int, str],
)


def agent(server: Server, wire: str, store: Path, **more: Any) -> Agent[Any]:
    model, name = WIRES[wire]
    return Agent(
        model,
        base_url=server.url(name),
        store=store / "sessions.db",
        config=False,
        environment=KEYS,
        **more,
    )


def by_tool(ask: ScriptContext) -> ScriptedAnswer:
    """An assistant that gives its answer by the tool for it, and knows what the schema wants."""
    named = [tool for tool in ask.tools if tool.name.startswith("answer")]
    if not named:
        return ScriptedAnswer(text="Some words.")
    text = sample_text(named[-1].schema, ask.text)
    return ScriptedAnswer(calls=(Call(named[-1].name, text),))


def by_schema_or_tool(ask: ScriptContext) -> ScriptedAnswer:
    if ask.answer_schema is None:
        return by_tool(ask)
    return ScriptedAnswer(text=sample_text(ask.answer_schema, ask.text))


@pytest.mark.parametrize("wire", WIRES)
async def test_every_type_comes_back_on_every_wire(wire: str, tmp_path: Path) -> None:
    with running(Scenario(assistant=by_schema_or_tool), seed=4) as server:
        asking = agent(server, wire, tmp_path)
        async with asking.session() as session:
            for kind in TYPES:
                result = await session.ask("Describe it.", output_type=kind)
                assert result.read_output
                plain = msgspec.convert(
                    msgspec.to_builtins(
                        result.output, enc_hook=lambda value: value.model_dump()
                    ),
                    kind,
                    dec_hook=lambda model, value: model.model_validate(value),
                )
                assert plain == result.output
            plain_answer = await session.ask("And in words?")
        assert plain_answer.output == plain_answer.text == "Some words."
        assert len(calls(server)) == len(TYPES) + 1
        asked = [json.dumps(each.body) for each in calls(server)]
    assert all('"lines"' in body for body in asked[3:4])
    assert "chema" not in asked[-1]


@pytest.mark.parametrize("wire", ["responses", "messages", "generateContent"])
def test_the_schema_counts_in_the_reading_as_billed(wire: str, tmp_path: Path) -> None:
    with running(seed=4) as server:
        for kind in (None, Cellar):
            asking = agent(server, wire, tmp_path, output_type=kind)
            asking.run_sync(
                "Describe the cask that stands behind the door of the cellar."
            )
        plain, typed = calls(server)
    assert plain.bill is not None and typed.bill is not None
    billed = typed.bill.input - plain.bill.input
    model = WIRES[wire][0].partition(":")[2]
    read = []
    for body in (plain.body, typed.body):
        meter = Meter(model, wire=wire)
        read.append(meter.before(body).used.tokens)
    estimated = read[1] - read[0]
    assert abs(estimated - billed) <= max(12, 0.35 * billed), (estimated, billed)
    assert (billed == 0) == (wire == "generateContent")


def scripted(*texts: str) -> Scenario:
    """An assistant that says these, then the last one for ever."""
    said: list[str] = []

    def assistant(ask: ScriptContext) -> ScriptedAnswer:
        said.append(ask.text)
        return ScriptedAnswer(text=texts[min(len(said), len(texts)) - 1])

    return Scenario(assistant=assistant)


RIGHT = '{"city": "Bonn", "cask": null}'


async def test_a_wrong_answer_is_asked_for_again_with_why(tmp_path: Path) -> None:
    with running(scripted('{"city": 5}', f"```json\n{RIGHT}\n```"), seed=4) as server:
        asking = agent(server, "messages", tmp_path, output_type=Cellar)
        result = await asking.ask("Where is it?")
        assert result.output == Cellar("Bonn")
        again = json.dumps(calls(server)[1].body["messages"][-1])
    assert "$.city" in again
    assert "Expected `str`, got `int`" in again


async def test_after_the_limit_the_error_keeps_the_text(tmp_path: Path) -> None:
    with running(scripted("In Bonn."), seed=4) as server:
        asking = agent(server, "messages", tmp_path, output_type=Cellar)
        with pytest.raises(
            AnswerInvalid, match="after 2 more tries: it is no JSON"
        ) as told:
            await asking.ask("Where is it?")
        assert told.value.text == "In Bonn."
        assert len(calls(server)) == 3
        none = agent(server, "messages", tmp_path, output_type=Cellar, output_retries=0)
        with pytest.raises(AnswerInvalid):
            await none.ask("Where is it?")
        assert len(calls(server)) == 4


async def test_after_a_restart_the_tries_of_the_ledger_count(tmp_path: Path) -> None:
    with running(scripted("In Bonn.", "In Bonn.", RIGHT), seed=4) as server:
        asking = agent(server, "messages", tmp_path, output_type=Cellar)
        async with asking.session("s") as session:
            await session.send("Where is it?", id="m")
            await session._wait()
        second = agent(server, "messages", tmp_path, output_type=Cellar, output_retries=1)
        with pytest.raises(AnswerInvalid):
            async with second.session("s") as session:
                await session.wait()
        assert len(calls(server)) == 2
        third = agent(server, "messages", tmp_path, output_type=Cellar)
        async with third.session("s") as session:
            result = await session.wait()
            names = [each.id for each in await session.messages() if each.role == "user"]
        assert result.output == Cellar("Bonn")
        assert names == ["m", "m.again-1", "m.again-2"]


@pytest.mark.parametrize("wire", WIRES)
async def test_every_type_comes_by_tool_on_all_wires(wire: str, tmp_path: Path) -> None:
    with running(Scenario(assistant=by_tool), seed=4) as server:
        asking = agent(server, wire, tmp_path, output_by="tool")
        async with asking.session() as session:
            for kind in TYPES:
                result = await session.ask("Describe it.", output_type=kind)
                assert result.read_output
                assert result.reason == "finished"
                assert json.loads(result.text) is not None
            assert (await session.ask("And in words?")).output == "Some words."
        asked = [json.dumps(each.body) for each in calls(server)]
        assert [each.status for each in calls(server)] == [200] * (len(TYPES) + 1)
    assert all('"answer"' in body for body in asked[:-1])
    assert not any("json_schema" in body for body in asked)


def deepseek(server: Server, store: Path, **more: Any) -> Agent[Any]:
    """Its endpoint takes no schema: https://api-docs.deepseek.com/guides/json_mode."""
    return Agent(
        "deepseek:deepseek-chat",
        base_url=server.url("deepseek"),
        store=store / "sessions.db",
        config=False,
        environment={"DEEPSEEK_API_KEY": "none"},
        output_type=Cellar,
        **more,
    )


async def test_a_session_whose_endpoint_refuses_the_schema_asks_by_a_tool_from_then_on(
    tmp_path: Path,
) -> None:
    with running(Scenario(assistant=by_tool), seed=4) as server:
        async with deepseek(server, tmp_path).session("s") as session:
            result = await session.ask("Where is it?")
            assert isinstance(result.output, Cellar)
            roles = [each.role for each in await session.messages()]
            assert roles == ["user", "assistant", "tool"]
        async with deepseek(server, tmp_path).session("s") as session:
            assert isinstance((await session.ask("And now?")).output, Cellar)
        first, second, third = calls(server)
    assert [first.status, second.status, third.status] == [400, 200, 200]
    assert "response_format" in first.body
    for each in (second, third):
        assert "response_format" not in each.body
        assert each.body["tools"][-1]["function"]["name"] == "answer"


async def test_a_stream_is_read_where_the_schema_is_refused(tmp_path: Path) -> None:
    with running(Scenario(assistant=by_tool), seed=4) as server:
        stream = deepseek(server, tmp_path).stream("Where is it?")
        assert [piece async for piece in stream] == []
        assert isinstance(stream.result.output, Cellar)


async def test_words_and_wrong_arguments_are_asked_again_by_tool(tmp_path: Path) -> None:
    wrong = ScriptedAnswer(calls=(Call("answer", '{"city": 5}'),))
    right = ScriptedAnswer(calls=(Call("answer", RIGHT),))
    answers = [ScriptedAnswer(text="In Bonn."), wrong, right]
    with running(Scenario(assistant=lambda ask: answers.pop(0)), seed=4) as server:
        asking = agent(server, "messages", tmp_path, output_type=Cellar, output_by="tool")
        async with asking.session() as session:
            assert (await session.ask("Where is it?")).output == Cellar("Bonn")
            told = [str(m.parts[0]) for m in await session.messages() if m.role == "user"]
    assert len(told) == 3
    assert "it is no JSON" in told[1]
    assert "calling the tool `answer`" in told[1]
    assert "$.city" in told[2]


@pytest.mark.parametrize("limit", [{"budget": {"tool_calls": 1}}, {"max_steps": 1}])
async def test_limits_leave_room_for_an_answer_by_a_tool(
    limit: dict[str, Any], tmp_path: Path
) -> None:
    def look(place: str) -> str:
        """Look there."""
        return "42"

    def assistant(ask: ScriptContext) -> ScriptedAnswer:
        if ask.results or "max_steps" in limit:
            return by_tool(ask)
        return ScriptedAnswer(calls=(Call("look", '{"place": "here"}'),))

    with running(Scenario(assistant=assistant), seed=4) as server:
        more: dict[str, Any] = {**limit, "tools": [look]}
        asking = agent(server, "chat", tmp_path, output_by="tool", **more)
        result = await asking.ask("How many?", output_type=int)
    assert (result.reason, isinstance(result.output, int)) == ("finished", True)


async def test_the_program_s_own_tool_keeps_its_name(tmp_path: Path) -> None:
    def answer(question: str) -> str:
        """Answer a question."""
        return "42"

    def assistant(ask: ScriptContext) -> ScriptedAnswer:
        if ask.results:
            return by_tool(ask)
        return ScriptedAnswer(calls=(Call("answer", '{"question": "?"}'),))

    with running(Scenario(assistant=assistant), seed=4) as server:
        asking = agent(server, "chat", tmp_path, tools=[answer], output_by="tool")
        result = await asking.ask("How many?", output_type=int)
        assert isinstance(result.output, int)
        names = [tool["function"]["name"] for tool in calls(server)[-1].body["tools"]]
    assert names == ["answer", "read_result", "answer_"]


FIELDS = {
    "responses": ("text", "format"),
    "messages": ("output_config", "format"),
    "generateContent": ("generationConfig", "responseJsonSchema"),
    "chat": ("response_format", "json_schema"),
}


def wire_of(exchange: Exchange) -> str:
    for wire, (_, name) in WIRES.items():
        if f"/{name}/" in exchange.path:
            return wire
    raise AssertionError(exchange.path)


def check_format(exchange: Exchange) -> None:
    """The request has the schema in the field of its own wire, and in no other."""
    own = FIELDS[wire_of(exchange)]
    for outer, inner in FIELDS.values():
        found = exchange.body.get(outer)
        held = isinstance(found, dict) and inner in found
        assert held == ((outer, inner) == own), exchange.body


def all_addresses(server: Server) -> dict[str, str]:
    return {
        **KEYS,
        "OPENAI_BASE_URL": server.url("openai"),
        "ANTHROPIC_BASE_URL": server.url("anthropic"),
        "GOOGLE_GEMINI_BASE_URL": server.url("gemini"),
        "MISTRAL_BASE_URL": server.url("mistral"),
    }


PAIRS = [(one, other) for one in WIRES for other in WIRES if one != other]


@pytest.mark.parametrize(("wire", "next_wire"), PAIRS)
async def test_a_turn_that_falls_back_asks_by_the_field_of_the_wire_in_use(
    wire: str, next_wire: str, tmp_path: Path
) -> None:
    (model, name), (next_model, _) = WIRES[wire], WIRES[next_wire]
    down = Fault("status", status=529 if wire == "messages" else 503, path=f"/{name}/")
    with running(Scenario(faults=(down,)), seed=4) as server:
        asking = Agent(
            model,
            fallback=[next_model],
            tries=1,
            output_type=Cask,
            store=tmp_path / "sessions.db",
            config=False,
            environment=all_addresses(server),
        )
        result = await asking.ask("Which cask?")
        assert isinstance(result.output, Cask)
        assert wire in {wire_of(e) for e in server.exchanges if e.status in (503, 529)}
        (answered,) = calls(server)  # what a fault answers is kept without its body
        assert wire_of(answered) == next_wire
        check_format(answered)


@pytest.mark.parametrize(("wire", "next_wire"), PAIRS)
async def test_a_turn_that_is_handed_over_asks_by_the_field_of_the_wire_in_use(
    wire: str, next_wire: str, tmp_path: Path
) -> None:
    def assistant(ask: ScriptContext) -> ScriptedAnswer:
        if any(tool.name == "hand_over_to_other" for tool in ask.tools):
            return ScriptedAnswer(calls=(Call("hand_over_to_other"),))
        assert ask.answer_schema is not None
        return ScriptedAnswer(text=sample_text(ask.answer_schema, ask.text))

    with running(Scenario(assistant=assistant), seed=4) as server:
        more: dict[str, Any] = {"config": False, "environment": all_addresses(server)}
        other = Agent(WIRES[next_wire][0], name="other", **more)
        asking = Agent(
            WIRES[wire][0],
            handoffs=[other],
            output_type=Cask,
            store=tmp_path / "sessions.db",
            **more,
        )
        result = await asking.ask("Which cask?")
        assert isinstance(result.output, Cask)
        assert [wire_of(each) for each in calls(server)] == [wire, next_wire]
        for each in calls(server):
            check_format(each)


async def test_other_parameters_stay_and_the_format_leaves(tmp_path: Path) -> None:
    with running(seed=4) as server:
        more = {"output_config": {"effort": "low"}}
        asking = agent(server, "messages", tmp_path)
        async with asking.session(params=more) as session:
            await session.ask("One", output_type=int)
            await session.ask("Two")
        first, second = (each.body["output_config"] for each in calls(server))
    assert set(first) == {"effort", "format"}
    assert second == {"effort": "low"}


def test_wrong_settings_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"output_type=.* has no JSON form"):
        Agent("openai:gpt-4.1", output_type=object, config=False)
    for retries in (-1, 1.5, "2", None, True):
        given: Any = retries
        with pytest.raises(SettingError, match="output_retries is a whole number"):
            Agent("openai:gpt-4.1", output_retries=given, config=False)


async def test_messages_and_streams_ask_for_the_agent_s_type_too(tmp_path: Path) -> None:
    with running() as server:
        typed = agent(server, "responses", tmp_path / "s.db", output_type=Cask)
        stream = typed.stream("Which cask?")
        text = "".join([piece async for piece in stream])
        assert stream.result.text == text
        assert isinstance(stream.result.output, Cask)
        async with typed.session() as session:
            await session.ask("How many?", output_type=int)
            await session.send("Which cask?")
            assert isinstance((await session.wait()).output, Cask)
        assert len(calls(server)) == 3  # none was asked again
