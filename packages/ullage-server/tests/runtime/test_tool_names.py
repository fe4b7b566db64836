"""Settings that name tools: a name that matches nothing runs nothing, wherever it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.promises.stage import CLAUDE, agent_for, generated, script
from ullage.errors import SessionNotFound, SettingError
from ullage.events import SettingsChanged
from ullage.messages import Tool
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.layers import Layer
from ullage_agent.runtime.subagent import subagent
from ullage_agent.tools.mcp import McpServer
from ullage_agent.tools.tool import AgentTool, Output
from ullage_server.background import http_server
from ullage_simulators import Server, running

PAYS = {
    "when": {"contains": "Pay", "after": "user"},
    "calls": [{"name": "pay", "arguments": {"amount": 5}}],
}
DONE = {"text": "That is all."}


class Till:
    """A tool that pays, and what it paid."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return "paid"


@pytest.fixture
def till() -> Till:
    return Till()


def payer(path: Path, server: Server, till: Till, **settings: Any) -> Agent:
    given = {"tools": [till.pay], **CLAUDE.settings(), **settings}
    return agent_for(path / "s.db", server=server, **given)


@pytest.mark.parametrize("key", ["approve", "always_declare"])
async def test_a_mistyped_name_is_refused_before_anything_is_sent_or_stored(
    key: str, tmp_path: Path, till: Till
) -> None:
    with running(script(PAYS, DONE)) as server:
        agent = payer(tmp_path, server, till, **{key: ["payy"]})
        with pytest.raises(SettingError, match=r"names 'payy'.*Did you mean 'pay'"):
            await agent.ask("Pay.", session="s")
        assert await agent.sessions() == []
        assert generated(server) == []
    assert till.paid == []


@pytest.mark.parametrize(
    ("approve", "reason"),
    [
        (["pay"], "approval"),
        (True, "approval"),
        (["*"], "approval"),
        (False, "finished"),
        (["shell", "mcp"], "finished"),  # of Ullage and of servers: any agent's
    ],
)
async def test_what_may_be_named_is_asked_about(
    approve: Any, reason: str, tmp_path: Path, till: Till
) -> None:
    with running(script(PAYS, DONE)) as server:
        agent = payer(tmp_path, server, till, approve=approve)
        result = await agent.ask("Pay.", session="s")
    assert result.reason == reason
    assert till.paid == ([5] if reason == "finished" else [])


@pytest.mark.parametrize("written", ["payy", "pay", "never", "", {"pay": True}, 3, [3]])
def test_what_is_no_list_of_names_fails(written: Any, tmp_path: Path, till: Till) -> None:
    with pytest.raises(SettingError, match="a list of names, or true for every tool"):
        Agent(
            tools=[till.pay],
            approve=written,
            config=False,
            store=tmp_path / "s.db",
            environment={},
        )


async def test_files_and_variables_are_checked(tmp_path: Path, till: Till) -> None:
    file = tmp_path / "ullage.toml"
    layer = Layer(
        place="user file",
        values={"approve": ["shell", "payy"]},
        path=file,
        text='\napprove = ["shell", "payy"]\n',
    )
    given: dict[str, Any] = {"tools": [till.pay], "store": tmp_path / "s.db"}
    key = {"ANTHROPIC_API_KEY": "x"}
    with pytest.raises(SettingError, match=r"ullage.toml, line 2: .*'payy'"):
        await Agent(
            "anthropic:claude-haiku-4-5", config=[layer], environment=key, **given
        ).ask("Pay.")
    with pytest.raises(SettingError, match=r"ULLAGE_APPROVE: .*'payy'"):
        await Agent(
            "anthropic:claude-haiku-4-5",
            config=False,
            environment={**key, "ULLAGE_APPROVE": "pay, payy"},
            **given,
        ).ask("Pay.")


async def test_a_session_sets_no_name_without_tool(tmp_path: Path, till: Till) -> None:
    with running(script(PAYS, DONE)) as server:
        agent = payer(tmp_path, server, till)
        with pytest.raises(SettingError, match="'payy'"):
            async with agent.session("new", approve=["payy"]):
                pass
        async with agent.session("s") as session:
            with pytest.raises(SettingError, match=r"'payy'.*session.set"):
                await session.set(approve=["payy"])
            with pytest.raises(SettingError, match="list of names"):
                await session.set(approve="pay")
            await session.set(approve=["pay"])
            assert (await session.ask("Pay.")).reason == "approval"
        with pytest.raises(SessionNotFound):
            await SqliteStore(tmp_path / "s.db").about("new")
    assert till.paid == []


