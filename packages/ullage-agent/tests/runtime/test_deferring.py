"""Deferred tools in a session: found by a search, declared, called, and remembered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.promises.stage import (
    BOUND_CLAUDE,
    CHAT,
    CLAUDE,
    GEMINI,
    RESPONSES,
    Speaker,
    agent_for,
    generated,
    of_kind,
    script,
)
from ullage.events import (
    ApprovalAsked,
    Calibrated,
    CompactionCommitted,
    EpochChanged,
    Event,
    ToolEnded,
    ToolsChanged,
    ToolServerNoticed,
)
from ullage.messages import Tool
from ullage_agent.runtime.session import Session
from ullage_agent.tools.tool import AgentTool, Output, ToolContext
from ullage_simulators import Server, running

SMALL = 30_000
VERBS = ("create", "list", "update", "delete", "search", "export")
THINGS = ("issue", "branch", "commit", "review", "release", "label", "team", "secret")


def served_tools() -> list[AgentTool]:
    """48 tools like those of an MCP server: some 20,000 tokens."""

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        return Output(f"ran with {sorted(arguments)}")

    found: list[AgentTool] = []
    for verb in VERBS:
        for thing in THINGS:
            text = f"The {thing} as the service spells it; never a guess. " * 3
            properties = {f"{thing}_{n}": {"description": text} for n in range(12)}
            schema = {"type": "object", "properties": properties}
            declaration = Tool(
                name=f"hub__{verb}_{thing}",
                description=f"{verb.title()} a {thing} of the hub.",
                schema=msgspec.Raw(json.dumps(schema).encode()),
                server="hub",
            )
            found.append(AgentTool(declaration=declaration, run=run))
    return found


def calls(name: str, **arguments: object) -> dict[str, Any]:
    return {"times": 1, "calls": [{"name": name, "arguments": arguments}]}


FINDS_AND_CALLS = (
    calls("tool_search", query="list the open issues"),
    calls("hub__list_issue", issue_1="all"),
    {"text": "Three are open."},
)


def declared_in(exchange: Any) -> list[str]:
    """The names of the tools that a request declared, on any wire."""
    listed = exchange.body.get("tools", [])
    if listed and "functionDeclarations" in listed[0]:
        listed = listed[0]["functionDeclarations"]
    return [each.get("function", each)["name"] for each in listed]


def declared(events: Sequence[Event]) -> list[list[str]]:
    changes = of_kind(events, ToolsChanged)
    return [[tool.name for tool in each.tools if not tool.deferred] for each in changes]


def session_of(path: Path, server: Server, speaker: Speaker = CHAT, **more: Any) -> Any:
    given = {"tools": served_tools(), "window": SMALL, "reserve": 4_000, **more}
    return agent_for(path / "s.db", server=server, **given, **speaker.settings())


@pytest.mark.parametrize("speaker", [CLAUDE, RESPONSES, CHAT, GEMINI])
async def test_a_tool_is_found_and_called(speaker: Speaker, tmp_path: Path) -> None:
    with running(script(*FINDS_AND_CALLS)) as server:
        async with session_of(tmp_path, server, speaker).session("one") as session:
            result = await session.ask("Which issues are open?")
            reading, events = await session.context(), await session.history()
        sent = [declared_in(exchange) for exchange in generated(server)]
    assert result.text == "Three are open."
    assert sent[0] == ["read_result", "tool_search"]
    assert sent[1][:2] == sent[0] and "hub__list_issue" in sent[1]
    assert sent[2] == sent[1]
    assert of_kind(events, ToolEnded)[0].found[0] == "hub__list_issue"
    assert declared(events) == [sent[0], sent[1]]
    assert [event.reason for event in of_kind(events, EpochChanged)] == ["tools"]
    assert of_kind(events, ToolServerNoticed) == []
    (row,) = [row for row in reading.rows if row.name.startswith("Deferred tools")]
    assert not row.summed and row.tokens > 10_000
    assert reading.used.high < SMALL / 4


async def test_a_tool_called_without_search_runs_and_is_declared(tmp_path: Path) -> None:
    answers = (calls("hub__list_issue", issue_1="all"), {"text": "Done."})
    with running(script(*answers)) as server:
        async with session_of(tmp_path, server).session("one") as session:
            await session.ask("Which issues are open?")
            events = await session.history()
    assert of_kind(events, ToolEnded)[0].outcome == "finished"
    assert declared(events)[-1] == ["read_result", "tool_search", "hub__list_issue"]


async def test_a_deferred_tool_needs_the_same_approval(tmp_path: Path) -> None:
    with running(script(*FINDS_AND_CALLS)) as server:
        agent = session_of(tmp_path, server, approve=["mcp"])
        async with agent.session("one") as session:
            assert (await session.ask("Which issues are open?")).reason == "approval"
            (question,) = await session.questions()
            assert question.name == "hub__list_issue"
            await session.grant("hub__list_issue")
            result = await session.wait()
            (grant,) = await session.grants()
            events = await session.history()
    assert result.text == "Three are open."
    assert grant.grant.declaration and len(of_kind(events, ApprovalAsked)) == 1


async def test_another_process_declares_what_the_session_found(tmp_path: Path) -> None:
    with running(script(*FINDS_AND_CALLS, {"text": "And again."})) as server:
        async with session_of(tmp_path, server).session("one") as session:
            await session.ask("Which issues are open?")
        async with session_of(tmp_path, server).session("one") as session:
            await session.ask("And now?")
            events = await session.history()
        assert "hub__list_issue" in declared_in(generated(server)[-1])
    assert len(declared(events)) == 2


async def test_a_compaction_keeps_called_tools_not_found_ones(tmp_path: Path) -> None:
    answers = (
        calls("tool_search", query="hub__delete_secret hub__delete_team"),
        calls("tool_search", query="hub__list_issue hub__create_label"),
        calls("hub__list_issue", issue_1="all"),
        {"when": {"contains": "summar"}, "text": "## Goal\nIssues were listed."},
        {"text": "Word after word. " * 300},
    )
    with running(script(*answers)) as server:
        async with session_of(tmp_path, server).session("one") as session:
            await _ask_often(session)
            await session.compact()
            await session.wait()
            await session.ask("And now?")
            events = await session.history()
            await session.uncompact(of_kind(events, CompactionCommitted)[0].compaction)
            result = await session.ask("And after that?")
    always = {"read_result", "tool_search", "recall"}
    loaded = [set(each) - always for each in declared(events)]
    assert "hub__delete_secret" in loaded[-2]
    assert loaded[-1] == {"hub__list_issue", "hub__create_label"}
    assert result.reason == "finished"


async def _ask_often(session: Session) -> None:
    for number in range(4):
        await session.ask(f"Question {number}. " + "Look closely. " * 100)


async def test_tools_to_declare_always_are_named_in_a_setting(tmp_path: Path) -> None:
    with running(script({"text": "Fine."})) as server:
        agent = session_of(tmp_path, server, always_declare=["hub__list_issue"])
        async with agent.session("one") as session:
            await session.ask("Hello.")
        found = declared_in(generated(server)[0])
        assert found == ["hub__list_issue", "read_result", "tool_search"]


async def test_a_larger_window_declares_all_tools_again(tmp_path: Path) -> None:
    with running(script({"text": "Fine."})) as server:
        async with session_of(tmp_path, server).session("one") as session:
            await session.ask("Hello.")
            await session.set(window=400_000)
            await session.ask("And now?")
        few, all_of_them = (declared_in(one) for one in generated(server))
    assert len(few) == 2 and len(all_of_them) == len(served_tools()) + 1


async def test_a_program_with_a_tool_of_that_name_keeps_it(tmp_path: Path) -> None:
    def tool_search(query: str) -> str:
        """Looks for hammers."""
        return "none"

    with running(script({"text": "Fine."})) as server:
        agent = session_of(tmp_path, server, tools=[tool_search], defer_tools="always")
        async with agent.session("one") as session:
            await session.ask("Hello.")
        assert declared_in(generated(server)[0]) == ["tool_search", "read_result"]


def found_by(exchange: Any) -> list[list[Any]]:
    """The content of each search's result in a request to Claude, where it holds references."""
    blocks = (
        block
        for message in exchange.body["messages"]
        for block in message["content"]
        if block["type"] == "tool_result" and isinstance(block["content"], list)
    )
    return [
        [each["tool_name"] for each in block["content"]]
        for block in blocks
        if block["content"][0]["type"] == "tool_reference"
    ]


