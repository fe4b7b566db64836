from __future__ import annotations

from pathlib import Path

import pytest

from ullage.cli.chat.simulated import simulated
from ullage.errors import UllageError
from ullage.runtime.agent import Agent


async def test_the_simulated_model_answers_under_the_providers_own_names(tmp_path: Path) -> None:
    with simulated() as double:
        agent = Agent(double.model, environment=double.environment, config=False, store=tmp_path / "s.db")
        assert "simulated model" in (await agent.ask("hello")).text
        assert "You said: again" in (await agent.ask("again")).text


def test_a_scenario_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("answers = 3")
    with pytest.raises(UllageError), simulated(str(tmp_path / "bad.toml")):
        pass
