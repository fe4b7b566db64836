from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ullage
from tests.tools.mcp_places import (
    OLD_SERVER,
    call,
    changes_of,
    free_port,
    is_alive,
    on_stdio,
    serving,
    tool_of,
)
from tests.tools.tool_context import FakeToolContext
from ullage.errors import CommandRefused, SettingError
from ullage_agent.tools.functions import as_tools
from ullage_agent.tools.mcp import McpServer
from ullage_agent.tools.mcp_connection import ServerUnavailable
from ullage_agent.tools.running import run_call
from ullage_agent.tools.sandbox import Sandbox


async def test_tools_are_listed_page_by_page_under_names_of_their_own() -> None:
    async with on_stdio(timeout_s=5, result_tokens=100, needs_approval=True) as server:
        assert [tool.name for tool in server.tools][:2] == ["t__echo", "t__picture"]
        assert len(as_tools(server.tools)) == 13
        echo = server.tools[0]
        assert echo.declaration.server == "t"
        assert echo.declaration.description == "Does echo."
        assert echo.timeout_s == 5
        assert echo.result_tokens == 100
        assert echo.needs_approval is True
        assert echo.outlives_cancel is True
        assert {tool.name for tool in server.tools if tool.idempotent} == {
            "t__echo",
            "t__die_once",
        }


async def test_calls_over_stdio_give_results_errors_and_refusals() -> None:
    async with on_stdio() as server:
        assert (await call(server, "echo", text="hello")).output.text == "hello"
        failed = await call(server, "fails")
        assert (failed.outcome, failed.output.text) == ("failed", "no such city")
        refused = await call(server, "refuses")
        assert refused.outcome == "failed"
        assert refused.output.text.startswith("t__refuses was refused by its server: ")
        rans = await asyncio.gather(
            *(call(server, "echo", text=str(number)) for number in range(30))
        )
        assert [ran.output.text for ran in rans] == [str(number) for number in range(30)]


async def test_calls_over_http_give_the_same() -> None:
    port = free_port()
    with serving(port):
        async with McpServer(
            "t", url=f"http://127.0.0.1:{port}/mcp", headers={"X-Word": "w"}
        ) as server:
            assert (await call(server, "echo", text="hello")).output.text == "hello"
            assert (await call(server, "structured")).output.text == '{"degrees":21}'
            assert (await call(server, "fails")).outcome == "failed"


async def test_tools_that_change_are_listed_again_and_told() -> None:
    async with on_stdio() as server:
        changed = changes_of(server)
        await call(server, "grow")
        assert len(await changed.get()) == 14
        assert (await call(server, "grown", text="new")).output.text == "new"


async def test_an_older_server_is_spoken_to_as_well() -> None:
    async with McpServer("t", command=sys.executable, args=[OLD_SERVER]) as server:
        changed = changes_of(server)
        assert (await call(server, "change")).output.text == "changed"
        assert [tool.name for tool in await changed.get()] == ["t__change", "t__more"]


async def test_a_server_that_dies_in_a_call_is_started_again_outcome_unknown() -> None:
    async with on_stdio() as server:
        ran = await call(server, "die")
        assert (ran.outcome, ran.output.is_error) == ("unknown", True)
        assert "Whether the call took effect is unknown" in ran.output.text
        assert "It is connected again." in ran.output.text
        assert (await call(server, "echo", text="back")).output.text == "back"


async def test_an_idempotent_call_is_made_again(tmp_path: Path) -> None:
    async with on_stdio(env={"ALIVE": str(tmp_path / "alive")}) as server:
        assert (await call(server, "die_once")).output.text == "alive"


@pytest.mark.sweep
async def test_a_server_that_died_while_nobody_called_is_started_again() -> None:
    async with on_stdio() as server:
        import os
        import signal

        pid = int((await call(server, "pid")).output.text)
        os.kill(pid, signal.SIGKILL)
        while server._connection is not None and not server._connection.is_lost:
            await asyncio.sleep(0.01)
        ran = await call(server, "pid")
        assert ran.outcome == "finished"
        assert int(ran.output.text) != pid


@pytest.mark.sweep
async def test_a_server_over_http_that_went_away_is_reached_again() -> None:
    port = free_port()
    with serving(port) as first:
        server = McpServer("t", url=f"http://127.0.0.1:{port}/mcp")
        async with server:
            first.kill()
            first.wait()
            away = await call(server, "pid")
            assert away.outcome == "failed"
            assert "t__pid was not called" in away.output.text
            with serving(port):
                assert (await call(server, "pid")).outcome == "finished"
                died = await call(server, "die")
                assert died.outcome == "unknown"
                assert "It could not be connected again." in died.output.text


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_goes_on() -> None:
    async with on_stdio() as server:
        short = replace(tool_of(server, "sleep"), timeout_s=1.0)
        ran = await run_call(short, '{"text": "1000"}', FakeToolContext())
        assert ran.outcome == "timed_out"
        assert "whether it takes effect is unknown" in ran.output.text
        assert (await call(server, "echo", text="on")).output.text == "on"


