import argparse
from collections.abc import Callable

import pytest

from ullage.cli import option_values
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


@pytest.mark.parametrize("command", [["serve"], ["admin", "worker", "--store", "s.db"]])
def test_a_place_has_a_plain_name(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert parser().parse_args([*command, "--place", "cellar-2"]).place == "cellar-2"
    assert parser().parse_args(command).place == ""
    with pytest.raises(SystemExit):
        parser().parse_args([*command, "--place", "The Cellar"])
    assert "'The Cellar' is no name of a place" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (option_values.whole, "-3", -3),
        (option_values.positive, "20", 20),
        (option_values.port, "0", 0),
        (option_values.port, "65535", 65_535),
        (option_values.days, "0", 0),
        (option_values.days, "0.5", 0.5),
        (option_values.period, "30m", 1_800),
        (option_values.period, "8H", 28_800),
        (option_values.period, "2d", 172_800),
        (option_values.seconds, "0.25", 0.25),
        (option_values.patience, "0", 0),
        (option_values.patience, "20", 20),
    ],
)
def test_a_number_is_taken(
    kind: Callable[[str], float], written: str, value: float
) -> None:
    assert kind(written) == value


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (option_values.tokens, "1e306k"),
        (option_values.trigger, "1e306k"),
        (option_values.whole, "1.5"),
        (option_values.positive, "0"),
        (option_values.positive, "-1"),
        (option_values.positive, "²"),
        (option_values.port, "65536"),
        (option_values.port, "-1"),
        (option_values.port, ""),
        (option_values.days, "-1"),
        (option_values.days, "inf"),
        (option_values.days, "nan"),
        (option_values.period, "30"),
        (option_values.period, "0m"),
        (option_values.period, "-1m"),
        (option_values.period, "1.5h"),
        (option_values.period, "1000000s"),
        (option_values.seconds, "0.001"),
        (option_values.seconds, "inf"),
        (option_values.patience, "soon"),
    ],
)
def test_what_is_no_such_number_is_refused(
    kind: Callable[[str], float], written: str
) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        kind(written)
