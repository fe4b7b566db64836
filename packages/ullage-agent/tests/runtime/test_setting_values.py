from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import SettingError
from ullage_agent.runtime import setting_values as values
from ullage_agent.runtime.setting_values import McpServerSetting


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("200k", 200_000),
        ("1M", 1_000_000),
        ("1.5k", 1_500),
        ("200,000", 200_000),
        (" 7 ", 7),
        (8.0, 8),
        ("1e3", 1_000),
    ],
)
def test_numbers_are_read_as_people_write_them(written: object, number: int) -> None:
    assert values.whole()(written) == number


@pytest.mark.parametrize(
    "given", ["", "k", "many", "1.5", True, None, float("inf"), "nan", "-1", "1e999", [1]]
)
def test_what_is_no_whole_number_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="give a whole number"):
        values.whole()(given)


@given(st.integers(0, 10**30))
def test_a_whole_number_keeps_all_its_digits(number: int) -> None:
    assert values.whole()(str(number)) == values.whole()(number) == number


def test_yes_and_no_are_words_too() -> None:
    assert [
        values.flag(each) for each in (True, "on", "YES", "1", False, "off", "No", "0")
    ] == [True] * 4 + [False] * 4


def test_a_text_where_a_list_is_meant_is_an_error() -> None:
    assert values.names(["a", "b"]) == ("a", "b")
    for text in ("a, b", "a", "", b"ab"):
        with pytest.raises(ValueError, match="list of names"):
            values.names(text)
    for text in ("/a", "~/a,/b", ""):
        with pytest.raises(ValueError, match="list of directories"):
            values.directories(text)


def test_instruction_files_do_not_lead_out_of_the_root() -> None:
    assert values.inner_files(["AGENTS.md", "docs/rules.md"]) == (
        "AGENTS.md",
        "docs/rules.md",
    )
    for outside in ("/etc/passwd", "../x", "a/../../x"):
        with pytest.raises(ValueError, match="inside"):
            values.inner_files([outside])


def test_a_server_has_a_command_or_a_url() -> None:
    read = values.servers(
        {
            "a": {"command": "x", "args": ["y"]},
            "b": {"url": "http://x"},
            "c": {"enabled": False},
        }
    )
    assert read["a"] == McpServerSetting(command="x", args=("y",))
    assert not read["c"].enabled
    for wrong in (
        {},
        {"command": "x", "url": "y"},
        {"cmd": "x"},
        {"env": {"A": "b"}},
        {"command": "x", "env": {"A": 1}},
    ):
        with pytest.raises(
            ValueError,
            match=r"the server 'a' (has a command or a url|can't be read: .*(cmd|str))",
        ):
            values.servers({"a": wrong})
    with pytest.raises(ValueError, match=r"server 'a' can't be read: .* `\$\.args`"):
        values.servers({"a": {"command": "x", "args": 1}})


def test_a_server_takes_its_secrets_from_the_environment() -> None:
    server = McpServerSetting(
        command="x", args=("--for=$WHO",), env={"TOKEN": "${T}", "PRICE": "$$1"}
    )
    filled = server.with_environment({"T": "secret", "WHO": "me"})
    assert filled.args == ("--for=me",)
    assert filled.env == {"TOKEN": "secret", "PRICE": "$1"}
    with pytest.raises(SettingError, match=r"asks for \$\{T\}, which is not set"):
        server.with_environment({"WHO": "me"})
    with pytest.raises(SettingError, match=r"write \$\$"):
        McpServerSetting(command="x", args=("$1",)).with_environment({})


@pytest.mark.parametrize(
    "name",
    ["api_key", "OPENAI_API_KEY", "apiKey", "X-Api-Key", "Authorization", "GH_TOKEN"],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert values.is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "prompt_cache_key", "budget_tokens", "seed", "keyboard"]
)
def test_other_names_are_not_taken_for_secrets(name: str) -> None:
    assert not values.is_secret_name(name)


def test_a_secret_written_out_is_found_and_a_reference_is_not() -> None:
    assert values.literal_secrets(
        {"a": {"token": "x"}, "b": {"token": "${T}"}, "api_key": "y"}, ("params",)
    ) == [("params", "a", "token"), ("params", "api_key")]


class Newest:
    """An own strategy, of which only its name can be shown."""

    name = "newest"

    def calls_at_most(self, situation: object) -> int:
        return 0

    def propose(self, situation: object, answers: object) -> object:
        return None


def test_strategies_are_names_or_objects_and_shown_by_their_names() -> None:
    own = Newest()
    read = values.strategies((own, "hybrid"))
    assert [isinstance(one, Newest) for one in read] == [True, False]
    assert values.plain_value(read) == ("newest", "hybrid")
    assert values.is_storable(["clear", "hybrid"]) and not values.is_storable((own,))
    assert not values.is_storable(len)


@pytest.mark.parametrize("given", [["drop"] * 5_000, "hybrid, drop, hybrid"])
def test_a_strategy_is_named_once(given: object) -> None:
    with pytest.raises(ValueError, match="once"):
        values.strategies(given)
    assert values.strategies("drop, hybrid") == ("drop", "hybrid")


def test_a_text_that_utf_8_can_not_hold_is_not_storable() -> None:
    for torn in ("\udcff", ["\udcff"], {"a": "\udcff"}, {"\udcff": 1}, Path("\udcff")):
        assert not values.is_storable(torn)
    assert values.is_storable({"ä": ["ö", 1, None, Path("ü")]})
