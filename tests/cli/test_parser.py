import argparse
import inspect
from importlib import import_module

import pytest

from ullage.cli.parser import parser


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("200000", 200_000),
        ("200,000", 200_000),
        ("200_000", 200_000),
        ("200k", 200_000),
        ("1M", 1_000_000),
        ("1.5k", 1_500),
    ],
)
def test_tokens_are_taken_as_people_write_them(written: str, tokens: int) -> None:
    assert parser().parse_args(["context", "--window", written]).window == tokens


@pytest.mark.parametrize(
    "written", ["", "0", "-5", "many", "1.5z", "nan", "inf", "1e999", "k"]
)
def test_a_window_that_is_no_number_of_tokens_is_refused_by_name(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parser().parse_args(["context", f"--window={written}"])
    assert end.value.code == 2
    assert "ullage: --window: " in capsys.readouterr().err


def test_a_reserve_may_be_nothing() -> None:
    assert parser().parse_args(["context", "--reserve", "0"]).reserve == 0


@pytest.mark.parametrize(
    ("written", "trigger"),
    [("0.8", 0.8), ("80%", 0.8), ("1", 1), ("150k", 150_000), ("150000", 150_000)],
)
def test_a_trigger_is_a_share_or_tokens(written: str, trigger: float) -> None:
    assert parser().parse_args(["context", "--trigger", written]).trigger == trigger


@pytest.mark.parametrize("written", ["0", "-1", "120%", "soon", "nan", "%"])
def test_a_trigger_that_can_not_be_reached_is_refused(written: str) -> None:
    with pytest.raises(SystemExit) as end:
        parser().parse_args(["context", f"--trigger={written}"])
    assert end.value.code == 2


def test_an_unknown_estimator_is_answered_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["context", "--estimator", "magic"])
    said = capsys.readouterr().err
    assert all(
        name in said for name in ("auto", "bpe", "pretoken", "quarter", "gemini-cli")
    )


def test_evaluate_writes_predictions_only_where_it_is_told_to() -> None:
    assert parser().parse_args(["evaluate", "pairs.jsonl"]).predictions is None
    assert (
        parser()
        .parse_args(["evaluate", "pairs.jsonl", "--predictions", "out"])
        .predictions
        == "out"
    )


def test_options_are_not_abbreviated_so_that_new_ones_never_change_their_meaning() -> (
    None
):
    with pytest.raises(SystemExit):
        parser().parse_args(["context", "--win", "200k"])


def test_no_command_is_no_error() -> None:
    assert parser().parse_args([]).command is None


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parser().parse_args(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("ullage ")


def test_every_command_has_a_function_that_takes_its_options() -> None:
    (commands,) = (
        action
        for action in parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert len(commands.choices) > 15
    for name, command in commands.choices.items():
        if name == "simulate":  # the simulators' own package performs it
            continue
        module, _, function_name = command.get_default("function").partition(":")
        function = getattr(import_module(f"ullage.cli.{module}"), function_name)
        (options,) = inspect.signature(function).parameters.values()
        assert options.annotation == "argparse.Namespace"


@pytest.mark.parametrize("command", [["serve"], ["worker", "--store", "s.db"]])
def test_a_place_has_a_plain_name(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert parser().parse_args([*command, "--place", "cellar-2"]).place == "cellar-2"
    assert parser().parse_args(command).place == ""
    with pytest.raises(SystemExit):
        parser().parse_args([*command, "--place", "The Cellar"])
    assert "'The Cellar' is no name of a place" in capsys.readouterr().err
