import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.messages import FilePart, ImagePart
from ullage.meter.cost import Widths, media_doubt
from ullage.meter.growth import Doubt, expected, half_widths
from ullage.meter.policy import NARROWEST
from ullage.tokens.calibration import Scales

SMALL = Doubt(framing_n=100, size=300.0)


def width(doubt: Doubt) -> float:
    return sum(half_widths(doubt))


def test_a_short_row_of_a_measured_family_is_within_a_few_tokens() -> None:
    assert max(half_widths(SMALL)) < 7


@pytest.mark.parametrize(
    "wider",
    [
        replace(SMALL, content=1000.0),
        replace(SMALL, answer=500.0),
        replace(SMALL, hidden=2000.0),
        replace(SMALL, unproven=Widths(20.0, 0.0)),
        replace(SMALL, results=3),
        replace(SMALL, framing_n=2),
        replace(SMALL, known=False),
        replace(SMALL, has_items=True),
        replace(SMALL, size=80_000.0),
    ],
)
def test_each_kind_of_doubt_widens_its_own_rows(wider: Doubt) -> None:
    assert width(wider) > width(SMALL)


def test_text_counted_with_the_providers_own_tokenizer_is_doubted_less() -> None:
    long = replace(SMALL, content=2000.0)
    assert width(replace(long, exact_text=True)) < width(long) / 2


def test_a_large_session_may_hold_more_than_its_log_says_but_hardly_less() -> None:
    below, above = half_widths(replace(SMALL, size=80_000.0))
    assert above > 5 * below


def test_media_of_unknown_size_may_cost_nothing_but_little_more_than_the_most() -> None:
    below, above = half_widths(replace(SMALL, media_under=1500.0, media_over=240.0))
    assert below >= 1500
    assert 240 < above < 300


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.4, 1.75), st.floats(0.4, 1.75))
def test_widths_are_never_below_the_narrowest(
    content: float, size: float, below: float, above: float
) -> None:
    doubt = Doubt(
        content=content,
        size=size,
        scale_below=Scales(below, below),
        scale_above=Scales(above, above),
    )
    assert min(half_widths(doubt)) >= NARROWEST


def test_what_was_learnt_scales_each_side_and_the_texts_share() -> None:
    plain = replace(SMALL, size=80_000.0)
    learnt = replace(plain, scale_above=Scales(0.4, 1.0), scale_below=Scales(1.5, 1.0))
    assert half_widths(learnt).above < half_widths(plain).above
    assert half_widths(learnt).below > half_widths(plain).below
    assert expected(learnt) == expected(plain)
    long = replace(plain, content=5_000.0)
    changed = replace(long, scale_below=Scales(1.0, 2.0))
    assert half_widths(changed).below > 1.5 * half_widths(long).below


def test_a_correction_that_is_unsure_widens_both_sides() -> None:
    assert min(half_widths(replace(SMALL, correction=50.0))) >= 50


@pytest.mark.parametrize(
    ("part", "in_result", "surest"),
    [
        (ImagePart(id="i", width=640, height=480), False, True),
        (ImagePart(id="i"), False, False),
        (FilePart(id="f", mime="audio/wav", seconds=3.0), False, True),
        (FilePart(id="f", mime="application/pdf"), False, False),
        (FilePart(id="f", mime="application/pdf", pages=1), True, False),
    ],
)
def test_media_that_was_measured_cannot_cost_nothing(
    part: ImagePart | FilePart, in_result: bool, surest: bool
) -> None:
    doubt = media_doubt(part, 1000.0, in_result=in_result)
    assert (doubt.below < 1000) is surest
    assert doubt.above > 0


def test_long_reasoning_that_was_counted_by_its_text_may_be_much_longer() -> None:
    long = replace(SMALL, counted_reasoning=2_000.0)
    assert half_widths(long).below == half_widths(SMALL).below
    assert half_widths(long).above >= 1_400
    assert half_widths(replace(SMALL, counted_reasoning=200.0)) == half_widths(SMALL)
