from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import SettingError
from ullage.runtime.precedence import Layer, Source, resolve
from ullage.runtime.settings import Settings

ROOT = Path("/projects/project")
RANKS = ("argument", "session", "project file", "user file", "environment")


def user(**said: object) -> Layer:
    return Layer(place="user file", said=said, path=Path("/home/me/ullage.toml"))


def project(**said: object) -> Layer:
    return Layer(place="project file", said=said, path=ROOT / "ullage.toml")


@given(st.dictionaries(st.sampled_from(RANKS), st.integers(1, 10**6)))
def test_the_highest_place_that_says_a_key_wins(said: dict[str, int]) -> None:
    def of(place: str) -> dict[str, Any]:
        return {"window": said[place]} if place in said else {}

    environment = {"ULLAGE_WINDOW": str(said["environment"])} if "environment" in said else {}
    files = [user(**of("user file")), project(**of("project file"))]
    for order in (files, files[::-1]):
        resolved = resolve(of("argument"), of("session"), order, environment)
        winner = next((place for place in RANKS if place in said), "default")
        assert resolved.settings.window == said.get(winner)
        assert resolved.source_of("window").place == winner


def test_nothing_said_is_the_defaults() -> None:
    resolved = resolve({}, {}, [], {})
    assert resolved.settings == Settings()
    assert str(resolved.source_of("trigger")) == "default"


def test_a_source_names_the_file_and_the_variable() -> None:
    resolved = resolve({}, {}, [user(keep=0.5)], {"ULLAGE_MAX_STEPS": "7"})
    assert resolved.source_of("keep") == Source("user file", "/home/me/ullage.toml")
    assert resolved.source_of("max_steps") == Source("environment", "ULLAGE_MAX_STEPS")
    with pytest.raises(SettingError, match="Did you mean 'keep'"):
        resolved.source_of("kep")


def test_a_model_s_table_wins_over_its_own_place_alone() -> None:
    tables = {"claude-haiku-4-5": {"trigger": 0.6, "window": 1_000}}
    files = [user(trigger=0.7, models=tables)]
    resolved = resolve({"model": "anthropic:claude-haiku-4-5", "window": 2_000}, {}, files, {})
    assert (resolved.settings.trigger, resolved.settings.window) == (0.6, 2_000)
    assert str(resolved.source_of("trigger")) == 'user file (/home/me/ullage.toml [models."claude-haiku-4-5"])'
    other = resolved.change({"model": "openai:gpt-5"})
    assert other.settings.trigger == 0.7


def test_a_table_with_the_provider_s_name_wins_over_one_without() -> None:
    tables = {"anthropic:m": {"trigger": 0.5}, "m": {"trigger": 0.6, "max_output": 5}}
    settings = resolve({"model": "anthropic:m", "models": tables}, {}, [], {}).settings
    assert (settings.trigger, settings.max_output) == (0.5, 5)


def test_entries_of_tables_are_looked_up_one_by_one() -> None:
    files = [
        user(params={"seed": 1, "top_p": 1}, mcp={"a": {"url": "http://a"}, "b": {"url": "http://b"}}),
        project(params={"seed": 2}),
    ]
    settings = resolve({"mcp": {"b": {"enabled": False}}}, {}, files, {}).settings
    assert settings.params == {"seed": 2, "top_p": 1}
    assert settings.mcp["a"].enabled and not settings.mcp["b"].enabled


def test_a_change_in_a_running_session_wins_over_the_argument_and_is_the_session_s() -> None:
    resolved = resolve({"model": "m", "trigger": 0.5, "models": {"m": {"trigger": 0.4}}}, {"keep": 0.2}, [], {})
    after = resolved.change({"trigger": "150k"})
    assert after.settings.trigger == 150_000
    assert str(after.source_of("trigger")) == "session"
    assert after.session == {"keep": 0.2, "trigger": 150_000}
    again = resolve({"model": "m"}, after.session, [], {})
    assert (again.settings.trigger, again.settings.keep) == (150_000, 0.2)
    assert resolved.settings.trigger == 0.4


