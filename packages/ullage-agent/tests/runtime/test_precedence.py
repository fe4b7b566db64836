from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import SettingError
from ullage_agent.loop.budgets import Budget
from ullage_agent.runtime.authority import PROJECT_KEYS, SANDBOXES
from ullage_agent.runtime.layers import Layer, read_layer
from ullage_agent.runtime.precedence import (
    SettingSource,
    left_out,
    refuse_beyond,
    resolve,
)
from ullage_agent.runtime.settings import KEYS, Settings, environment_name


def commanded_values(values: Mapping[str, object]) -> None:
    read_layer(Layer(place="session", values=values))


ROOT = Path("/projects/project")
RANKS = ("argument", "session", "environment", "project file", "user file", "default")


def user(**said: object) -> Layer:
    return Layer(place="user file", values=said, path=Path("/home/me/ullage.toml"))


def project(**said: object) -> Layer:
    return Layer(place="project file", values=said, path=ROOT / "ullage.toml")


@given(st.dictionaries(st.sampled_from(RANKS), st.text("ab", min_size=1)))
def test_the_highest_place_that_says_a_key_wins(said: dict[str, str]) -> None:
    def of(place: str) -> dict[str, Any]:
        return {"system": said[place]} if place in said else {}

    environment = {"ULLAGE_SYSTEM": said["environment"]} if "environment" in said else {}
    files = [user(**of("user file")), project(**of("project file"))]
    files.append(Layer(place="default", values=of("default")))
    for order in (files, files[::-1]):
        resolved = resolve(of("argument"), of("session"), order, environment)
        winner = next((place for place in RANKS if place in said), "default")
        assert resolved.settings.system == said.get(winner, "")
        assert resolved.source_of("system").place == winner


def test_a_source_names_the_file_and_the_variable() -> None:
    resolved = resolve({}, {}, [user(keep=0.5)], {"ULLAGE_MAX_STEPS": "7"})
    found = resolved.source_of("keep")
    assert found == SettingSource("user file", "/home/me/ullage.toml")
    given = resolved.source_of("max_steps")
    assert given == SettingSource("environment", "ULLAGE_MAX_STEPS")
    with pytest.raises(SettingError, match="Did you mean 'keep'"):
        resolved.source_of("kep")


def test_a_model_s_table_wins_over_its_own_place_alone() -> None:
    tables = {"claude-haiku-4-5": {"trigger": 0.6, "window": 1_000}}
    files = [user(trigger=0.7, models=tables)]
    resolved = resolve(
        {"model": "anthropic:claude-haiku-4-5", "window": 2_000}, {}, files, {}
    )
    assert (resolved.settings.trigger, resolved.settings.window) == (0.6, 2_000)
    found = str(resolved.source_of("trigger"))
    assert found == 'user file (/home/me/ullage.toml [models."claude-haiku-4-5"])'
    arguments = {"model": "anthropic:claude-haiku-4-5", "window": 2_000}
    other = resolve(
        arguments, {"model": "openai:gpt-5"}, files, {}, session_first=["model"]
    )
    assert other.settings.trigger == 0.7


def test_a_table_with_the_provider_s_name_wins_over_one_without() -> None:
    tables = {"anthropic:m": {"trigger": 0.5}, "m": {"trigger": 0.6, "max_output": 5}}
    settings = resolve({"model": "anthropic:m", "models": tables}, {}, [], {}).settings
    assert (settings.trigger, settings.max_output) == (0.5, 5)


def test_entries_of_tables_are_looked_up_one_by_one() -> None:
    files = [
        user(
            params={"seed": 1, "top_p": 1},
            mcp={"a": {"url": "http://a"}, "b": {"url": "http://b"}},
        )
    ]
    arguments = {"mcp": {"b": {"enabled": False}}, "params": {"seed": 2}}
    settings = resolve(arguments, {}, files, {}).settings
    assert settings.params == {"seed": 2, "top_p": 1}
    assert settings.mcp["a"].enabled and not settings.mcp["b"].enabled


def test_a_change_in_a_session_wins_over_the_argument_and_is_the_session_s() -> None:
    arguments = {"model": "m", "trigger": 0.5, "models": {"m": {"trigger": 0.4}}}
    before = resolve(arguments, {"keep": 0.2}, [], {})
    assert (before.settings.trigger, before.settings.keep) == (0.4, 0.2)
    own = {"keep": 0.2, "trigger": "150k"}
    after = resolve(arguments, own, [], {}, session_first=["trigger"])
    assert (after.settings.trigger, after.settings.keep) == (150_000, 0.2)
    assert str(after.source_of("trigger")) == "session"


