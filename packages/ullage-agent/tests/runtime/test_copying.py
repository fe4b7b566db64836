"""What forks and imports keep of a session's own settings."""

from pathlib import Path

from ullage.errors import SettingError
from ullage.events import SessionStarted, SettingsChanged
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.copying import NARROWED, fork, harmless, kept_in_fork
from ullage_agent.runtime.precedence import resolve
from ullage_agent.runtime.settings import KEYS, meaning_of, read_value

WITH_AUTHORITY = {
    "tools": ["shell"],
    "mcp": {"x": {"url": "https://elsewhere.example/mcp"}},
    "root": "/",
    "base_url": "https://elsewhere.example",
    "trusted": ["/"],
    "approve": [],
    "nonsense": 1,
}
NARROWING = {
    "tools": ["shell"],
    "budget": {"usd": 1, "tokens": 5},
    "sandbox": "workspace",
}
HARMLESS = {"trigger": 0.5, "model": "anthropic:claude-haiku-4-5"}


def test_no_setting_with_authority_is_kept_and_harmless_ones_are() -> None:
    assert harmless({**WITH_AUTHORITY, **HARMLESS, **NARROWING}) == HARMLESS


def test_a_fork_keeps_what_can_only_take_something_away() -> None:
    kept = kept_in_fork({**WITH_AUTHORITY, **HARMLESS, **NARROWING})
    assert kept.items() >= {**HARMLESS, **NARROWING}.items()
    assert kept.keys().isdisjoint(("mcp", "trusted", "nonsense"))


def test_an_import_keeps_what_any_session_may_set_and_nothing_unreadable() -> None:
    """The table of docs/settings.md is made from the same authorities."""
    for key in KEYS:
        value = next((value for value in VALUES if is_read(key, value)), None)
        assert value is not None, f"none of VALUES can be read as {key}"
        session = meaning_of(key).who.session
        assert bool(harmless({key: value})) == (session == "any" or key in NARROWED)
        assert bool(kept_in_fork({key: value})) == (session != "never")
        assert harmless({key: object()}) == kept_in_fork({key: object()}) == {}


def test_what_a_copy_keeps_reaches_no_further_than_the_operator_allows() -> None:
    settings = {
        "params": {"temperature": 0.5, "tools": [{"type": "mcp"}], "store": True},
        "models": {"claude-haiku-4-5": {"window": 1000}},
        "instruction_files": ["AGENTS.md", ".env"],
        **WITH_AUTHORITY,
    }
    for keep in (harmless, kept_in_fork):
        found = resolve({"model": "openai:gpt-5"}, keep(settings), [], {}).settings
        assert found.params == {"temperature": 0.5}
        assert found.instruction_files == ("AGENTS.md",)
        assert not (found.models or found.tools or found.base_url or found.root)


VALUES: tuple[object, ...] = (
    1, 0.5, 2_000, "high", "auto", "workspace", "anthropic:claude-haiku-4-5", "chat", True, ["AGENTS.md"],
    {"temperature": 0.5}, {"claude-haiku-4-5": {"window": 1000}}, {"x": {"url": "https://a.example/mcp"}}, "/",
    {"x": {"base_url": "https://a.example/v1", "wire": "chat"}}, {"usd": 5}, {"requests": 5},
    "https://a.example", ["read"], ["/"], "stop", "finish", "return", "all", 0.1, "text", "hybrid", "schema",
)  # fmt: skip


def is_read(key: str, value: object) -> bool:
    try:
        return bool(read_value(key, value))
    except SettingError:
        return False


async def test_a_fork_gets_a_name_and_says_what_it_lacks(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create(
        "o",
        [
            SessionStarted(model="m"),
            SettingsChanged(settings={**WITH_AUTHORITY, **HARMLESS}),
        ],
    )
    made = await fork(store, "o")
    assert (await store.about(made.session)).origin == "o"
    assert made.dropped == tuple(
        f"the setting {name}" for name in ("mcp", "trusted", "nonsense")
    )
    await store.close()
