"""Hostile logs, given to the command line as a person would."""

import sys
from pathlib import Path

import pytest

from tests.hostile.bounded import bounded
from tests.hostile.logs import LOGS, Log
from ullage.cli import main

SMALL = 0.01
COMMANDS = (("context",), ("context", "--json"))


@pytest.mark.parametrize("each", LOGS, ids=[each.name for each in LOGS])
def test_a_hostile_log_gives_a_window_or_a_sentence(
    each: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = each.build(tmp_path, SMALL)
    for command in COMMANDS:
        code = bounded(lambda command=command: main([*command, str(path)]))  # type: ignore[misc]
        told = capsys.readouterr()
        assert code in (0, 1, 2)
        assert code == 0 or told.err.strip(), "it failed without a word"
        assert "Traceback" not in told.err and "Error:" not in told.err
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(told.out + told.err), (
            "escape sequences came through"
        )
        assert len(told.out) + len(told.err) < 1_000_000
    assert sys.getrecursionlimit() < 5_000, "the way out was a higher limit"
