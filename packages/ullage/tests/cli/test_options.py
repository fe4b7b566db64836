import argparse

import pytest

from ullage.cli.options import (
    Action,
    Alternatives,
    OptionGroup,
    Subcommand,
    choice,
    flag,
    operand,
    text,
    value,
)

BREW = Subcommand(
    "brew",
    "make a pot of tea",
    "pots:brew",
    "see",
    operand("leaf LEAF", "which tea"),
    OptionGroup(
        "the pot",
        value("-c --cups N", int, "how many cups", 2),
        Alternatives(flag("--milk", "with milk"), flag("--lemon", "with lemon")),
    ),
    text("--note TEXT", "what to remember"),
    choice("--heat", ("low", "high"), "how hot", "high"),
    epilog="Warm the pot first.",
)
POT = Subcommand(
    "pot", "look after a pot", "pots:pot", "see", actions=[Action("rinse", "rinse it")]
)


def command_line() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="tea")
    parsers = root.add_subparsers()
    BREW.add_to(parsers)
    POT.add_to(parsers)
    return root


def test_what_is_not_given_has_its_default() -> None:
    assert vars(command_line().parse_args(["brew", "assam"])) == {
        "function": "pots:brew",
        "leaf": "assam",
        "cups": 2,
        "milk": False,
        "lemon": False,
        "note": "",
        "heat": "high",
    }


def test_options_are_taken_under_each_of_their_names() -> None:
    written = "brew assam -c 3 --milk --note strong --heat low"
    options = command_line().parse_args(written.split())
    assert (options.cups, options.milk, options.note, options.heat) == (
        3,
        True,
        "strong",
        "low",
    )
    assert command_line().parse_args(["brew", "assam", "--cups", "4"]).cups == 4


@pytest.mark.parametrize(
    "written", ["brew assam --milk --lemon", "brew assam --heat mild", "brew", "pot"]
)
def test_what_the_declaration_does_not_allow_is_refused(written: str) -> None:
    with pytest.raises(SystemExit):
        command_line().parse_args(written.split())


def test_an_action_is_the_word_behind_its_command() -> None:
    options = command_line().parse_args(["pot", "rinse"])
    assert (options.function, options.action) == ("pots:pot", "rinse")


def test_the_help_has_all_that_was_declared(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line().parse_args(["brew", "--help"])
    shown = capsys.readouterr().out
    for part in ("Make a pot of tea.", "the pot:", "--note TEXT", "LEAF", "Warm the pot"):
        assert part in shown
