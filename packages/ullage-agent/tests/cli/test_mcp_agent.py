"""Which agent ``ullage mcp --agent`` offers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ullage.errors import SettingError
from ullage_agent.cli.mcp_agent import agent_at

MODULE = """
import ullage

seller = ullage.Agent("anthropic:claude-haiku-4-5", config=False, name="seller")
price = 3
"""


def test_an_agent_is_found_in_a_module_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hooks_shop.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert agent_at("hooks_shop:seller").name == "seller"
    for place in ("hooks_shop:price", "hooks_shop:nobody", "hooks_shop"):
        with pytest.raises(SettingError, match=r"is no ullage\.Agent"):
            agent_at(place)
    for place in ("no_such_shop:seller", ":seller", ""):
        with pytest.raises(SettingError, match="--agent"):
            agent_at(place)