@pytest.mark.parametrize(
    "wrong", [{"trigger": -1}, {"tigger": 1}, {"near_limit": 1}, {"api_key": "x"}]
)
def test_a_wrong_change_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        commanded_values(wrong)
        refuse_beyond(resolve({}, wrong, [], {}), wrong)


NOT_A_PROJECT_S: dict[str, object] = {
    "mcp": {"a": {"command": "x"}},
    "approve": ["shell"],
    "tools": ["shell"],
    "root": "/",
    "budget": {"usd": 9},
    "model": "openai:gpt-5",
    "base_url": "https://other",
    "sandbox": "workspace",
    "trigger": 0.5,
}


def test_a_project_sets_what_is_on_the_list_and_nothing_else() -> None:
    for key in PROJECT_KEYS:
        resolved = resolve({}, {}, [project(**{key: getattr(Settings(), key)})], {})
        assert resolved.source_of(key).place == "project file"
    for key in set(KEYS) - PROJECT_KEYS.keys():
        value = NOT_A_PROJECT_S.get(key, getattr(Settings(), key))
        with pytest.raises(SettingError, match="a project's file can't set") as caught:
            resolve({}, {}, [project(**{key: value})], {})
        said = str(caught.value)
        assert said.startswith(
            f"{ROOT / 'ullage.toml'}: a project's file can't set {key}:"
        )
        assert f"your own ullage.toml{variable_of(key)} or the call" in said


def variable_of(key: str) -> str:
    variable = environment_name(key)
    return f", {variable}" if variable else ""


def test_directories_of_a_file_are_relative_to_it() -> None:
    assert resolve({}, {}, [user(root="sub")], {}).settings.root == Path("/home/me/sub")


@pytest.mark.parametrize("key", ["sandbox_read", "sandbox_write"])
def test_opened_places_mean_the_same_wherever_the_program_is_started(key: str) -> None:
    for places in ([".git"], ["/x", "./sub"], ["sub"]):
        with pytest.raises(
            SettingError, match=rf"{key}.*absolute path or one that begins with ~/"
        ):
            resolve({key: places}, {}, [], {})
    settings = resolve({}, {}, [user(**{key: ["~/code/kettle/.git", "/x"]})], {}).settings
    assert getattr(settings, key) == (Path.home() / "code/kettle/.git", Path("/x"))


def test_variables_are_read_as_people_write_them() -> None:
    environment = {
        "ULLAGE_WINDOW": "1M", "ULLAGE_AUTO": "off", "ULLAGE_TOOLS": "shell,edit", "ULLAGE_BUDGET": "none",
        "ULLAGE_MODEL": "", "ULLAGE_DATA": "/x", "ULLAGE_SERVER": "no setting", "HOME": "/home/me",
    }  # fmt: skip
    settings = resolve({}, {}, [], environment).settings
    assert settings == Settings(window=1_000_000, auto=False, tools=("shell", "edit"))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"ULLAGE_WINDW": "1"},
            "ULLAGE_WINDW, which is no setting. Did you mean 'ULLAGE_WINDOW'",
        ),
        ({"ULLAGE_WINDOW": "big"}, "ULLAGE_WINDOW: window='big' is not possible"),
        (
            {"ULLAGE_PARAMS": "x"},
            "ULLAGE_PARAMS: params is a table, which no variable can hold",
        ),
    ],
)
def test_a_wrong_variable_is_named(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingError, match=said.replace("?", r"\?")):
        resolve({}, {}, [], environment)


def test_secrets_lie_in_no_session() -> None:
    secret = {"mcp": {"a": {"url": "http://a", "headers": {"Authorization": "Bearer x"}}}}
    with pytest.raises(
        SettingError,
        match="'api_key' is no setting: keys come from the environment alone",
    ):
        commanded_values({"api_key": "x"})
    with pytest.raises(
        SettingError, match=r"mcp\.a\.headers\.Authorization holds a secret"
    ):
        commanded_values(secret)
    assert resolve({}, {"api_key": "x", **secret}, [], {}).settings == Settings()