def thoughts_in(exchange: Any) -> int:
    kinds = [
        block["type"]
        for message in exchange.body["messages"]
        for block in message["content"]
    ]
    return kinds.count("thinking")


def thinking(answer: dict[str, Any]) -> dict[str, Any]:
    return {"reasoning": "Which tool is it? " * 4, **answer}


BOUND_ANSWERS = tuple(map(thinking, FINDS_AND_CALLS))


async def test_a_model_that_binds_its_reasoning_finds_tools_by_references_and_keeps_it(
    tmp_path: Path,
) -> None:
    with running(script(*BOUND_ANSWERS)) as server:
        async with session_of(tmp_path, server, BOUND_CLAUDE).session("one") as session:
            result = await session.ask("Which issues are open?")
            await session.ask("And now?")
            events = await session.history()
        sent = generated(server)
    assert result.text == "Three are open."
    assert not any(exchange.rule for exchange in server.exchanges)
    tools = sent[0].body["tools"]
    assert all(exchange.body["tools"] == tools for exchange in sent)
    assert [tool["name"] for tool in tools if "defer_loading" not in tool] == [
        "read_result",
        "recall",
        "tool_search",
    ]
    assert len(tools) == len(served_tools()) + 3
    assert [len(found_by(exchange)) for exchange in sent] == [0, 1, 1, 1]
    assert found_by(sent[-1])[0][0] == "hub__list_issue"
    assert [thoughts_in(exchange) for exchange in sent] == [0, 1, 2, 3]
    assert of_kind(events, EpochChanged) == []


