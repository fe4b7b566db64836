"""What McpServer makes of servers that do harm."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.mcp.raw_server import BEHAVIOURS
from tests.tools.mcp_places import call, changes_of, until_dead
from tests.tools.tool_context import FakeToolContext
from ullage.envelope import MCP_DESCRIPTION_CHARS, MCP_TOOLS, PICTURES
from ullage_agent.tools.mcp import McpServer, tools_of
from ullage_agent.tools.mcp_connection import ServerUnavailable
from ullage_agent.tools.running import run_call

SERVER = str(Path(__file__).with_name("raw_server.py"))


def hostile(behaviour: str, **more: Any) -> McpServer:
    assert behaviour in BEHAVIOURS
    return McpServer("t", command=sys.executable, args=[SERVER, behaviour], **more)


@asynccontextmanager
async def opened(server: McpServer, patience_s: float = 60) -> AsyncIterator[McpServer]:
    await server.open(patience_s=patience_s)
    try:
        yield server
    finally:
        await server.close()


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("exits", "its last words: no licence found"),
        ("hangs", "no answer in 2 s"),
        ("old_protocol", "1999-01-01"),
        ("floods_junk", "lines in a row to its standard output that are no messages"),
        ("floods_one_line", "it wrote a line of more than 32 MB"),
        ("deep_answer", "a message beyond the limits: nested too deep"),
    ],
)
async def test_one_that_does_not_start_says_why(behaviour: str, why: str) -> None:
    server = hostile(behaviour, connect_s=2 if behaviour == "hangs" else 60)
    with pytest.raises(ServerUnavailable) as caught:
        await server.__aenter__()
    assert why in str(caught.value)
    assert len(str(caught.value)) < 2_000
    async with opened(server):
        assert server.tools == ()
        assert why in server.problem


async def test_a_command_that_is_missing_is_a_problem_and_no_error() -> None:
    async with opened(McpServer("t", command="/no/such/program")) as server:
        assert "/no/such/program" in server.problem
        assert server.tools == ()


async def test_one_that_takes_too_long_is_waited_for_no_longer_than_that() -> None:
    async with opened(hostile("hangs"), patience_s=0.2) as server:
        assert (
            server.problem
            == "it has not answered in 0.2 s; Ullage is still waiting for it"
        )


async def test_one_that_did_not_start_is_tried_again_and_its_tools_are_told(
    tmp_path: Path,
) -> None:
    command = tmp_path / "server"
    changed = asyncio.Event()
    server = McpServer("t", command=str(command))
    server.on_state(changed.set)
    async with opened(server):
        assert server.problem
        changed.clear()
        command.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER} greets\n")
        command.chmod(0o755)
        await asyncio.wait_for(changed.wait(), 60)
        assert (server.problem, [tool.name for tool in server.tools]) == ("", ["t__work"])


@pytest.mark.parametrize("behaviour", ["greets", "bad_utf8", "floods_errors"])
async def test_noise_beside_the_messages_does_no_harm(behaviour: str) -> None:
    async with opened(hostile(behaviour)) as server:
        assert (server.problem, [tool.name for tool in server.tools]) == ("", ["t__work"])
        assert (await call(server, "work")).output.text == "done"


async def test_thousands_of_tools_are_cut_and_that_is_told() -> None:
    for behaviour in ("many_tools", "endless_tools"):
        async with opened(hostile(behaviour)) as server:
            assert len(server.tools) == MCP_TOOLS
            assert server.notes == (
                f"it declares more than {MCP_TOOLS} tools: the others are left out",
            )


async def test_tools_that_no_request_could_carry_are_left_out_and_named() -> None:
    async with opened(hostile("bad_tools")) as server:
        assert [tool.name for tool in server.tools] == [
            "t__good",
            "t__shell",
            "t__read",
            "t__wordy",
        ]
        told = "\n".join(server.notes)
        for part in (
            "good is left out: it is declared twice",
            "is left out: its name has 500 characters",
            "a tool without a name is left out",
            "deep is left out: its schema is nested too deep",
            "wide is left out: its schema has",
            "the description of wordy is cut",
        ):
            assert part in told
        assert len(server.tools[-1].declaration.description) < MCP_DESCRIPTION_CHARS + 20


async def test_no_server_takes_the_place_of_another_tool() -> None:
    async with opened(hostile("bad_tools")) as server:
        assert [tool.name for tool in tools_of([server, server], ["t__shell"])] == [
            "t__good",
            "t__read",
            "t__wordy",
        ]


async def test_a_tool_that_changes_after_a_call_is_told_as_changed() -> None:
    async with opened(hostile("poisons")) as server:
        before, changed = server.tools, changes_of(server)
        await call(server, "work")
        after = await asyncio.wait_for(changed.get(), 60)
        assert [tool.name for tool in after] == ["t__work", "t__new"]
        assert after[0].declaration != before[0].declaration


async def test_a_flood_of_changes_is_one_list_and_the_call_ends() -> None:
    async with opened(hostile("floods_changes")) as server:
        assert (await call(server, "work")).output.text == "done"


@pytest.mark.parametrize("behaviour", ["hangs_in_call", "floods_in_call"])
async def test_a_call_that_does_not_end_is_given_up_in_time(behaviour: str) -> None:
    async with opened(hostile(behaviour, timeout_s=1)) as server:
        ran = await call(server, "work")
        assert ran.outcome == "timed_out"


@pytest.mark.parametrize(
    ("behaviour", "why"), [("huge_result", "32 MB"), ("deep_result", "nested too deep")]
)
async def test_a_result_beyond_the_limits_is_a_clear_result_and_the_server_is_started_again(
    behaviour: str, why: str, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    async with opened(
        hostile(behaviour, env={"STARTS": str(starts)}, timeout_s=60)
    ) as server:
        ran = await call(server, "work")
        assert (ran.outcome, ran.output.is_error) == ("unknown", True)
        assert why in ran.output.text
        assert starts.read_text().count("start") == 2


async def test_a_result_of_many_blocks_is_cut_and_says_so() -> None:
    async with opened(hostile("many_blocks")) as server:
        text = (await call(server, "work")).output.text
        assert text.endswith("[49,000 more blocks of this result are left out]")


async def test_images_are_judged_by_their_headers_and_only_some_are_given() -> None:
    async with opened(hostile("huge_images")) as server:
        tool = server.tools[0]
        ran = await run_call(tool, json.dumps({}), FakeToolContext())
        assert len(ran.output.pictures) == PICTURES
        assert "of 60,000x60,000 pixels, which is too large to show" in ran.output.text
        assert "which is too large to show" in ran.output.text
        assert ran.output.text.count("a result can hold 20 images") == 5


async def test_what_a_server_asks_of_us_is_refused() -> None:
    async with opened(hostile("asks_back", timeout_s=60)) as server:
        ran = await call(server, "work")
        assert (
            ran.output.text
            == "sampling/createMessage: error; elicitation/create: error; roots/list: error"
        )


async def test_children_in_sessions_of_their_own_end_with_the_server() -> None:
    async with opened(hostile("leaves_children")) as server:
        pids = [int(pid) for pid in (await call(server, "work")).output.text.split()]
    await asyncio.wait_for(until_dead(*pids), 60)
