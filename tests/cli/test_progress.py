import io
import sys
import time

import pytest

from ullage.cli import progress as module
from ullage.cli.progress import progress


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_said_into_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    with progress("Reading"):
        time.sleep(0.02)
    assert capsys.readouterr().err == ""


def test_nothing_is_said_about_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("Reading"):
        pass
    assert terminal.getvalue() == ""


def test_what_takes_long_is_named_and_the_line_is_cleared_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(module, "PATIENCE_S", 0.001)
    with progress("Reading session.jsonl"):
        while "Reading session.jsonl ... 0 s" not in terminal.getvalue():
            time.sleep(0.001)
    assert terminal.getvalue().endswith(" " * len("Reading session.jsonl ... 0 s") + "\r")


def test_an_error_inside_still_clears_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", FakeTerminal())
    with pytest.raises(ValueError, match="inside"), progress("Reading"):
        raise ValueError("inside")
