"""An agent's shortcuts: one question without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import CLAUDE, agent_for, script
from ullage import Agent
from ullage.errors import WrongType
from ullage_simulators import running


def test_run_sync_asks_in_a_program_without_an_event_loop(tmp_path: Path) -> None:
    with running(script({"text": "A barrel."})) as server:
        agent = agent_for(tmp_path / "s.db", server=server, **CLAUDE.settings())
        assert agent.run_sync("What is a cask?").text == "A barrel."
        assert agent.run_sync("And now?", session="one").text == "A barrel."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tools": print}, "`tools` takes a list, and not builtin_function_or_method"),
        ({"tools": "none"}, "`tools` takes a list, and not str: write tools="),
        ({"handoffs": Agent(CLAUDE.model, config=False)}, "`handoffs` takes a list"),
        ({"handoffs": {"billing": 1}}, "`handoffs` takes a list, and not dict"),
    ],
)
def test_a_single_one_where_a_list_is_taken_is_named(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(WrongType, match=words):
        Agent(CLAUDE.model, config=False, **arguments)