OPERATOR: dict[str, object] = {
    "tools": ["read", "list"],
    "root": str(ROOT),
    "base_url": "https://gateway.example/v1",
    "approve": ["write"],
    "budget": {"usd": 5, "calls": 50},
    "sandbox": "workspace+network",
    "model": "openai:gpt-5",
    "instruction_files": [".cursorrules"],
    "params": {"store_logs": True, "top_p": 1},
}
"""What a server might be started with."""

WITHIN = [
    ("tools", ["read"], ("read",)),
    ("tools", [], ()),
    ("root", str(ROOT / "sub"), ROOT / "sub"),
    ("root", "sub", ROOT / "sub"),
    ("base_url", "https://gateway.example/v1/", "https://gateway.example/v1"),
    ("approve", ["shell"], ("write", "shell")),
    ("budget", {"usd": 2}, Budget(usd=2.0, calls=50)),
    ("sandbox", "workspace", "workspace"),
    ("instruction_files", ["AGENTS.md", ".cursorrules"], ("AGENTS.md", ".cursorrules")),
    ("params", {"top_p": 0.5}, {"store_logs": True, "top_p": 0.5}),
    ("max_steps", 500, 500),
    ("trigger", 0.5, 0.5),
]

BEYOND = [
    ("tools", ["read", "shell"], ("read",)),
    ("root", "/", ROOT),
    ("root", "../other", ROOT),
    ("base_url", "https://evil.example", "https://gateway.example/v1"),
    ("approve", [], ("write",)),
    ("budget", {"usd": 6, "calls": 9}, Budget(usd=5.0, calls=9)),
    ("sandbox", "off", "workspace+network"),
    ("mcp", {"a": {"command": "x"}}, {}),
    ("models", {"m": {"window": 5}}, {}),
    ("instruction_files", [".env", "notes.md"], ("notes.md",)),
    (
        "params",
        {"store": True, "tools": [{"type": "mcp"}], "top_p": 0},
        {"store_logs": True, "top_p": 0},
    ),
]


@pytest.mark.parametrize(("key", "wanted", "counts"), WITHIN)
def test_a_session_gets_what_is_within_the_operator_s_settings(
    key: str, wanted: object, counts: object
) -> None:
    resolved = resolve(OPERATOR, {key: wanted}, [], {}, session_first={key})
    assert getattr(resolved.settings, key) == counts
    assert not resolved.narrowed
    refuse_beyond(resolved, [key])


@pytest.mark.parametrize(("key", "wanted", "counts"), BEYOND)
@pytest.mark.parametrize("first", [True, False])
def test_a_session_gets_no_more_than_the_operator_allows(
    key: str, wanted: object, counts: object, first: bool
) -> None:
    resolved = resolve(
        OPERATOR, {key: wanted}, [], {}, session_first={key} if first else ()
    )
    if key in ("params", "instruction_files") and not first:
        counts = (
            {"store_logs": True, "top_p": 1} if key == "params" else (".cursorrules",)
        )
    assert getattr(resolved.settings, key) == counts
    assert [one.key for one in resolved.narrowed] == [key]
    with pytest.raises(
        SettingError,
        match=rf"^{key}: .* is more than (this program was started|the agent was made) with\. .*(ullage.toml|Agent)",
    ):
        refuse_beyond(resolved, [key])


def test_the_refusal_names_the_launch_option() -> None:
    resolved = resolve({}, {"tools": ["shell"]}, [], {})
    with pytest.raises(
        SettingError, match=r"^tools: shell is more .* Start it with --tools"
    ):
        refuse_beyond(resolved, ["tools"])


CEILINGS = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(st.sampled_from(["read", "write", "shell"]), unique=True),
        "approve": st.lists(st.sampled_from(["read", "write", "shell"]), unique=True),
        "root": st.sampled_from(
            [
                "/projects",
                "/projects/project",
                "/projects/project/sub",
                "/",
                "sub",
                "../..",
            ]
        ),
        "sandbox": st.sampled_from(["off", "workspace", "workspace+network"]),
        "budget": st.builds(dict, calls=st.none() | st.integers(1, 9)),
        "base_url": st.sampled_from(["https://a.example", "https://b.example"]),
        "mcp": st.just({"a": {"command": "x"}}),
        "params": st.dictionaries(
            st.sampled_from(["seed", "top_p", "mcp_servers", "plugins"]),
            st.integers(0, 2),
        ),
    },
)


