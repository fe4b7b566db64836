import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from scripts.make_settings_types import OWN_PARAMETERS, TARGET, argument_type, source
from ullage_agent.runtime.settings import KEYS
from ullage_agent.runtime.settings_types import AgentSettings, SessionSettings

ROOT = Path(__file__).parents[2]

SNIPPET = """\
import ullage

agent = ullage.Agent("anthropic:claude-haiku-4-5", trigger=0.8, window=200_000, root=".", approve=["shell"], tries=None)
session = agent.session("notes", budget={"usd": 0.5}, model="openai:gpt-5", tools=("read",))
ullage.Agent("anthropic:claude-haiku-4-5", windwo=3)
ullage.Agent("anthropic:claude-haiku-4-5", trigger="a lot")
agent.session("notes", budget_uds=0.5)


async def change() -> None:
    await session.set(window="large")
"""
WRONG_LINES = [5, 6, 7, 11]


def test_the_types_are_those_of_the_settings_table() -> None:
    assert TARGET.read_text("utf-8") == source(), (
        "run: uv run python -m scripts.make_settings_types"
    )


def test_every_setting_is_an_argument_of_a_session_and_of_an_agent() -> None:
    assert set(get_type_hints(SessionSettings)) == set(KEYS)
    assert set(get_type_hints(AgentSettings)) == set(KEYS) - {*OWN_PARAMETERS}


@pytest.mark.parametrize(
    ("annotation", "argument"),
    [
        ("int | None", "int | None"),
        ("bool", "bool | None"),
        ("tuple[Path, ...]", "Sequence[Path | str] | None"),
        ("Path | None", "Path | str | None"),
        ("Mapping[str, McpServerSetting]", "Mapping[str, Mapping[str, object]] | None"),
        ("Literal['stop', 'finish']", 'Literal["stop", "finish"] | None'),
    ],
)
def test_an_argument_takes_what_the_reader_takes(annotation: str, argument: str) -> None:
    assert argument_type(annotation) == argument


@pytest.mark.sweep
def test_a_wrong_key_and_a_wrong_value_fail_under_mypy(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(SNIPPET, "utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--hide-error-context",
        str(snippet),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [int(line.split(":")[1]) for line in errors] == WRONG_LINES, (
        done.stdout + done.stderr
    )