def test_a_refused_change_leaves_what_counted() -> None:
    resolved = resolve({}, {}, [], {})
    for wrong in ({"trigger": -1}, {"tigger": 1}, {"trusted": ["/"]}, {"api_key": "x"}):
        with pytest.raises(SettingError):
            resolved.change(wrong)
    assert resolved.settings == Settings()


@pytest.mark.parametrize("key", ["base_url", "mcp", "approve", "tools", "root", "budget_usd"])
def test_a_project_says_where_keys_go_and_what_runs_only_where_it_is_trusted(key: str) -> None:
    value = {"base_url": "https://other", "mcp": {"a": {"command": "x"}}, "root": "/", "budget_usd": 9}.get(
        key, ["shell"]
    )
    files = [project(**{key: value})]
    with pytest.raises(SettingError, match=rf"ullage.toml: a project's file may not say {key}"):
        resolve({}, {}, files, {})
    with pytest.raises(SettingError, match="may not say"):
        resolve({"trusted": ["/projects/proj"]}, {}, files, {})
    assert resolve({}, {}, [*files, user(trusted=["/projects"])], {}).source_of(key).place == "project file"


def test_a_project_can_not_trust_itself() -> None:
    with pytest.raises(SettingError, match="may not say"):
        resolve({}, {}, [project(trusted=["."], tools=["shell"])], {})
    with pytest.raises(SettingError, match="may not say trusted"):
        resolve({"trusted": [str(ROOT)]}, {}, [project(trusted=["/"])], {})


def test_neither_a_link_nor_dots_make_a_directory_trusted(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    (tmp_path / "ours" / "link").symlink_to(tmp_path / "theirs")
    for inside in ("link", "../theirs"):
        layer = Layer(place="project file", said={"tools": ["shell"]}, path=tmp_path / "ours" / inside / "ullage.toml")
        with pytest.raises(SettingError, match="may not say tools"):
            resolve({"trusted": [tmp_path / "ours"]}, {}, [layer], {})
        assert resolve({"trusted": [tmp_path / "theirs"]}, {}, [layer], {}).settings.tools == ("shell",)


def test_directories_of_a_file_are_relative_to_it() -> None:
    assert resolve({}, {}, [user(root="sub")], {}).settings.root == Path("/home/me/sub")
    assert resolve({}, {}, [user(trusted=["sub", "/x"])], {}).settings.trusted == (Path("/home/me/sub"), Path("/x"))


def test_variables_are_read_as_people_write_them() -> None:
    environment = {
        "ULLAGE_WINDOW": "1M", "ULLAGE_AUTO": "off", "ULLAGE_TOOLS": "shell,edit", "ULLAGE_BUDGET_USD": "none",
        "ULLAGE_MODEL": "", "ULLAGE_DATA": "/x", "ULLAGE_SERVER": "no setting", "HOME": "/home/me",
    }  # fmt: skip
    settings = resolve({}, {}, [], environment).settings
    assert settings == Settings(window=1_000_000, auto=False, tools=("shell", "edit"))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"ULLAGE_WINDW": "1"}, "ULLAGE_WINDW, which is no setting. Did you mean 'ULLAGE_WINDOW'"),
        ({"ULLAGE_WINDOW": "big"}, "ULLAGE_WINDOW: window='big' can't be"),
        ({"ULLAGE_PARAMS": "x"}, "ULLAGE_PARAMS: params can't be said by a variable, only as argument, session"),
    ],
)
def test_a_wrong_variable_is_named(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingError, match=said.replace("?", r"\?")):
        resolve({}, {}, [], environment)


def test_secrets_lie_in_no_session() -> None:
    with pytest.raises(SettingError, match="'api_key' is no setting: keys come from the environment alone"):
        resolve({}, {"api_key": "x"}, [], {})
    with pytest.raises(SettingError, match=r"mcp\.a\.headers\.Authorization holds a secret"):
        resolve({}, {"mcp": {"a": {"url": "http://a", "headers": {"Authorization": "Bearer x"}}}}, [], {})
