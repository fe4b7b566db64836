import inspect
from importlib import import_module

import pytest

from ullage.cli.parser import check_installed, parser
from ullage.errors import InputError, MissingExtra


def test_known_estimators_answer_an_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["context", "--estimator", "magic"])
    said = capsys.readouterr().err
    assert all(
        name in said for name in ("auto", "bpe", "pretoken", "quarter", "gemini-cli")
    )


def test_options_are_not_abbreviated() -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["context", "--win", "200k"])


def test_every_command_has_a_function_that_takes_its_options() -> None:
    root = parser().commands()
    assert len(root) > 15
    for name, command in {**root, **root["admin"].commands()}.items():
        if name in ("admin", "simulate"):  # the simulators' own package performs it
            continue
        module, _, function_name = command.get_default("function").partition(":")
        function = getattr(import_module(module), function_name)
        (options,) = inspect.signature(function).parameters.values()
        assert options.annotation == "argparse.Namespace"


def test_the_first_screen_has_at_most_sixteen_commands() -> None:
    shown = [
        line for line in parser().format_help().splitlines() if line.startswith("  ")
    ]
    assert len(shown) <= 16, shown


def test_a_command_of_another_distribution_says_how_to_install_it() -> None:
    without = parser(["context"])
    with pytest.raises(MissingExtra, match="`ullage serve` needs more than is installed"):
        check_installed(["serve"], without)


def test_an_operators_command_by_itself_is_found_behind_admin() -> None:
    with pytest.raises(InputError, match="Did you mean `ullage admin worker`"):
        check_installed(["worker"], parser(["worker"]))


@pytest.mark.parametrize(
    ("words", "known"), [("--help", 0), ("context", 1), ("nosuch", 16)]
)
def test_what_is_not_asked_for_is_not_declared(words: str, known: int) -> None:
    commands = parser([words]).commands()
    assert len(commands) >= known
    assert len(commands) == known or words == "nosuch"
    taking = [name for name, each in commands.items() if "--json" in each.option_names()]
    assert taking == (["context"] if words == "context" else [])
