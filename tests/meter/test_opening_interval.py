"""How far a first estimate may be off."""

import pytest

from ullage.meter.opening_interval import ESTIMATED, EXACT, Amount, Situation, opening_interval


def width(situation: Situation, *, is_exact: bool = True) -> int:
    low, high = opening_interval(situation, is_exact=is_exact)
    return high - low


def test_counted_text_of_openai_has_no_doubt() -> None:
    assert opening_interval(Situation("openai", 1234), is_exact=True) == (1234, 1234)


@pytest.mark.parametrize("stratum", sorted(EXACT))
def test_each_kind_of_content_widens_the_interval(stratum: str) -> None:
    plain = Situation(stratum, 1000)
    for wider in (
        plain._replace(tokens=6000, tools=5000),
        plain._replace(tokens=6000, answer=5000),
        plain._replace(tokens=6000, media=5000),
        plain._replace(tokens=6000, hosted=5000),
        plain._replace(history=True),
    ):
        assert width(wider) > width(plain)


@pytest.mark.parametrize("stratum", sorted(EXACT))
def test_without_a_tokenizer_no_interval_is_narrower(stratum: str) -> None:
    for situation in (Situation(stratum, 400), Situation(stratum, 900, tools=500), Situation(stratum, 900, answer=500)):
        assert width(situation, is_exact=False) >= width(situation)


def test_a_model_nobody_measured_has_the_widest() -> None:
    for tools in (0.0, 300.0):
        widths = [width(Situation(stratum, 1000, tools=tools), is_exact=False) for stratum in ESTIMATED]
        assert width(Situation("unknown", 1000, tools=tools), is_exact=False) > max(widths)


def test_a_hosted_tool_may_read_nothing_or_be_called_again() -> None:
    low, high = opening_interval(Situation("claude", 10_000, hosted=9_500), is_exact=True)
    assert low < 2_600
    assert high > 23_000


def test_the_bounds_are_never_negative_and_hold_the_estimate() -> None:
    for tokens in (-5.0, 0.0, 0.4, 1.0, 1e9):
        low, high = opening_interval(Situation("unknown", tokens), is_exact=False)
        assert 0 <= low <= max(0, round(tokens)) <= high


def test_an_absent_kind_of_content_has_no_half_width() -> None:
    assert Amount(5, 0.1).of(0.0) == 0.0
    assert Amount(3, 0.4).of(10) == 5.0
