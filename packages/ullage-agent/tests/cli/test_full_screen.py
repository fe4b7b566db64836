"""The alternate screen of a real pseudo-terminal: keys, resizing, and that it is left as it was."""

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.descriptors import HOLD_MANY
from ullage.cli.full_screen import ENTER, LEAVE, FullScreen
from ullage.cli.screen import Screen
from ullage.display.text import Span

PROGRAM = """
import sys
from ullage.cli.full_screen import FullScreen
from ullage.cli.screen import Screen
from ullage.display.text import Span
with FullScreen(Screen(sys.stdout)) as full:
    while True:
        size = full.size
        full.draw([(Span(f"{size.columns} by {size.lines}"),), (Span("ready"),)])
        key = full.key(60)
        full.draw([(Span(f"key <{key}>"),)])
        if key == "q":
            break
        if key == "x":
            raise ValueError("broken")
"""


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal("-c", PROGRAM)
    try:
        terminal.wait_for(ENTER)
        terminal.wait_for("ready")
        yield terminal
    finally:
        os.close(terminal.end)


def test_keys_come_as_they_are_typed_without_enter(terminal: Terminal) -> None:
    assert not terminal.is_cooked()
    for typed, key in (("s", "s"), ("\x1b[A", "up"), ("\x1b[6~", "page down")):
        terminal.type(typed)
        terminal.wait_for(f"key <{key}>")
    terminal.type("q")
    assert terminal.ended() == 0
    assert terminal.is_cooked()


def test_another_size_is_told_at_once(terminal: Terminal) -> None:
    terminal.resize(100, 30)
    terminal.wait_for("key <resized>")
    terminal.wait_for("100 by 30")
    terminal.type("q")
    assert terminal.ended() == 0


def test_an_error_is_shown_on_the_screen_as_it_was(terminal: Terminal) -> None:
    terminal.type("x")
    terminal.wait_for(LEAVE)
    terminal.wait_for("ValueError: broken")
    _, status = os.waitpid(terminal.process, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert terminal.is_cooked()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_ends_the_program_leaves_the_screen_as_it_was(
    terminal: Terminal, number: signal.Signals
) -> None:
    os.kill(terminal.process, number)
    code = terminal.ended()
    assert code in (128 + number, -number)
    assert terminal.is_cooked()


def test_a_program_that_is_stopped_gives_the_terminal_back_and_takes_it_again(
    terminal: Terminal,
) -> None:
    os.kill(terminal.process, signal.SIGTSTP)
    terminal.wait_for(LEAVE)
    terminal.wait_for(ENTER)  # a process without a shell above it is not stopped
    terminal.wait_for("key <resized>")
    terminal.type("q")
    assert terminal.ended() == 0


class StoppedTerminal(io.StringIO):
    """Whoever writes "ready" to it is stopped in the midst of that."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        if "ready" in text:
            signal.raise_signal(signal.SIGTSTP)
        return super().write(text)


def test_a_stop_in_the_midst_of_a_drawing_waits_for_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.kill", lambda process, number: None)
    terminal = StoppedTerminal()
    with FullScreen(Screen(terminal)) as full:
        full.draw([(Span("ready"),)])
        assert "ready" in terminal.getvalue()
        assert LEAVE not in terminal.getvalue()


def test_without_a_keyboard_it_draws_all_the_same(tmp_path: Path) -> None:
    code = "import os; os.dup2(os.open(os.devnull, os.O_RDONLY), 0)\n" + PROGRAM
    terminal = Terminal("-c", code)
    terminal.wait_for("ready")
    os.kill(terminal.process, signal.SIGTERM)
    assert terminal.ended() == 128 + signal.SIGTERM
    os.close(terminal.end)


def test_keys_come_in_a_program_that_holds_more_descriptors_than_select_takes() -> None:
    terminal = Terminal("-c", HOLD_MANY + PROGRAM)
    terminal.wait_for("ready")
    terminal.type("q")
    assert terminal.ended() == 0
    os.close(terminal.end)
