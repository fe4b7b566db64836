import pytest

from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said
from ullage.context.budget import aim_of, bytes_limit_of, correction_of, image_limit_of
from ullage.context.situation import Situation
from ullage.errors import BodyTooLarge, Overflow, TooManyImages
from ullage.messages import ImagePart, Message


def test_with_a_known_window_it_aims_at_45_percent_and_must_end_below_the_point() -> None:
    aim = aim_of(Situation(fold=fold_of(*turns(3), window=200_000)))
    assert (aim.limit, aim.bar, aim.window) == (184_000, 160_000, 200_000)
    assert aim.goal == 90_000


def test_a_summary_has_6_percent_of_the_window_or_a_third_of_a_short_one() -> None:
    long, short = (
        fold_of(*turns(200, size=200), window=200_000),
        fold_of(*turns(12, size=200), window=200_000),
    )
    assert aim_of(Situation(fold=long)).summary == 8_000
    of = Situation(fold=short)
    assert aim_of(of).summary == pytest.approx(0.3 * of.sizes.messages)
    assert aim_of(Situation(fold=fold_of(*turns(1)))).summary == 250


def test_it_has_to_save_a_tenth_or_2000_tokens_or_a_twentieth_of_the_window() -> None:
    small, large = (
        Situation(fold=fold_of(*turns(3))),
        Situation(fold=fold_of(*turns(100, size=200))),
    )
    assert aim_of(small).least == 800
    assert aim_of(large).least == pytest.approx(0.1 * large.sizes.used)


def test_a_large_system_prompt_raises_the_goal_and_never_to_the_bar() -> None:
    aim = aim_of(Situation(fold=fold_of(*turns(1), system=words(8_000))))
    assert aim.bar is not None
    assert 0.45 * 16_000 < aim.goal < aim.bar


def test_with_an_unknown_window_an_overflow_halves_and_a_wish_only_saves() -> None:
    fold = fold_of(*turns(20), window=None)
    fold.limits = fold.limits.of_model(None, None, None)
    situation = Situation(fold=fold, trigger="overflow")
    aim = aim_of(situation)
    assert (aim.limit, aim.window, aim.bar) == (None, None, situation.sizes.used / 2)
    assert aim_of(Situation(fold=fold, trigger="asked")).bar is None


def test_a_refusal_without_numbers_lowers_what_is_taken_to_fit() -> None:
    situation = Situation(fold=fold_of(*turns(10)), trigger="overflow")
    assert aim_of(situation).limit == round(0.75 * situation.sizes.used)


def test_a_correction_makes_everything_smaller_in_the_readings_own_tokens() -> None:
    aim = aim_of(Situation(fold=fold_of(*turns(3), window=200_000), correction=2.0))
    assert (aim.limit, aim.bar, aim.window) == (92_000, 80_000, 100_000)


@pytest.mark.parametrize(
    ("refusal", "used", "window", "correction"),
    [
        (Overflow("too long", count=150_000, limit=128_000), 100_000, 200_000, 1.5),
        (Overflow("too long", count=90_000), 100_000, 200_000, 1.0),
        (Overflow("too long", limit=128_000), 100_000, 200_000, 1.05 * 1.28),
        (Overflow("too long"), 100_000, 200_000, 2.1),
        (Overflow("too long"), 250_000, 200_000, 1.0),
        (Overflow("too long"), 100_000, None, 1.0),
        (BodyTooLarge("413"), 100_000, 200_000, 1.0),
    ],
)
def test_how_far_off_the_reading_was(
    refusal: Overflow, used: int, window: int | None, correction: float
) -> None:
    assert correction_of(refusal, used, window) == pytest.approx(correction)


def test_a_body_that_was_too_large_sets_a_limit_on_bytes() -> None:
    situation = Situation(fold=fold_of(said("u", "x" * 10_000)))
    limit = bytes_limit_of(BodyTooLarge("413"), situation)
    assert limit is not None and 4_000 < limit < 6_000
    assert bytes_limit_of(Overflow("too long"), situation) is None
    assert bytes_limit_of(BodyTooLarge("413", most=7_000), situation) == 7_000
    assert bytes_limit_of(BodyTooLarge("413", most=70_000), situation) == limit


def test_too_many_images_set_a_limit_on_images() -> None:
    pictures = tuple(ImagePart(id=f"i{n}", width=100, height=100) for n in range(30))
    situation = Situation(fold=fold_of(Message(id="u", role="user", parts=pictures)))
    assert image_limit_of(TooManyImages("too many", most=20), situation) == 20
    assert image_limit_of(TooManyImages("too many"), situation) == 15
    assert image_limit_of(TooManyImages("too many", most=100), situation) == 15
    assert image_limit_of(BodyTooLarge("413", most=20), situation) is None
