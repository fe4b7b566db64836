from hypothesis import given
from hypothesis import strategies as st

from tests.cli.readings import OVER_FULL, QUARTER_FULL, UNKNOWN_WINDOW, reading
from ullage.display.gauge import gauge
from ullage.display.glyphs import ASCII, UNICODE
from ullage.display.text import plain
from ullage.meter.reading import CompactionThreshold, Reading, Used, Window


def bar(of: Reading, width: int = 50, glyphs: object = UNICODE) -> str:
    return plain(gauge(of, width, UNICODE if glyphs is UNICODE else ASCII))


def test_used_then_free_then_the_compaction_point_then_the_reserve() -> None:
    assert bar(QUARTER_FULL) == "█████████████" + "·" * 27 + "│" + "·" * 5 + "░" * 4


def test_the_last_cell_is_filled_in_eighths() -> None:
    assert bar(reading(used=Used(tokens=50_000, low=50_000, high=50_000))).startswith(
        "████████████▌·"
    )


def test_an_interval_wider_than_a_cell_is_drawn() -> None:
    wide = reading(used=Used(tokens=52_000, low=40_000, high=64_000))
    assert bar(wide).startswith("██████████▒▒▒▒▒▒·")


def test_a_window_with_hardly_anything_in_it_does_not_look_empty() -> None:
    little = reading(used=Used(tokens=100, low=100, high=100))
    assert bar(little).startswith("▏·")
    assert bar(little, 50, ASCII).startswith("#.")


def test_what_is_beyond_the_window_is_drawn_as_such() -> None:
    assert bar(OVER_FULL, 48) == "█" * 32 + "│" + "█" * 7 + "▓" * 4 + "▒" * 4


def test_there_is_no_bar_for_an_unknown_window() -> None:
    assert gauge(UNKNOWN_WINDOW, 50, UNICODE) == ()


def test_the_filled_part_is_divided_among_the_rows() -> None:
    styles = [span.style for span in gauge(QUARTER_FULL, 80, UNICODE)]
    assert styles[:3] == [
        "row0",
        "row1",
        "row2",
    ]  # system, tools, messages; deferred tools are not in it


@given(
    window=st.integers(1, 2_000_000),
    used=st.integers(0, 3_000_000),
    below=st.integers(0, 100_000),
    above=st.integers(0, 100_000),
    reserve=st.integers(0, 300_000),
    point=st.none() | st.integers(0, 2_000_000),
    width=st.integers(1, 200),
)
def test_the_bar_always_has_the_width_it_was_given(
    window: int,
    used: int,
    below: int,
    above: int,
    reserve: int,
    point: int | None,
    width: int,
) -> None:
    any_reading = reading(
        window=Window(tokens=window, source="user"),
        used=Used(tokens=used, low=max(0, used - below), high=used + above),
        reserve=reserve,
        threshold=CompactionThreshold(tokens=point, source="user"),
    )
    for glyphs in (UNICODE, ASCII):
        assert len(plain(gauge(any_reading, width, glyphs))) == width
