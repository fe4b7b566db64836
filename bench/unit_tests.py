"""What a unit test of a user's agent costs, beside pydantic-ai's ``TestModel``.

    uv run python -m bench.unit_tests

Each side has a project of its own in a temporary directory: a module with an agent that has a tool, and 50 tests with
pytest. A test puts a made-up model in the place of the agent's, which calls the tool and then answers; every second
test is asynchronous. The two run in turn, each in an environment with nothing but its package and pytest. CPU is the
process's, from the first test to the last, divided by their number; importing the packages is not in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from bench.environments import (
    CHECKOUT,
    PYDANTIC_AI,
    ClientFailed,
    NotInstalled,
    Peer,
    python_of,
)
from bench.results import Table, ms, show

TESTS: Final = 50
RUNS: Final = 5
PYTEST: Final = "pytest==9.2.0"

ULLAGE: Final = Peer("ullage", PYTEST, has_ullage=True)
PEER: Final = Peer(PYDANTIC_AI.name, PYDANTIC_AI.requirement, also=(PYTEST,))

CONFTEST: Final = """
import json, time

began = []

def pytest_runtest_protocol():
    began.append(time.process_time())

def pytest_sessionfinish(session):
    spent = time.process_time() - began[0]
    with open("cpu.json", "w") as file:
        json.dump([spent, len(began), session.testsfailed], file)
"""

OURS: Final = {
    "shop.py": '''
import ullage

def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a vessel"

agent = ullage.Agent("openai:gpt-5", tools=[look_up], system="You are brief.")
''',
    "test_shop.py": """
import asyncio
import pytest
from ullage.testing import ScriptedModel, tool_call
from shop import agent

@pytest.mark.parametrize("number", range(TESTS))
def test_answer(number):
    model = ScriptedModel([tool_call("look_up", word="cask"), f"A vessel, {number}."])
    with agent.override(model=model):
        if number % 2:
            result = asyncio.run(agent.ask("What is a cask?"))
        else:
            result = agent.run_sync("What is a cask?")
    assert result.text == f"A vessel, {number}."
    assert len(model.requests) == 2
""",
}

THEIRS: Final = {
    "shop.py": '''
from pydantic_ai import Agent

agent = Agent("openai:gpt-5", system_prompt="You are brief.", defer_model_check=True)

@agent.tool_plain
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a vessel"
''',
    "test_shop.py": """
import asyncio
import pytest
from pydantic_ai import models
from pydantic_ai.models.test import TestModel
from shop import agent

models.ALLOW_MODEL_REQUESTS = False

@pytest.mark.parametrize("number", range(TESTS))
def test_answer(number):
    model = TestModel(custom_output_text=f"A vessel, {number}.")
    with agent.override(model=model):
        if number % 2:
            result = asyncio.run(agent.run("What is a cask?"))
        else:
            result = agent.run_sync("What is a cask?")
    assert result.output == f"A vessel, {number}."
    assert len(result.all_messages()) == 4
""",
}


SUITE: Final = "Ullage, examples/testing"


def suite() -> dict[str, str]:
    """The tests of a whole agent: tools, approvals, a sub-agent, guardrails, a compaction."""
    files = (CHECKOUT / "examples" / "testing").glob("*.py")
    return {file.name: file.read_text() for file in files}


def cpu_of(peer: Peer, project: dict[str, str]) -> float:
    """Seconds of CPU for one test. Raises ``NotInstalled``, and ``ClientFailed`` where a test fails."""
    python = python_of(peer)
    with tempfile.TemporaryDirectory() as place:
        for name, text in {**project, "conftest.py": CONFTEST}.items():
            Path(place, name).write_text(text.replace("TESTS", str(TESTS)))
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(
            command,
            cwd=place,
            env={"PATH": os.environ["PATH"], "HOME": place},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise ClientFailed(done.stdout[-2_000:] + done.stderr[-2_000:])
        if left := sorted(Path(place).rglob("*.db")):
            raise ClientFailed(f"The tests wrote {left[0]}.")
        spent, count, failed = json.loads(Path(place, "cpu.json").read_text())
    assert (count, failed) == (TESTS, 0)
    return float(spent) / TESTS


def main() -> None:
    sides = {
        "Ullage": (ULLAGE, OURS),
        PYDANTIC_AI.requirement: (PEER, THEIRS),
        SUITE: (ULLAGE, suite()),
    }
    runs: dict[str, list[float]] = {name: [] for name in sides}
    try:
        for _ in range(RUNS):
            for name, (peer, project) in sides.items():
                runs[name].append(cpu_of(peer, project))
    except NotInstalled as why:
        show(notes=[f"It can't be installed here: {why}"])
        return
    ours = median(runs["Ullage"])
    rows = [
        (
            name,
            ms(median(found)),
            f"{ms(min(found))} to {ms(max(found))}",
            f"{median(found) / ours:.2f}",
        )
        for name, found in runs.items()
    ]
    columns = ("tests with", "CPU of a test", "in all runs", "× Ullage")
    show(
        Table(
            f"{TESTS} tests of an agent, medians of {RUNS} runs in turn",
            columns,
            tuple(rows),
        )
    )


if __name__ == "__main__":
    main()
