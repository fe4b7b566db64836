"""What a session's settings reach of the machine, the keys and the network, with servers that note what they get.

One server is the provider, another the attacker: whatever lies in a ledger, the attacker hears nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.wire.local_server import LocalServer, Reply, chat, serving
from ullage.errors import SettingError
from ullage.events import SessionStarted, SettingsChanged
from ullage.store.sqlite.store import SqliteStore
from ullage.wire.client import Client, Post
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hosting import Host
from ullage_agent.tools.tool import ToolError

KEYS = {
    "OPENAI_API_KEY": "sk-openai-secret",
    "ANTHROPIC_API_KEY": "sk-anthropic-secret",
    "VLLM_API_KEY": "sk-vllm",
}
ANSWER = Reply(chat("Hello."))


def agent_for(provider: LocalServer, place: Path, **more: Any) -> Agent:
    settings: dict[str, Any] = {
        "base_url": provider.url,
        "wire": "chat",
        "tries": 1,
        "count": "never",
        "yields": True,
        **more,
    }
    return Agent(
        "openai:gpt-5", store=place / "s.db", environment=KEYS, config=False, **settings
    )


async def stored(place: Path, settings: dict[str, object]) -> None:
    """A session whose ledger holds these settings, as an imported file may."""
    store = SqliteStore(place / "s.db")
    started = SessionStarted(model="gpt-5", wire="chat", provider="openai")
    await store.create("s", [started, SettingsChanged(settings=settings)])
    await store.close()


async def test_an_address_in_a_ledger_gets_neither_the_key_nor_the_conversation(
    tmp_path: Path,
) -> None:
    async with serving(ANSWER) as provider, serving(ANSWER) as attacker:
        mcp = {"a": {"url": attacker.url}}
        await stored(
            tmp_path,
            {"base_url": attacker.url, "tools": ["shell"], "root": "/", "mcp": mcp},
        )
        async with agent_for(provider, tmp_path, tools=["read"]).session("s") as session:
            await session.ask("hello")
            settings = (await session._look()).settings
    assert not attacker.asked
    (asked,) = [one for one in provider.asked if one.method == "POST"]
    assert asked.headers["authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"
    assert "tools" not in asked.json
    assert (settings.tools, settings.root, settings.mcp) == ((), None, {})


@pytest.mark.parametrize(
    ("asked", "option"),
    [
        ({"base_url": "http://127.0.0.1:9/v1"}, "--base-url"),
        ({"tools": ["shell"]}, "--tools"),
        ({"root": "/"}, "--root"),
        ({"mcp": {"a": {"command": "x"}}}, "ullage.toml"),
        ({"params": {"tools": [{"type": "mcp"}]}}, "ullage.toml"),
        ({"instruction_files": [".env"]}, "ULLAGE_INSTRUCTION_FILES"),
        ({"sandbox": "off"}, "--sandbox"),
    ],
)
async def test_a_command_that_asks_for_more_is_refused_and_stores_nothing(
    tmp_path: Path, asked: dict[str, Any], option: str
) -> None:
    async with serving(ANSWER) as provider:
        agent = agent_for(provider, tmp_path)
        async with Host(agent) as host:
            with pytest.raises(SettingError, match=option):
                await host.begin("new", asked)
            session = await host.begin("s")
            await session.wait()
            before = len(await session.history())
            with pytest.raises(SettingError, match=option):
                await session.set(**asked)
            assert len(await session.history()) == before
            assert [row.id for row in await host.store.sessions()] == ["s"]
        with pytest.raises(SettingError, match=option):
            async with agent.session("third", **asked):
                pass
    assert not provider.asked


async def test_a_key_is_not_sent_to_another_provider_s_address(tmp_path: Path) -> None:
    """The operator has an address for ``openai:gpt-5``; a session picks a model of vLLM, which has its own."""
    async with serving(ANSWER) as openai, serving(ANSWER) as vllm:
        environment = {**KEYS, "VLLM_BASE_URL": vllm.url}
        agent = Agent(
            "openai:gpt-5", base_url=openai.url, wire="chat", tries=1, yields=True, store=tmp_path / "s.db",
            environment=environment, config=False,
        )  # fmt: skip
        async with agent.session(
            "s", model="vllm:small", summary_model="anthropic:claude-haiku-4-5"
        ) as session:
            await session.ask("hello")
    assert not openai.asked
    assert {one.headers["authorization"] for one in vllm.asked} == {"Bearer sk-vllm"}


async def test_a_redirect_is_not_followed_with_a_key() -> None:
    async with serving(ANSWER) as attacker:
        for status in (301, 302, 303, 307, 308):
            async with serving(
                Reply(status=status, headers={"location": f"{attacker.url}/x"})
            ) as provider:
                async with Client() as client:
                    post = Post(
                        endpoint=provider.endpoint(),
                        path="/chat/completions",
                        headers={},
                        content=b"{}",
                    )
                    with pytest.raises(Exception, match=r"."):
                        async with client.send(post):
                            pass
                assert len(provider.asked) == 1
    assert not attacker.asked


@pytest.mark.parametrize("as_object", [False, True])
async def test_a_store_inside_the_root_is_hidden_from_commands_however_it_is_given(
    as_object: bool, tmp_path: Path
) -> None:
    place = tmp_path / "s.db"
    store = SqliteStore(place) if as_object else None
    agent = Agent(
        "openai:gpt-5",
        tools=["shell"],
        root=tmp_path,
        store=store or place,
        environment=KEYS,
        config=False,
    )
    shared = await agent._enter()
    try:
        await shared.store.sessions()
        shell = shared.tools(agent.settings)["shell"]
        session: Any = None  # the shell asks nothing of it
        output = await shell.run({"command": "head -c 15 s.db; echo; ls -a"}, session)
    finally:
        await agent._leave()
        if store is not None:
            await store.close()
    assert "SQLite format" not in str(output)


async def test_a_session_s_narrower_root_is_not_followed_when_it_becomes_a_link(
    tmp_path: Path,
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for place in (root / "sub", outside):
        place.mkdir(parents=True)
        (place / "f").write_text(place.name)
    agent = Agent(
        "openai:gpt-5",
        tools=["read", "shell"],
        root=root,
        environment=KEYS,
        config=False,
        store=tmp_path / "s",
    )
    shared = await agent._enter()
    try:
        tools = shared.tools(shared.commanded({"root": "sub"}))
        session: Any = None  # these tools ask nothing of it
        assert "sub" in (await tools["read"].run({"path": "f"}, session)).text
        (root / "sub").rename(root / "aside")
        (root / "sub").symlink_to(outside)
        for name, arguments in (("read", {"path": "f"}), ("shell", {"command": "cat f"})):
            with pytest.raises(ToolError, match="no longer the directory"):
                await tools[name].run(arguments, session)
    finally:
        await agent._leave()
