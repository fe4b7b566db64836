import pytest

from ullage.display.call_line import CallFigures, call_line
from ullage.display.glyphs import glyphs_for
from ullage.display.text import plain
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading

CALL = CallFigures(
    at=0.0,
    program="claude-code 2.1.330",
    session="2f764e64-de0c-454d-ab43-8044e4d3deeb",
    lane="main",
    estimate=21_460,
    actual=21_500,
)


def drawn(call: CallFigures, encoding: str = "utf-8", width: int = 120) -> str:
    return plain(call_line(call, glyphs_for(encoding), width))


def reading() -> Reading:
    meter = Meter("claude-haiku-4-5")
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    return meter.before(body)


def test_the_line_names_the_call_and_compares_estimate_and_report() -> None:
    line = drawn(CALL)
    for word in (
        "claude-code 2.1.330",
        "d3deeb",
        "main",
        "21,460 →",
        "21,500",
        "-0.19 %",
    ):
        assert word in line


def test_the_window_is_a_bar_and_the_room_until_compaction() -> None:
    line = drawn(CALL._replace(reading=reading()))
    assert line.endswith(" left")
    assert "%" in line.partition("-0.19 %")[2]


@pytest.mark.parametrize("width", [80, 100, 119, 120, 200])
@pytest.mark.parametrize("problem", ["", "permission denied because of a very long name"])
@pytest.mark.parametrize("lane", ["main", "child-12345678"])
def test_no_line_is_wider_than_its_terminal(width: int, problem: str, lane: str) -> None:
    call = CALL._replace(reading=reading(), problem=problem, lane=lane)
    for encoding in ("utf-8", "ascii"):
        line = drawn(call, encoding, width)
        assert len(line) <= width
        assert "%" in line


def test_a_narrow_line_has_the_share_of_the_window_alone() -> None:
    line = drawn(CALL._replace(reading=reading()), width=80)
    assert "claude-code " in line
    assert "2.1.330" not in line
    assert line.endswith(" <1 %")


def test_a_call_that_failed_says_how_in_the_place_of_its_report() -> None:
    line = drawn(CALL._replace(actual=None, problem="RateLimited"))
    assert "RateLimited" in line
    assert "→" not in line


def test_a_call_without_usage_says_so() -> None:
    assert "no usage reported" in drawn(CALL._replace(actual=None))


@pytest.mark.parametrize("words", ["\x1b[31mred", "a\nb", "x" * 500])
def test_names_from_outside_stay_in_their_columns(words: str) -> None:
    line = drawn(CALL._replace(program=words, session=words))
    assert "\x1b" not in line
    assert "\n" not in line
    assert len(line) < 100


def test_a_plain_terminal_gets_plain_characters() -> None:
    assert drawn(CALL, "ascii").isascii()
