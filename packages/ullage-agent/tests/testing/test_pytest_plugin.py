"""The pytest plug-in in projects of users, each run by pytest as they would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os
from pathlib import Path
from unittest import mock

import pytest
import ullage
from ullage import errors
from ullage.testing import ScriptedModel, tool_call

agent = ullage.Agent("openai:gpt-5")


def test_nothing_of_the_developer_counts():
    assert agent.settings.trigger == 0.8
    assert agent.stored_in == "memory"
    with pytest.raises(errors.BadKey, match="Tests do not see it"):
        agent.run_sync("Hi")


def test_no_call_leaves_the_machine():
    with pytest.raises(errors.SettingError, match="api.openai.com.*Nothing was sent"):
        ullage.Agent("openai:gpt-5", environment={"OPENAI_API_KEY": "x"}).run_sync("Hi")


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_has_a_store_of_its_own(number):
    with agent.override(model=ScriptedModel(["Hello.", "Again."])) as changed:
        agent.run_sync("Hi", session="same")
        result = agent.run_sync("Hi", session="same")
    assert len(result.messages) == 2
    async def count():
        return [row.id for row in await agent.sessions()]
    import asyncio
    assert asyncio.run(count()) == ["same"]


def test_the_fixture_answers_for_every_agent(ullage_model):
    ullage_model.add("Hello.", "Hello too.")
    assert agent.run_sync("Hi").text == "Hello."
    assert ullage.Agent("anthropic:claude-haiku-4-5").run_sync("Hi").text == "Hello too."


@pytest.mark.xfail(raises=AssertionError, strict=True)
def test_the_fixture_fails_for_answers_that_are_left(ullage_model):
    ullage_model.add("Hello.")
    ullage_model.assert_used_up()


@pytest.mark.ullage_network
def test_a_marked_test_has_keys_and_a_network():
    marked = ullage.Agent("openai:gpt-5", base_url="http://127.0.0.1:9", tries=1)
    assert marked.settings.trigger == 0.8
    with pytest.raises(errors.Unreachable):
        marked.run_sync("Hi")
    assert marked._environment["OPENAI_API_KEY"] == "secret"


def test_an_environment_that_a_test_clears_changes_nothing():
    with mock.patch.dict(os.environ, {"OPENAI_API_KEY": "x"}, clear=True):
        cleared = ullage.Agent("openai:gpt-5")
        assert cleared.stored_in == "memory"
        with pytest.raises(errors.BadKey, match="Tests do not see it"):
            cleared.run_sync("Hi")
        with pytest.raises(errors.SettingError, match="Nothing was sent"):
            ullage.Agent("openai:gpt-5", environment={"OPENAI_API_KEY": "x"}).run_sync("Hi")


def test_the_next_one_has_not():
    assert "OPENAI_API_KEY" not in ullage.Agent("openai:gpt-5")._environment
    assert os.environ["OPENAI_API_KEY"] == "secret"
"""

STRANGER = """
import os
import sys


def test_it_loads_nothing_of_ullage():
    loaded = [name for name in sys.modules if name.partition(".")[0] == "ullage"]
    assert loaded == []
    assert os.environ["OPENAI_API_KEY"] == "secret"
"""


def pytest_in(
    folder: Path, tests: str, *options: str
) -> subprocess.CompletedProcess[str]:
    (folder / "test_project.py").write_text(tests)
    (folder / "ullage.toml").write_text("trigger = 0.5\n")
    home = folder / "home"
    home.mkdir()
    given = {name: value for name, value in os.environ.items() if name[:6] != "ULLAGE"}
    environment = {**given, "HOME": str(home), "OPENAI_API_KEY": "secret"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugin = ["-p", "ullage_agent.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *options, "test_project.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert list(home.rglob("*")) == [], "something was written to the home directory"
    return done


def test_a_project_of_agents(tmp_path: Path) -> None:
    done = pytest_in(tmp_path, TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    # The second one is the end of the fixture, which finds the answer that is left.
    assert "8 passed, 2 xfailed" in done.stdout


def test_a_project_without_ullage(tmp_path: Path) -> None:
    done = pytest_in(tmp_path, STRANGER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_option_lets_all_tests_out(tmp_path: Path) -> None:
    done = pytest_in(tmp_path, TESTS, "--ullage-network", "-k", "next_one")
    assert "'OPENAI_API_KEY' not in" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("name", ["pytest11"])
def test_pip_install_brings_it(name: str) -> None:
    from importlib.metadata import entry_points

    found = {point.name: point.value for point in entry_points(group=name)}
    assert found["ullage"] == "ullage_agent.pytest_plugin"