async def test_a_call_may_be_cancelled_and_the_server_goes_on() -> None:
    async with on_stdio() as server:
        task = asyncio.ensure_future(call(server, "sleep", text="1000"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await call(server, "echo", text="on")).output.text == "on"


async def test_nothing_outlives_the_block() -> None:
    async with on_stdio() as server:
        pids = [int((await call(server, name)).output.text) for name in ("pid", "spawn")]
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))
    ran = await call(server, "echo")
    assert "is closed" in ran.output.text


async def test_a_cancel_ends_a_server_that_ignores_term_before_it_goes_on() -> None:
    pids: list[int] = []
    begun = asyncio.Event()

    async def use() -> None:
        async with on_stdio(env={"STUBBORN": "1"}) as server:
            pids.append(int((await call(server, "pid")).output.text))
            begun.set()
            await asyncio.sleep(1000)

    task = asyncio.ensure_future(use())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(map(is_alive, pids))


@pytest.mark.sweep
async def test_many_cancels_end_it_all_the_same() -> None:
    pids: list[int] = []
    begun = asyncio.Event()

    async def use() -> None:
        async with on_stdio(env={"STUBBORN": "1"}) as server:
            pids.append(int((await call(server, "pid")).output.text))
            begun.set()
            await asyncio.sleep(1000)

    task = asyncio.ensure_future(use())
    await begun.wait()
    while not task.done():
        task.cancel()
        await asyncio.sleep(0.05)
    assert task.cancelled()
    assert not any(map(is_alive, pids))


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "t"},
        {"name": "", "command": "x"},
        {"name": "t", "command": "x", "url": "http://127.0.0.1/"},
    ],
)
def test_an_address_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        McpServer(**wrong)


def test_keys_are_not_shown() -> None:
    server = McpServer(
        "t",
        url="http://127.0.0.1/",
        headers={"Authorization": "Bearer k3y"},
        env={"KEY": "k3y"},
    )
    assert "k3y" not in repr(server._address)


async def test_a_server_that_can_not_be_used_says_why() -> None:
    async def said(server: McpServer) -> str:
        with pytest.raises(ServerUnavailable) as raised:
            async with server:
                pass
        return str(raised.value)

    assert "No such file" in await said(McpServer("t", command="/nothing-here"))
    broken = McpServer(
        "t",
        command=sys.executable,
        args=["-c", "import sys; sys.exit('broken settings')"],
    )
    assert "its last words: broken settings" in await said(broken)
    found = await said(McpServer("t", command="sleep", args=["1000"], connect_s=0.3))
    assert "no answer in 0.3 s" in found
    given = await said(McpServer("t", url=f"http://127.0.0.1:{free_port()}/mcp"))
    assert "ConnectError" in given


async def test_a_sandboxed_server_reads_nothing_of_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("canary")
    root = tmp_path / "project"
    root.mkdir()
    readable = (
        Path(OLD_SERVER).parent,
        Path(sys.prefix),
        Path(sys.base_prefix),
        Path(ullage.__file__).parent,
    )
    sandbox = Sandbox(home=home, readable=readable)
    async with McpServer(
        "t", command=sys.executable, args=[OLD_SERVER], cwd=root, sandbox=sandbox
    ) as server:
        assert server.tools
    line = f"cat {home}/.ssh/id >&2; exit 1"
    with pytest.raises(ServerUnavailable) as raised:
        async with McpServer(
            "t", command="/bin/sh", args=["-c", line], cwd=root, sandbox=sandbox
        ):
            pass
    assert "canary" not in str(raised.value)


async def test_a_server_that_can_not_be_sandboxed_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    line = f"touch {tmp_path}/started; exit 1"
    server = McpServer(
        "t", command="/bin/sh", args=["-c", line], cwd=tmp_path, sandbox=Sandbox()
    )
    with pytest.raises(ServerUnavailable, match="not possible"):
        async with server:
            pass
    assert not (tmp_path / "started").exists()


async def test_a_server_that_one_event_loop_uses_is_refused_to_another() -> None:
    server = McpServer("one", command=sys.executable, args=["-c", "input()"])
    await server.open(patience_s=0.01)
    with pytest.raises(CommandRefused, match=r"MCP server one is in use in another"):
        await asyncio.to_thread(asyncio.run, server.open())
    await server.close()

    async def opened_and_closed() -> None:
        await server.open(patience_s=0.01)
        await server.close()

    await asyncio.to_thread(asyncio.run, opened_and_closed())
