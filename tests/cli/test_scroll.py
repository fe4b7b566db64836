"""What a terminal shows after what was written to it: text that flows, and the line that stays below it."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.screenshot_demo import Grid
from ullage.cli.screen import Screen
from ullage.cli.scroll import Scroll
from ullage.display.text import Line, Span, cells


class FakeTerminal(io.StringIO):
    """A terminal that keeps what was written."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> list[str]:
        """The lines it shows, without empty ones at the end."""
        grid = Grid()
        grid.write(self.getvalue())
        texts = grid.texts
        while texts and not texts[-1]:
            texts.pop()
        return texts


class FakePipe(io.StringIO):
    """A pipe that takes UTF-8."""

    encoding = "utf-8"


def standing(text: str) -> Line:
    return (Span(text),)


@pytest.fixture(autouse=True)
def _of_forty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")


def made(stream: io.StringIO, **environment: str) -> Scroll:
    return Scroll(Screen(stream, {"TERM": "xterm", **environment}))


def test_the_standing_line_is_below_the_last_one_and_only_there() -> None:
    terminal = FakeTerminal()
    scroll = made(terminal)
    scroll.stay(lambda width: standing(f"gauge of {width}"))
    scroll.line(standing("one"))
    scroll.line(standing("two"))
    assert terminal.shown == ["one", "two", "gauge of 40"]
    scroll.stay(lambda _: standing("another"))
    assert terminal.shown == ["one", "two", "another"]
    scroll.end()
    assert terminal.shown == ["one", "two", "another"]
    assert terminal.getvalue().endswith("\n")


def test_text_flows_above_it_and_is_broken_between_words() -> None:
    terminal = FakeTerminal()
    scroll = made(terminal)
    scroll.stay(lambda _: standing("gauge"))
    for piece in (
        "Once upon a time there was a cas",
        "k that lost more than it should.",
        "\n\nThe",
        " end",
    ):
        scroll.text(piece)
    assert terminal.shown == [
        "Once upon a time there was a cask that",
        "lost more than it should.",
        "",
        "The",
        "gauge",
    ]
    scroll.end_text()
    assert terminal.shown[-2:] == ["The end", "gauge"]


@given(st.lists(st.text(st.sampled_from("ab \n\t満é"), max_size=30), max_size=12))
def test_no_line_of_a_text_is_wider_than_the_terminal_and_no_word_is_lost(
    pieces: list[str],
) -> None:
    terminal = FakeTerminal()
    scroll = made(terminal)
    scroll.stay(lambda _: standing("=gauge="))
    for piece in pieces:
        scroll.text(piece, indent="  ")
    scroll.end()
    pipe = FakePipe()
    alone = made(pipe)
    for piece in pieces:
        alone.text(piece)
    alone.end()
    assert "".join(pipe.getvalue().split()) == "".join("".join(pieces).split())
    assert all(cells(line) <= 100 for line in pipe.getvalue().splitlines())
    assert terminal.getvalue().count("=gauge=") >= 1
    assert terminal.shown[-1] == "=gauge="


def test_what_a_model_says_moves_no_cursor() -> None:
    terminal = FakeTerminal()
    scroll = made(terminal)
    scroll.text("a\x1b[2Jb \x07c")
    scroll.end()
    assert "\x1b[2J" not in terminal.getvalue()
    assert terminal.shown == ["a[2Jb c"]


def test_a_pipe_gets_lines_and_text_without_the_standing_line() -> None:
    pipe = FakePipe()
    scroll = made(pipe)
    scroll.stay(lambda _: standing("gauge"))
    scroll.line(standing("one"))
    scroll.text("two", style="dim")
    scroll.line(standing("three"))
    scroll.end()
    assert pipe.getvalue() == "one\ntwo\nthree\n"


def test_without_colour_nothing_is_coloured_but_the_line_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = FakeTerminal()
    scroll = made(terminal, NO_COLOR="1")
    scroll.stay(lambda _: (Span("gauge", "bad"),))
    scroll.text("thought", style="dim")
    scroll.end()
    assert "m" not in terminal.getvalue().replace("gauge", "")
    assert terminal.shown == ["thought", "gauge"]


def test_a_terminal_that_cannot_move_its_cursor_is_written_like_a_pipe() -> None:
    terminal = FakeTerminal()
    scroll = made(terminal, TERM="dumb")
    scroll.stay(lambda _: standing("gauge"))
    scroll.line(standing("one"))
    scroll.end()
    assert terminal.getvalue() == "one\n"


def test_a_standing_line_that_is_too_long_is_cut() -> None:
    terminal = FakeTerminal()
    scroll = made(terminal)
    scroll.stay(lambda _: (Span("x" * 30), Span("y" * 30)))
    scroll.end()
    assert terminal.shown == ["x" * 30 + "y" * 9]
