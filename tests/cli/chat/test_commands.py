from __future__ import annotations

import pytest

from ullage.cli.chat.commands import COMMANDS, command_of, completions, parse, unknown


def test_a_command_is_its_name_and_what_follows() -> None:
    assert parse("/compact keep the goal") == ("compact", "keep the goal")
    assert parse("/Context  ") == ("context", "")


@pytest.mark.parametrize("text", ["look at /etc", "/etc/hosts is odd", "//", "/ hm", "/one\nand more", "", "/1"])
def test_what_is_no_command_is_said(text: str) -> None:
    assert parse(text) is None


def test_a_beginning_names_the_only_command_that_begins_so() -> None:
    found = command_of("cont")
    assert found is not None and found.name == "context"
    assert command_of("co") is None  # context and compact
    assert command_of("") is None
    exact = command_of("re")
    assert exact is None


def test_an_unknown_name_gets_the_nearest_or_the_help() -> None:
    assert unknown("contxt") == "There is no /contxt. Did you mean /context?"
    assert unknown("zzzz").endswith("/help lists them.")


def test_completions_follow_what_was_typed_until_the_name_is_there() -> None:
    assert completions("/") == list(COMMANDS)
    assert [command.name for command in completions("/com")] == ["compact"]
    assert completions("/compact now") == []
    assert completions("compact") == []


def test_names_are_told_apart_and_each_says_what_it_does() -> None:
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)
    assert all(command.about and not command.about.endswith(".") for command in COMMANDS)
