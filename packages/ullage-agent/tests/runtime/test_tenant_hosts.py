"""What the sessions of a tenant share with nobody else: a root, the sessions of its tool calls, grants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from ullage.errors import SessionNotFound, SettingError
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hosting import Host, TenantHost
from ullage_agent.runtime.subagent import subagent
from ullage_simulators import running
from ullage_simulators.scenario import read

KEY = {"ANTHROPIC_API_KEY": "x"}


@pytest.fixture
def provider() -> Iterator[str]:
    """Has a child look for a file, and the child reads it."""
    answers: list[dict[str, Any]] = [
        {
            "when": {"contains": "Ask somebody", "after": "user"},
            "calls": [{"name": "research", "arguments": {"task": "Read it."}}],
        },
        {
            "when": {"contains": "Read it", "after": "user"},
            "calls": [{"name": "read", "arguments": {"path": "notes.txt"}}],
        },
        {
            "when": {"contains": "Read above", "after": "user"},
            "calls": [{"name": "read", "arguments": {"path": "../notes.txt"}}],
        },
        {"text": "Done."},
    ]
    with running(read({"answers": answers})) as server:
        yield server.url("anthropic")


def agent_of(provider: str, folder: Path) -> Agent:
    given: dict[str, Any] = {"environment": KEY, "base_url": provider}
    given |= {"root": str(folder), "tools": ("read",), "yields": True}
    child = haiku(folder / "unused.db", **given)
    asks = subagent(child, name="research", description="Reads.")
    return haiku(folder / "s.db", **{**given, "tools": ("read", asks)})


async def results(host: Host, session: str) -> str:
    """What the events of a session hold."""
    return repr(await host.store.read(session))


async def test_a_tenant_s_files_have_a_directory(provider: str, tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "notes.txt").write_text("of the operator")
    async with Host(agent_of(provider, root)) as host:
        acme = TenantHost(host, "acme")
        session = await acme.begin("s", {})
        (root / "acme" / "notes.txt").write_text("of acme")
        settings = (await session._look()).settings
        assert settings.root == root / "acme"
        with pytest.raises(SettingError):
            await session.set(root=str(root))
        await session.send("Read above.")
        await session.wait()
        assert "of the operator" not in await results(host, "acme:s")
        await session.send("Ask somebody.")
        await session.wait()
        (child,) = [
            row.id for row in await host.store.sessions() if row.id.startswith("acme:s/")
        ]
        read = await results(host, child)
        assert "of acme" in read
        assert "of the operator" not in read
        assert (await host.store.about(child)).tenant == "acme"
        with pytest.raises(SessionNotFound):
            await TenantHost(host, "other").look(child)
        assert (await acme.look(child)).id == child


async def test_a_session_keeps_its_tenant_s_root_when_another_process_drives_it(
    provider: str, tmp_path: Path
) -> None:
    async with Host(agent_of(provider, tmp_path)) as host:
        await TenantHost(host, "acme").begin("s", {})
    async with Host(agent_of(provider, tmp_path)) as host:
        session = await host.look("acme:s")
        assert (await session._look()).settings.root == tmp_path / "acme"
        assert (await host.look("acme:s")) is session
