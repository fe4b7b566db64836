"""``--log`` on the commands, and what is hidden in it."""

import logging
from pathlib import Path

import pytest
from pytest import CaptureFixture

from ullage.cli import main
from ullage.cli.logged import logged

SAMPLE = Path(__file__).parents[4] / "examples" / "session.jsonl"


def test_a_level_filters_and_secrets_are_hidden(capsys: CaptureFixture[str]) -> None:
    log = logging.getLogger("ullage.meter")
    with logged("info", {"SOME_API_KEY": "sk-very-secret"}, "token-of-mine"):
        log.info("estimated=%d of sk-very-secret", 5)
        log.warning("token-of-mine")
        log.debug("not this")
    log.warning("nor this, for the block is over")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "INFO ullage.meter: estimated=5 of [hidden]",
        "WARNING ullage.meter: [hidden]",
    ]


def test_without_a_level_nothing_is_shown(capsys: CaptureFixture[str]) -> None:
    with logged("", {}):
        logging.getLogger("ullage.meter").info("quiet")
    assert not capsys.readouterr().err


def test_context_logs_estimates_beside_reports(capsys: CaptureFixture[str]) -> None:
    assert main(["context", str(SAMPLE), "--log", "info", "--json"]) == 0
    lines = capsys.readouterr().err.splitlines()
    estimates = [line for line in lines if "Context estimate: estimated=" in line]
    assert len(estimates) > 3 and all(", actual=" in line for line in estimates)
    assert any("Context calibration: actual=" in line for line in lines)
    assert main(["context", str(SAMPLE), "--json"]) == 0
    assert "Context" not in capsys.readouterr().err


def test_an_unknown_level_is_refused_with_the_others(capsys: CaptureFixture[str]) -> None:
    assert main(["context", str(SAMPLE), "--log", "loud"]) == 2
    assert "info" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["context", "run", "serve"])
def test_the_commands_offer_it(command: str, capsys: CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "--log {debug,info,warning,error}" in capsys.readouterr().out