async def test_the_reading_counts_declarations_found(tmp_path: Path) -> None:
    with running(script(*BOUND_ANSWERS)) as server:
        async with session_of(tmp_path, server, BOUND_CLAUDE).session("one") as session:
            await session.ask("Which issues are open?")
            events = await session.history()
    compared = [each for each in of_kind(events, Calibrated) if each.call]
    assert len(compared) == 3
    for each in compared:
        assert each.estimated == pytest.approx(each.actual, rel=0.1)
    assert compared[1].actual - compared[0].actual > 800


async def test_a_summary_takes_references_and_tools_stay_callable(tmp_path: Path) -> None:
    answers = (
        *BOUND_ANSWERS[:2],
        {"when": {"contains": "summar"}, "text": "## Goal\nIssues were listed."},
        {"when": {"contains": "Once more"}, **calls("hub__list_issue", issue_1="all")},
        {"text": "Word after word. " * 300},
    )
    with running(script(*answers)) as server:
        agent = session_of(tmp_path, server, BOUND_CLAUDE, strategy="hybrid", keep=0.05)
        async with agent.session("one") as session:
            await _ask_often(session)
            await session.compact()
            await session.wait()
            await session.ask("Once more.")
            events = await session.history()
        last = generated(server)[-1]
    assert not any(exchange.rule for exchange in server.exchanges)
    assert of_kind(events, CompactionCommitted)
    assert found_by(last) == []
    assert of_kind(events, ToolEnded)[-1].outcome == "finished"
    assert len(of_kind(events, ToolsChanged)) == 1


async def test_another_model_gets_found_tools_declared(tmp_path: Path) -> None:
    first, *others = (
        speaker._replace(params={}) for speaker in (BOUND_CLAUDE, CLAUDE, CHAT)
    )
    with running(script(*BOUND_ANSWERS)) as server:
        async with session_of(tmp_path, server, first).session("one") as session:
            await session.ask("Which issues are open?")
            for speaker in others:
                await session.set(**speaker.settings())
                await session.ask("And now?")
        claude, chat = generated(server)[-2:]
    assert not any(exchange.rule for exchange in server.exchanges)
    for exchange in (claude, chat):
        assert "hub__list_issue" in declared_in(exchange)
        assert "they are declared now" in str(exchange.body)
        assert "tool_reference" not in str(exchange.body)
        assert "defer_loading" not in str(exchange.body)
