import io
import json
import re
import sys
import time

import pytest
from pytest import MonkeyPatch

from ullage.cli import screen as module
from ullage.cli.screen import PIPE_WIDTH, Screen, progress
from ullage.display.glyphs import ASCII
from ullage.display.styles import STYLES, stripped, style_name
from ullage.display.text import Span

LINES = [
    (Span("Context  ", "title"), Span("52,100 ± 140", "bad"), Span("   ")),
    (),
    (Span("日本", "row9"),),
]


class FakeStream(io.TextIOWrapper):
    """A stream whose bytes can be looked at, and that says of itself whether it is a terminal."""

    def __init__(self, *, terminal: bool, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        self.terminal = terminal
        super().__init__(self.bytes, encoding=encoding, newline="")

    def isatty(self) -> bool:
        return self.terminal

    def seen(self) -> bytes:
        self.flush()
        return self.bytes.getvalue()


def test_a_pipe_gets_plain_text_at_a_fixed_width() -> None:
    stream = FakeStream(terminal=False)
    screen = Screen(stream, {"COLUMNS": "40"})
    screen.show(LINES)
    assert stream.seen().decode() == "Context  52,100 ± 140\n\n日本\n"
    assert screen.width == PIPE_WIDTH


def test_a_terminal_gets_colours_and_the_same_text() -> None:
    stream = FakeStream(terminal=True)
    Screen(stream, {"TERM": "xterm-256color"}).show(LINES)
    seen = stream.seen().decode()
    assert "\x1b[1mContext" in seen
    assert "52,100 ± 140" in seen


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}]
)
def test_no_color_and_dumb_terminals_get_plain_text(environment: dict[str, str]) -> None:
    stream = FakeStream(terminal=True)
    Screen(stream, environment).show(LINES)
    assert stream.seen().decode() == "Context  52,100 ± 140\n\n日本\n"


def test_an_empty_no_color_asks_for_nothing() -> None:
    assert Screen(FakeStream(terminal=True), {"NO_COLOR": "", "TERM": "xterm"}).has_colour


def test_an_ascii_stream_gets_ascii_glyphs_and_question_marks() -> None:
    stream = FakeStream(terminal=False, encoding="ascii")
    screen = Screen(stream, {})
    assert screen.glyphs is ASCII
    screen.show([(Span("日本"),)])
    assert stream.seen() == b"??\n"


def test_json_is_utf_8_whatever_the_stream_says_of_itself() -> None:
    stream = FakeStream(terminal=False, encoding="ascii")
    Screen(stream, {}).show_json('{"title":"日本"}'.encode())
    assert json.loads(stream.seen()) == {"title": "日本"}


def test_json_is_one_line_in_a_pipe_and_indented_on_a_terminal() -> None:
    pipe, terminal = FakeStream(terminal=False), FakeStream(terminal=True)
    for stream in (pipe, terminal):
        Screen(stream, {}).show_json(b'{"a":{"b":1}}')
    assert pipe.seen() == b'{"a":{"b":1}}\n'
    assert terminal.seen().count(b"\n") > 1


def test_a_row_beyond_the_last_colour_begins_again() -> None:
    assert style_name("row9") == "row1"
    assert style_name("dim") == "dim"
    assert {style_name(f"row{place}") for place in range(40)} <= set(STYLES)


def test_spaces_at_the_end_of_a_line_are_left_out() -> None:
    assert stripped((Span("a "), Span("  ", "dim"))) == (Span("a"),)
    assert stripped((Span("  "),)) == ()


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_said_into_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    with progress("Reading"):
        time.sleep(0.02)
    assert capsys.readouterr().err == ""


def test_what_takes_long_is_named_and_then_cleared(monkeypatch: MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(module, "PATIENCE_S", 0.001)
    with progress("Reading session.jsonl"):
        while not terminal.getvalue().endswith(" s"):
            time.sleep(0.001)
    shown, cleared = terminal.getvalue().rsplit("\r", 2)[0:2]
    assert re.fullmatch(r"(\rReading session\.jsonl \.\.\. \d+ s)+", shown)
    assert cleared == " " * len(shown.rpartition("\r")[2])


def test_an_error_inside_still_clears_the_line(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", FakeTerminal())
    with pytest.raises(ValueError, match="inside"), progress("Reading"):
        raise ValueError("inside")
