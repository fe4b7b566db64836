from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.readings import (
    GROWN,
    NO_CALL_YET,
    OVER_FULL,
    QUARTER_FULL,
    UNKNOWN_WINDOW,
    reading,
    row,
)
from ullage.cli.drawing import NARROWEST, WIDEST, Subject, draw
from ullage.display.gauge_line import amount
from ullage.display.glyphs import ASCII, UNICODE, Glyphs
from ullage.display.text import cells, plain
from ullage.meter.reading import Reading, Used, Window
from ullage.meter.rows import PartEstimate
from ullage.meter.spend import Spend
from ullage.usage import UsageSum

DRAWINGS = Path(__file__).parent / "drawings"

ITEMS = (
    PartEstimate("m41", "m41/0", "Tool results", "read_file", 9_870, 41),
    PartEstimate("m12", "m12/0", "Tool results", "bash", 4_000, 12),
    PartEstimate("m3", "m3/1", "Assistant", "", 2_100, 3),
)


def subject(of: Reading = QUARTER_FULL) -> Subject:
    return Subject(
        reading=of,
        program="Claude Code 2.1.3",
        title="Fix the parser",
        calls=38,
        steps=GROWN,
        largest=ITEMS,
        skipped=(
            "3 of 812 lines not read",
            "2 torn: no complete JSON value (lines 4, 9)",
            "1 nested too deep (line 70)",
        ),
    )


def drawn(of: Subject, width: int, glyphs: Glyphs = UNICODE) -> str:
    return "".join(plain(line) + "\n" for line in draw(of, width, glyphs))


SPECIFIED = {
    "known-window-100": (subject(), 100, UNICODE),
    "known-window-80": (subject(), 80, UNICODE),
    "known-window-60": (subject(), 60, UNICODE),
    "known-window-200": (subject(), 200, UNICODE),
    "known-window-ascii-80": (subject(), 80, ASCII),
    "unknown-window-100": (subject(UNKNOWN_WINDOW), 100, UNICODE),
    "over-full-100": (subject(OVER_FULL), 100, UNICODE),
    "no-call-yet-80": (Subject(reading=NO_CALL_YET), 80, UNICODE),
    "before-a-call-100": (replace(subject(), step=22, steps=GROWN[:21]), 100, UNICODE),
    "every-row-100": (replace(subject(), every_row=True), 100, UNICODE),
}


@pytest.mark.parametrize("name", SPECIFIED)
def test_the_drawing_is_as_specified(name: str) -> None:
    of, width, glyphs = SPECIFIED[name]
    assert drawn(of, width, glyphs) == (DRAWINGS / f"{name}.txt").read_text(
        encoding="utf-8"
    )


def test_no_specified_drawing_is_left_without_a_test() -> None:
    assert {path.stem for path in DRAWINGS.glob("*.txt")} == set(SPECIFIED)


@given(st.integers(-10, 1_000))
def test_any_width_is_drawn_within_its_bounds(width: int) -> None:
    for of in (QUARTER_FULL, UNKNOWN_WINDOW, OVER_FULL, NO_CALL_YET):
        for line in draw(subject(of), width):  # the basis is one piece and stays whole
            assert cells(plain(line)) <= max(min(width, WIDEST), NARROWEST, 64)


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (Used(tokens=52_100, low=51_960, high=52_240), "52,100 ± 140"),
        (Used(tokens=52_100, low=52_100, high=52_100), "52,100"),
        (Used(tokens=52_100, low=51_000, high=60_000), "52,100 (51,000 to 60,000)"),
        (Used(tokens=3, low=2, high=5), "3 (2 to 5)"),
        (Used(tokens=10, low=0, high=30), "10 (0 to 30)"),
    ],
)
def test_an_uneven_interval_is_shown_as_its_two_ends(used: Used, said: str) -> None:
    assert amount(used) == said


def test_a_window_that_the_user_named_is_shown_as_theirs() -> None:
    theirs = reading(window=Window(tokens=200_000, source="user"))
    assert "window: set by you" in drawn(Subject(reading=theirs), 100)


def test_being_past_the_compaction_point_is_said() -> None:
    past = reading(used=Used(tokens=160_000, low=159_700, high=160_100), free=24_000)
    text = drawn(Subject(reading=past), 100)
    assert "past the compaction threshold, 160,000" in text
    assert "may be past" not in text
    assert "until compaction" not in text


def test_an_interval_that_reaches_the_compaction_point_may_be_past_it() -> None:
    near = reading(used=Used(tokens=159_900, low=159_700, high=160_100), free=24_100)
    text = drawn(Subject(reading=near), 100)
    assert "may be past the compaction threshold, 160,000" in text


def test_calls_for_other_purposes_are_told_in_words() -> None:
    spend = Spend(by_purpose={"main": UsageSum(calls=2), "other": UsageSum(calls=1)})
    text = drawn(Subject(reading=reading(spend=spend)), 100)
    assert "3 calls, 1 for other purposes among them" in text


def test_names_from_a_log_can_not_send_escape_sequences_to_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J"
    hostile = Subject(
        reading=reading(
            model=f"gpt{evil}",
            rows=(
                row(
                    f"Tools{evil}", 52_100, children=(row(evil, 5),), note=f"note {evil}"
                ),
            ),
            notes=(f"careful {evil}",),
        ),
        program=evil,
        title=f"title{evil}",
        largest=(PartEstimate(evil, evil, evil, evil, 5, 1),),
        skipped=(f"1 {evil}",),
        every_row=True,
    )
    assert "\x1b" not in drawn(hostile, 100)
    assert "\x07" not in drawn(hostile, 100)
