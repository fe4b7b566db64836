"""What forks and imports keep of a session's own settings."""

from pathlib import Path

import pytest

from ullage.events import SessionStarted, SettingsChanged
from ullage.runtime.copying import fork, harmless, kept_in_fork
from ullage.runtime.settings import KEYS, meaning_of
from ullage.store.sqlite import SqliteStore

WITH_AUTHORITY = {
    "tools": ["shell"],
    "mcp": {"x": {"url": "https://elsewhere.example/mcp"}},
    "root": "/",
    "base_url": "https://elsewhere.example",
    "trusted": ["/"],
    "approve": [],
    "nonsense": 1,
}
HARMLESS = {"trigger": 0.5, "model": "anthropic:claude-haiku-4-5", "budget_usd": 1}


def test_no_setting_with_authority_is_kept_and_harmless_ones_are() -> None:
    assert harmless({**WITH_AUTHORITY, **HARMLESS}) == HARMLESS
    assert kept_in_fork({**WITH_AUTHORITY, **HARMLESS}) == {"tools": ["shell"], **HARMLESS}


def test_of_tables_the_harmless_part_is_kept() -> None:
    settings = {
        "params": {"temperature": 0.5, "tools": [{"type": "mcp"}], "store": True},
        "models": {"claude-haiku-4-5": {"window": 1000, "params": {"mcp_servers": []}}},
        "instructions": ["AGENTS.md", ".env"],
    }
    assert harmless(settings) == {
        "params": {"temperature": 0.5},
        "models": {"claude-haiku-4-5": {"window": 1000, "params": {}}},
        "instructions": ["AGENTS.md"],
    }


@pytest.mark.parametrize("key", KEYS)
def test_a_value_that_can_not_be_read_is_not_kept(key: str) -> None:
    assert meaning_of(key)
    assert harmless({key: object()}) == {}


async def test_a_fork_without_a_name_gets_one_and_says_what_it_does_not_have(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("o", [SessionStarted(model="m"), SettingsChanged(settings={**WITH_AUTHORITY, **HARMLESS})])
    made = await fork(store, "o")
    assert (await store.about(made.session)).origin == "o"
    assert made.dropped == tuple(f"the setting {name}" for name in WITH_AUTHORITY if name != "tools")
    await store.close()
