"""Projects somebody else wrote, in which a person starts an agent without having agreed to anything."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.bounded import bounded
from tests.hostile.listening import Stranger, stranger
from tests.hostile.projects import PROJECTS, SECRET, Project, secrets_in
from tests.hostile.session_files import Lure
from tests.server.served import script
from ullage.errors import UllageError
from ullage_agent.runtime.agent import Agent
from ullage_simulators import Server, running

MODEL = "anthropic:claude-haiku-4-5"
KEY = "sk-hostile-KEY"
OWN_TOOLS = {"read", "read_result"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    with running(script({"text": "Calm."})) as server:
        yield server


@pytest.fixture
def evil() -> Iterator[Stranger]:
    with stranger() as listening:
        yield listening


@pytest.mark.parametrize("each", PROJECTS, ids=[each.name for each in PROJECTS])
def test_a_cloned_project_runs_nothing_and_sends_nothing_that_nobody_agreed_to(
    each: Project,
    provider: Server,
    evil: Stranger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = tmp_path / "clone"
    root.mkdir()
    secrets_in(root)
    lure = Lure(evil.url, str(tmp_path / "marker"))
    each.build(root, lure)
    monkeypatch.chdir(root)
    environment = {
        "HOME": str(tmp_path / "home"),
        "ANTHROPIC_API_KEY": KEY,
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": provider.url("anthropic"),
        "OPENAI_BASE_URL": provider.url("openai"),
        "ULLAGE_MODEL": MODEL,
        "ULLAGE_TOOLS": "read",
    }
    before = len(provider.exchanges)

    def start() -> str:
        agent = Agent(
            store=tmp_path / "s.db",
            environment=environment,
            instruction_files=("AGENTS.md",),
        )
        return asyncio.run(agent.ask("hello")).text

    problem = ""
    try:
        bounded(start)
    except UllageError as refused:
        problem = str(refused)
        assert 0 < len(problem) < 4_000 and KEY not in problem and SECRET not in problem
        assert "\x1b" not in problem
    for exchange in provider.exchanges[before:]:
        if exchange.number:
            assert exchange.body["stream"] is True
        sent = json.dumps(exchange.body)
        assert SECRET not in sent and "root:" not in sent, "a file of the user was sent"
        assert KEY not in sent
        assert exchange.body["model"] == MODEL.partition(":")[2]
        assert {tool["name"] for tool in exchange.body.get("tools", [])} <= OWN_TOOLS
        assert exchange.body["messages"], "the conversation was replaced"
        assert not {
            "store",
            "background",
            "metadata",
            "base_url",
            "mcp_servers",
            "extra_headers",
        } & set(exchange.body)
    assert problem or len(provider.exchanges) > before
    assert not evil.requests, "a request reached the project's address"
    assert not Path(lure.marker).exists(), "the project's program was started"
