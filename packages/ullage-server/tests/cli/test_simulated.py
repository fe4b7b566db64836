from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.chat.terminal import HIDDEN, scenario
from tests.cli.command import Ended, perform
from tests.server.served import Process
from ullage.models.providers import known_providers
from ullage.store.calibration import CalibrationStore
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.cli.simulated import MODEL, WINDOW, simulated
from ullage_agent.runtime.agent import Agent


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data directory."""
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def ullage(place: Path, *words: str, said: str = "") -> Ended:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)
    }
    environment = {
        **kept,
        "ULLAGE_DATA": str(place / "data"),
        "XDG_CONFIG_HOME": str(place / "config"),
    }
    return perform(place, environment, *words, said=said)


DIES = """
import asyncio, os, sys
from ullage import Agent

async def main():
    agent = Agent("anthropic:claude-haiku-4-5", base_url="http://127.0.0.1:9", config=False)
    async with agent.session(sys.argv[1]) as session:
        await session.send("My real and important question")
        os._exit(0)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a user whose process ended before a model had answered the session ``unfinished``."""
    data = tmp_path_factory.mktemp("unfinished")
    environment = {**os.environ, "ULLAGE_DATA": str(data), "ANTHROPIC_API_KEY": "k"}
    subprocess.run(
        [sys.executable, "-c", DIES, "unfinished"], env=environment, check=True
    )
    return data


async def stored(file: Path, session: str) -> list[object]:
    store = SqliteStore(file)
    try:
        return [await store.pending(session), await store.read(session)]
    finally:
        await store.close()


def simulated_server(place: Path, *options: str) -> Process:
    return Process(
        "", place / "unused.db", *options, simulate=True, ULLAGE_DATA=str(place / "data")
    )


def test_a_simulated_server_does_not_see_the_users_sessions(
    tmp_path: Path, data: Path, unfinished: Path
) -> None:
    shutil.copytree(unfinished, data)
    before = asyncio.run(stored(data / "sessions.db", "unfinished"))
    server = simulated_server(tmp_path)
    try:
        with server.api() as api:
            assert api.get("/v1/sessions/unfinished").status_code == 404
            assert api.get("/v1/sessions").json()["sessions"] == []
            api.session("invented")
            api.say("invented", "hello")
            assert api.until("invented")["ended"] == "finished"
    finally:
        server.end()
    assert asyncio.run(stored(data / "sessions.db", "unfinished")) == before
    listed = ullage(tmp_path, "sessions", "--json")
    assert "unfinished" in listed.stdout
    assert "invented" not in listed.stdout


@pytest.mark.program
def test_simulators_teach_nothing_of_the_users_models(tmp_path: Path, data: Path) -> None:
    simulate = ("--simulate", "--model", "anthropic:claude-haiku-4-5")
    done = ullage(tmp_path, "chat", *simulate, said="one\ntwo\nthree\nfour\n")
    assert done.returncode == 0, done.stderr
    assert CalibrationStore(data).read().models == {}


def test_simulated_sessions_are_found_again_and_the_users_are_not(
    tmp_path: Path, unfinished: Path
) -> None:
    shutil.copytree(unfinished, tmp_path / "data")
    nothing = ullage(tmp_path, "chat", "--simulate", "--continue", said="on\n")
    assert nothing.returncode == 2
    assert "no simulated session" in nothing.stderr and "Traceback" not in nothing.stderr
    found = ullage(
        tmp_path, "chat", "--simulate", "--session", "first", said="one\n"
    ).returncode
    assert found == 0
    again = ullage(tmp_path, "chat", "--simulate", "--continue", said="two\n")
    assert "Session first" in again.stderr


@pytest.mark.program
def test_a_few_exchanges_fill_the_window_and_compact_it(tmp_path: Path) -> None:
    said = "\n".join(f"And what about cask {number}?" for number in range(8))
    done = ullage(tmp_path, "chat", "--simulate", said=f"{said}\n")
    assert done.returncode == 0, done.stderr
    assert "compacted: " in done.stderr
    assert f"of {WINDOW:,}" in done.stderr
    assert "read(path=week-2.log)" in done.stderr
    assert "You said: And what about cask 7?" in done.stderr
    assert "Back-calculated" not in done.stderr


@pytest.mark.parametrize("name", ["list", "read", "search", "write", "edit", "shell"])
@pytest.mark.program
def test_a_named_tool_is_called_with_good_arguments(tmp_path: Path, name: str) -> None:
    done = ullage(
        tmp_path,
        "chat",
        "--simulate",
        "--yes",
        "--tools",
        name,
        said=f"please {name} something\n",
    )
    assert done.returncode == 0, done.stderr
    assert f"{name}(" in done.stderr
    assert f"`{name}` gave" in done.stdout
    assert "No such file" not in done.stdout


@pytest.mark.program
def test_of_a_named_root_nothing_is_read_unasked(tmp_path: Path, data: Path) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    (root / "own.md").write_text("a line of my own\n")
    done = ullage(tmp_path, "chat", "--simulate", "--root", str(root), said="one\n")
    assert "You said: one" in done.stdout
    assert "a line of my own" not in done.stdout + done.stderr
    assert not (data / "simulated" / "cellar").exists()


def test_with_a_simulator_no_real_provider_can_be_reached(data: Path) -> None:
    users = {
        name: f"https://real.example/{name}"
        for one in known_providers()
        for name in (*one.key_env, *one.url_env)
    }
    others = {
        "ULLAGE_BASE_URL": "https://real.example",
        "ULLAGE_API_KEY": "real",
        "HOME": "/h",
    }
    with simulated() as simulator:
        held = simulator.within({**users, **others})
        assert not any(
            "real.example" in value or value == "real" for value in held.values()
        )
        assert held["HOME"] == "/h"
        for provider in known_providers():
            for name in provider.url_env:
                assert held[name].startswith("http://127.0.0.1:")


def test_serve_plays_a_scenario(tmp_path: Path) -> None:
    server = simulated_server(
        tmp_path,
        "--scenario",
        scenario(tmp_path, {"text": "As it is written."}, window=9_000),
    )
    try:
        with server.api() as api:
            api.session("s")
            api.say("s", "hello")
            api.until("s")
            assert api.messages("s")[-1]["parts"][0]["text"] == "As it is written."
            context = api.get("/v1/sessions/s/context").json()
            assert context["window"]["tokens"] == 9_000
            assert context["model"] == "claude-sonnet-4-6"
    finally:
        server.end()


def test_a_scenario_without_simulator_is_an_error_for_serve(tmp_path: Path) -> None:
    done = ullage(tmp_path, "serve", "--port", "0", "--scenario", "x.toml")
    assert (done.returncode, "--simulate" in done.stderr) == (2, True)


def test_a_simulated_server_says_where_its_tokens_are_made(tmp_path: Path) -> None:
    refused = ullage(tmp_path, "serve", "--simulate", "--host", "0.0.0.0", "--port", "0")
    assert (refused.returncode, "ullage admin token add" in refused.stderr) == (2, True)
    assert f"ULLAGE_DATA={tmp_path / 'data' / 'simulated'}`" in refused.stderr


async def test_the_simulated_model_answers_under_providers_names(data: Path) -> None:
    with simulated(pause_s=0) as simulator:
        agent = Agent(environment=simulator.environment, config=False)
        assert agent.settings.model == MODEL
        for model in ("", "openai:gpt-5", "gemini:gemini-2.5-flash"):
            other = Agent(model, environment=simulator.environment, config=False)
            assert "You said: again" in (await other.ask("again")).text
