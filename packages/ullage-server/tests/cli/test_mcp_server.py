"""``ullage mcp`` as a real client of the MCP SDK sees it: its tools, their answers, and what hostile arguments get."""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.cli.claude_logs import ClaudeLog
from tests.cli.logs import SECRET, write_log
from tests.server.running_logs import metered
from ullage.cli.mcp_answers import AnswerRules, measured_body, place_of_id, shown_text
from ullage.errors import InputError
from ullage_agent.runtime.agent import Agent
from ullage_simulators import Server, running

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
HOSTILE: dict[str, Any] = {
    "unknown": "nothing-of-that-name",
    "path": "/etc/passwd",
    "traversal": "../../../../etc/passwd",
    "short": "x",
    "huge": "x" * 2_000_000,
    "escapes": "\x1b]0;taken over\x07\x1b[2Jabcd",
    "number": 7,
}


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def environment(server: Server, tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "ULLAGE_DATA": str(tmp_path / "data"),
        "ANTHROPIC_API_KEY": "x",
        "ANTHROPIC_BASE_URL": server.url("anthropic"),
        "PATH": os.environ["PATH"],
    }


def look() -> str:
    """Look into the cask."""
    return "It is empty."


def agent_in(environment: Mapping[str, str]) -> Agent:
    return Agent(
        "anthropic:claude-haiku-4-5",
        tools=[look],
        system="You look after a cellar.",
        environment=environment,
        config=False,
    )


async def own_session(environment: Mapping[str, str]) -> None:
    async with agent_in(environment).session("cellar-1") as session:
        for cask in range(4):
            words = "wine, water and wood. " * 200
            await session.ask(f"Cask {cask} \x1b[31m {KEY}: {words}")


@asynccontextmanager
async def connected(
    environment: Mapping[str, str], *options: str
) -> AsyncIterator[Client]:
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ullage", "mcp", *options],
        env=dict(environment),
        cwd=environment["HOME"],
    )
    async with Client(stdio_client(program)) as client:
        yield client


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    text = str(getattr(result.content[0], "text", ""))
    assert not result.is_error, text
    return json.loads(text)


@pytest.mark.program
async def test_tools_only_read(environment: dict[str, str]) -> None:
    async with connected(environment) as client:
        tools = (await client.list_tools()).tools
    hints = [tool.annotations for tool in tools]
    assert all(hint is not None and hint.read_only_hint for hint in hints)


@pytest.mark.program
async def test_sessions_of_ullage_and_of_other_programs_are_read_and_planned(
    environment: dict[str, str], tmp_path: Path
) -> None:
    await own_session(environment)
    log = tmp_path / ".pi/agent/sessions/app/log-aaaa1111.jsonl"
    log.parent.mkdir(parents=True)
    write_log(log)
    async with connected(environment) as client:
        listed = (await answer(client, "list_sessions"))["sessions"]
        assert {each["id"] for each in listed} == {"cellar-1", "log-aaaa1111"}
        own = await answer(client, "reading", session="cellar-1")
        assert own["used"]["low"] <= own["used"]["tokens"] <= own["used"]["high"]
        assert sum(row["tokens"] for row in own["rows"]) == own["used"]["tokens"]
        explained = await answer(client, "explain", session="aaaa1111", largest=2)
        assert len(explained["largest"]) == 2
        plan = await answer(client, "plan_compaction", session="cellar-1")
        assert plan["compaction"]["leaves"] > 0
        text = json.dumps([listed, own, explained, plan])
    assert KEY not in text and "\\u001b" not in text
    async with connected(environment, "--no-content") as client:
        for tool in ("list_sessions", "explain", "plan_compaction"):
            text = json.dumps(await answer(client, tool))
            assert SECRET not in text and "Cask" not in text and "app" not in text


@pytest.mark.program
async def test_a_session_that_the_proxy_metered_is_read(
    environment: dict[str, str], tmp_path: Path
) -> None:
    metered(tmp_path, "wrapped-1234", calls=3)
    del environment["ULLAGE_DATA"]
    async with connected(environment) as client:
        (listed,) = (await answer(client, "list_sessions"))["sessions"]
        assert listed["program"].startswith("claude-code")
        assert listed["id"] == "wrapped-1234"
        reading = await answer(client, "reading", session="1234")
        assert reading["used"]["tokens"] >= 1_200  # the last call's input
        rows = (await answer(client, "explain", session="1234"))["rows"]
        assert sum(row["tokens"] for row in rows) == reading["used"]["tokens"]
        plan = await answer(client, "plan_compaction", session="1234")
        assert plan["compaction"]


@pytest.mark.program
async def test_a_hostile_id_gets_an_error_and_the_server_lives_on(
    environment: dict[str, str],
) -> None:
    async with connected(environment) as client:
        for case, session in HOSTILE.items():
            for tool in ("reading", "explain", "plan_compaction"):
                result = await client.call_tool(tool, {"session": session})
                text = str(getattr(result.content[0], "text", ""))
                assert result.is_error and text, (case, tool)
                assert len(text) < 1_000, (case, tool)
                assert "\x1b" not in text and "root:" not in text, (case, tool)
            listed = await answer(client, "list_sessions")
            assert listed == {"sessions": [], "more": 0}, case


def test_an_id_names_a_session_of_the_usual_places_and_never_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    log = write_log(tmp_path / "elsewhere.jsonl")
    with pytest.raises(InputError, match="not opened by their path"):
        place_of_id(AnswerRules(), str(log))


def test_a_body_is_measured_and_one_of_no_api_is_an_error() -> None:
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "wine " * 3_000}],
    }
    found = measured_body(AnswerRules(), body, 3_000)
    assert found["should_compact"] and found["used"]["tokens"] > 2_400
    with pytest.raises(InputError, match="messages"):
        measured_body(AnswerRules(), {"what": 1})
    with pytest.raises(InputError, match="16 MB"):
        measured_body(AnswerRules(), {"messages": "x" * 17_000_000})


def test_texts_are_one_line_without_control_characters_and_keys() -> None:
    assert shown_text(f"a\x1b[31m\n{KEY} b") == "a [31m [key] b"
    assert len(shown_text("x" * 100_000)) <= 300


@pytest.mark.program
async def test_what_left_is_recalled_only_where_the_user_switched_it_on(
    environment: dict[str, str], tmp_path: Path
) -> None:
    log = ClaudeLog(tmp_path, cwd=tmp_path)
    log.user("Hello.")
    log.said("Hello.")
    log.user(f"Note that the bung of cask nine is number 48213, with {KEY}.")
    log.said("Noted.")
    log.compact()
    async with connected(environment, "--recall") as client:
        found = await answer(client, "recall", query="bung nine")
        text = "3:0 user: Note that the bung of cask nine is number 48213, with [key]"
        assert text in found["text"] and found["session"] == log.id
        around = await answer(client, "recall", read="3:0")
        assert "48213" in around["text"]
        log.user("The lid is 777123.")
        log.compact()
        assert "777123" in (await answer(client, "recall", query="lid"))["text"]
        for bad in HOSTILE.values():
            for name in ("query", "read", "session", "quote"):
                result = await client.call_tool("recall", {name: bad})
                assert "root:" not in str(result)
    async with connected(environment) as client:
        assert "recall" not in {tool.name for tool in (await client.list_tools()).tools}
        for tool in ("list_sessions", "reading", "explain", "plan_compaction"):
            assert "48213" not in str(await client.call_tool(tool, {}))
