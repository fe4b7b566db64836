from tests.cli.readings import reading
from ullage.display.gauge_line import gauge_line
from ullage.display.glyphs import ASCII, UNICODE
from ullage.display.text import cells, plain
from ullage.meter.reading import Window


def test_it_says_used_with_its_interval_of_how_much_and_a_word() -> None:
    line = plain(gauge_line(reading(), 100, UNICODE, word="+500"))
    assert " of 200,000 (" in line and line.endswith(" +500")


def test_it_fits_the_width_and_the_word_is_cut_or_left_out() -> None:
    for width in (60, 80, 100, 200):
        word = "a tool with a very long name indeed " * 4
        line = plain(gauge_line(reading(), width, UNICODE, word=word))
        assert cells(line) <= width


def test_the_bar_keeps_its_length_when_the_numbers_grow() -> None:
    bars = [
        plain(gauge_line(reading(), 80, ASCII, word=word)).split(" ")[0]
        for word in ("", "+1", "thinking")
    ]
    assert len({len(bar) for bar in bars}) == 1


def test_an_unknown_window_is_said_and_draws_no_bar() -> None:
    line = plain(
        gauge_line(reading(window=Window(tokens=None, source="unknown")), 80, UNICODE)
    )
    assert line.endswith("tokens, window unknown")