@given(CEILINGS, CEILINGS, st.booleans())
def test_no_session_exceeds_the_operator(
    operator: dict[str, Any], session: dict[str, Any], first: bool
) -> None:
    operator = {"root": "/projects/project", **operator}
    alone = resolve(operator, {}, [], {}).settings
    said = {key: value for key, value in session.items() if value is not None}
    counts = resolve(
        operator, said, [], {}, session_first=session.keys() if first else ()
    ).settings
    assert set(counts.tools) <= set(alone.tools)
    assert set(counts.approve) >= set(alone.approve)
    assert alone.root is not None and counts.root is not None
    assert counts.root.resolve().is_relative_to(alone.root.resolve())
    assert counts.base_url == alone.base_url and counts.mcp == alone.mcp
    assert SANDBOXES.index(counts.sandbox) >= SANDBOXES.index(alone.sandbox)
    if alone.budget.calls is not None:
        assert counts.budget.calls is not None
        assert counts.budget.calls <= alone.budget.calls
    assert {"mcp_servers", "plugins"} & counts.params.keys() <= alone.params.keys()


def test_an_address_belongs_to_the_provider_it_was_given_for() -> None:
    given = {
        "model": "openai:gpt-5",
        "base_url": "https://gateway.example/v1",
        "wire": "chat",
    }
    same = resolve(
        given, {"model": "openai:gpt-5-mini"}, [], {}, session_first=["model"]
    ).settings
    assert (same.base_url, same.wire) == ("https://gateway.example/v1", "chat")
    other = resolve(
        given, {"model": "anthropic:claude-haiku-4-5"}, [], {}, session_first=["model"]
    ).settings
    assert other.model == "anthropic:claude-haiku-4-5"
    assert other.base_url == ""
    assert other.wire == ""


def test_an_address_without_a_model_is_for_models_that_name_no_provider() -> None:
    for model in ("anthropic:claude-haiku-4-5", "openai:gpt-5", "claude-haiku-4-5"):
        found = resolve(
            {"base_url": "https://gateway.example/v1"}, {"model": model}, [], {}
        ).settings
        assert (found.model, found.base_url) == (model, "")
    own = resolve(
        {"base_url": "https://gateway.example/v1"}, {"model": "my-model"}, [], {}
    ).settings
    assert own.base_url == "https://gateway.example/v1"


def test_an_address_in_a_file_belongs_to_the_model_beside_it() -> None:
    own = user(model="anthropic:claude-haiku-4-5", base_url="https://claude.example")
    assert resolve({}, {}, [own], {}).settings.base_url == "https://claude.example"
    assert resolve({"model": "openai:gpt-5"}, {}, [own], {}).settings.base_url == ""
    named = {"model": "openai:gpt-5", "base_url": "https://own.example"}
    assert resolve(named, {}, [own], {}).settings.base_url == "https://own.example"


def test_params_are_judged_by_the_wire_that_is_spoken() -> None:
    said = {"params": {"generationConfig": {"topP": 1, "speechConfig": {}}, "top_p": 1}}
    gemini = resolve({"model": "google:gemini-3-pro"}, said, [], {})
    assert gemini.settings.params == {"generationConfig": {"topP": 1}}
    found = [one.what for one in gemini.narrowed]
    assert found == ["generationConfig.speechConfig, top_p"]
    given = resolve({"model": "openai:gpt-5"}, said, [], {}).settings.params
    assert given == {"top_p": 1}


def test_nobody_sets_a_field_that_the_encoder_makes() -> None:
    with pytest.raises(SettingError, match=r"^argument: params\.Store can't be set"):
        resolve({"model": "openai:gpt-5", "params": {"Store": True}}, {}, [], {})


def test_what_a_ledger_holds_and_nobody_can_read_is_left_out() -> None:
    resolved = resolve({}, {"trigger": "high", "no_such_key": 1, "window": 5}, [], {})
    assert resolved.settings == Settings(window=5)
    assert [one.key for one in resolved.narrowed] == ["trigger"]


def test_what_a_session_sets_in_vain_is_one_sentence_without_its_values() -> None:
    arguments = {"model": "anthropic:claude-haiku-4-5", "tools": ("read",)}
    own = {
        "tools": ["read", "shell"],
        "mcp": {"x": {"url": "https://evil.example"}},
        "trigger": 0.5,
    }
    sentence = left_out(resolve(arguments, own, (), {}))
    assert sentence == (
        "This session's own tools, mcp count only as far as this program was started with; "
        "--tools at the start can allow more."
    )
    assert left_out(resolve(arguments, {"tools": ["read"]}, (), {})) == ""