@pytest.mark.parametrize("stored", [["pay_out"], ["pay", "pay_out"]])
async def test_a_session_whose_stored_settings_name_a_lost_tool_is_kept_and_goes_on_once_it_is_set(
    stored: Any, tmp_path: Path, till: Till
) -> None:
    with running(script(PAYS, DONE)) as server:
        agent = payer(tmp_path, server, till)
        async with agent.session("s"):
            pass
        store = SqliteStore(tmp_path / "s.db")
        await store.command("s", [SettingsChanged(settings={"approve": stored})])
        await store.close()
        async with agent.session("s") as session:  # opening and reading it is possible
            assert (await session.wait()).reason == ""
        async with agent.session("s") as session:
            await session.send("Pay.")
            with pytest.raises(SettingError, match=r"'pay_out'.*what waits.*is kept"):
                await session.wait()
            assert till.paid == [] and generated(server) == []
            await session.set(approve=["pay"])
            assert (await session.wait()).reason == "approval"
    assert till.paid == []


class FakeServer(McpServer):
    """An MCP server that begins to work when the test says so."""

    def __init__(self, till: Till) -> None:
        super().__init__("bank", command="unused")
        self._till = till
        self.problem = "it has not answered"

    async def open(self, *, patience_s: float = 0) -> None: ...

    async def close(self, *, at_once: bool = False) -> None: ...

    def begin(self, name: str = "bank__pay") -> None:
        async def run(arguments: Any, context: Any) -> Output:
            self._till.paid.append(arguments["amount"])
            return Output("paid")

        schema = msgspec.Raw(b'{"type":"object"}')
        declaration = Tool(name=name, description="", schema=schema, server="bank")
        self.tools = (AgentTool(declaration=declaration, run=run),)
        self.problem = ""
        self._tell_state()


async def test_before_a_server_has_offered_its_tools_no_turn_begins(
    tmp_path: Path, till: Till
) -> None:
    bank = FakeServer(till)
    pays = {**PAYS, "calls": [{"name": "bank__pay", "arguments": {"amount": 5}}]}
    with running(script(pays, DONE)) as server:
        agent = payer(tmp_path, server, till, tools=[bank], approve=["bank__pay"])
        async with agent.session("s") as session:
            await session.send("Pay.")
            with pytest.raises(
                SettingError, match=r"'bank__pay'.*server bank .*it has not answered"
            ):
                await session.wait()
            assert generated(server) == []
            bank.begin()
            assert (await session.wait()).reason == "approval"
    assert till.paid == []


async def test_a_server_that_renames_its_tool_stops_the_turn_and_not_the_question(
    tmp_path: Path, till: Till
) -> None:
    bank = FakeServer(till)
    bank.begin()
    pays = {**PAYS, "calls": [{"name": "bank__pay2", "arguments": {"amount": 5}}]}
    with running(script(pays, DONE)) as server:
        agent = payer(tmp_path, server, till, tools=[bank], approve=["bank__pay"])
        with pytest.raises(SettingError, match="Did you mean 'bank__pay2'"):
            async with agent.session("s") as session:
                bank.begin("bank__pay2")
                await session.ask("Pay.")
    assert till.paid == []


async def test_an_argument_counts_for_its_own_agent_and_a_session_for_the_whole_team(
    tmp_path: Path, till: Till
) -> None:
    with running(script(DONE)) as server:
        billing = payer(tmp_path, server, till, name="billing")
        desk = payer(
            tmp_path, server, till, tools=[], handoffs=[billing], approve=["pay"]
        )
        with pytest.raises(SettingError, match=r"argument: .*'pay'"):
            await desk.ask("Hello.")
        desk = payer(tmp_path, server, till, tools=[], handoffs=[billing])
        async with desk.session(approve=["pay"]) as session:
            assert (await session.ask("Hello.")).reason == "finished"
        wrong = payer(tmp_path, server, till, name="billing", approve=["payy"])
        desk = payer(tmp_path, server, till, tools=[], handoffs=[wrong])
        with pytest.raises(SettingError, match="'payy'"):
            await desk.ask("Hello.")


async def test_a_subagents_tool_is_its_agents(tmp_path: Path, till: Till) -> None:
    with running(script(DONE)) as server:
        inner = payer(tmp_path, server, till)
        tool = subagent(inner, name="helper", description="It pays.")
        agent = payer(tmp_path, server, till, tools=[tool], approve=["pay"])
        with pytest.raises(SettingError, match="Its tools are helper, read_result"):
            await agent.ask("Pay.")


@pytest.mark.parametrize("waits", [False, True])
def test_a_server_does_not_start_with_a_name_that_no_tool_can_have(
    waits: bool, tmp_path: Path, till: Till
) -> None:
    tools = [till.pay, FakeServer(till)] if waits else [till.pay]
    with running(script(DONE)) as server:
        agent = payer(tmp_path, server, till, tools=tools, approve=["pay", "payy"])
        with pytest.raises(SettingError, match=r"'payy'.*Did you mean 'pay'"):
            http_server(agent, token="").__enter__()
        if waits:
            agent = payer(tmp_path, server, till, tools=tools, approve=["bank__pay"])
            with http_server(agent, token=""):
                pass
