import argparse
from collections.abc import Callable

import pytest
from pytest import CaptureFixture

from tests.cases import case
from ullage.cli import option_values
from ullage.cli.parser import parser


def test_tokens_and_triggers_are_taken_as_people_write_them() -> None:
    for option, written, value in (
        ("window", "200000", 200_000),
        ("window", "200,000", 200_000),
        ("window", "200_000", 200_000),
        ("window", "200k", 200_000),
        ("window", "1M", 1_000_000),
        ("window", "1.5k", 1_500),
        ("reserve", "0", 0),
        ("trigger", "0.8", 0.8),
        ("trigger", "80%", 0.8),
        ("trigger", "1", 1),
        ("trigger", "150k", 150_000),
        ("trigger", "150000", 150_000),
    ):
        with case(option, written):
            taken = parser(["context"]).parse_args(["context", f"--{option}={written}"])
            assert getattr(taken, option) == value


def test_other_tokens_and_triggers_are_refused(capsys: CaptureFixture[str]) -> None:
    windows = ("", "0", "-5", "many", "1.5z", "nan", "inf", "1e999", "k")
    triggers = ("0", "-1", "120%", "soon", "nan", "%")
    for option, texts in (("window", windows), ("trigger", triggers)):
        for written in texts:
            with case(option, written):
                with pytest.raises(SystemExit) as end:
                    parser(["context"]).parse_args(["context", f"--{option}={written}"])
                assert end.value.code == 2
                assert f"ullage: --{option}: " in capsys.readouterr().err


@pytest.mark.parametrize("command", [["serve"], ["admin", "worker", "--store", "s.db"]])
def test_a_place_has_a_plain_name(
    command: list[str], capsys: CaptureFixture[str]
) -> None:
    assert parser().parse_args([*command, "--place", "cellar-2"]).place == "cellar-2"
    assert parser().parse_args(command).place == ""
    with pytest.raises(SystemExit):
        parser().parse_args([*command, "--place", "The Cellar"])
    assert "'The Cellar' is no name of a place" in capsys.readouterr().err


def test_a_number_is_taken() -> None:
    taken: dict[Callable[[str], float], dict[str, float]] = {
        option_values.whole: {"-3": -3},
        option_values.positive: {"20": 20},
        option_values.port: {"0": 0, "65535": 65_535},
        option_values.days: {"0": 0, "0.5": 0.5},
        option_values.period: {"30m": 1_800, "8H": 28_800, "2d": 172_800},
        option_values.seconds: {"0.25": 0.25},
        option_values.patience: {"0": 0, "20": 20},
    }
    for kind, values in taken.items():
        for written, value in values.items():
            with case(kind.__name__, written):
                assert kind(written) == value


def test_what_is_no_such_number_is_refused() -> None:
    refused: dict[Callable[[str], float], tuple[str, ...]] = {
        option_values.tokens: ("1e306k",),
        option_values.trigger: ("1e306k",),
        option_values.whole: ("1.5",),
        option_values.positive: ("0", "-1", "²"),
        option_values.port: ("65536", "-1", ""),
        option_values.days: ("-1", "inf", "nan"),
        option_values.period: ("30", "0m", "-1m", "1.5h", "1000000s"),
        option_values.seconds: ("0.001", "inf"),
        option_values.patience: ("soon",),
    }
    for kind, texts in refused.items():
        for written in texts:
            with case(kind.__name__, written), pytest.raises(argparse.ArgumentTypeError):
                kind(written)
