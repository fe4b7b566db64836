import pytest

from tests.tokens.test_calibration import after, seen
from ullage.tokens.calibration import NOTHING_LEARNT, Learnt, learn
from ullage.tokens.joining import joined

BASE = after(*(seen(100 + number, 9) for number in range(5)))


def on(learnt: Learnt, first: int, count: int) -> Learnt:
    """What was learnt with so many observations more, which differ from all others."""
    for number in range(first, first + count):
        learnt = learn(learnt, seen(1_000 + number, 60 + number % 7))
    return learnt


def test_of_two_of_which_one_continued_the_other_it_is_the_result() -> None:
    longer = on(BASE, 0, 3)
    assert joined(BASE, longer) == joined(longer, BASE) == longer
    assert joined(NOTHING_LEARNT, longer) == joined(longer, NOTHING_LEARNT) == longer
    assert joined(longer, longer) == longer


def test_what_two_learnt_beside_each_other_is_all_known_afterwards() -> None:
    one, other = on(BASE, 0, 4), on(BASE, 100, 6)
    both = joined(one, other)
    assert both.n == BASE.n + 4 + 6
    assert {each.content for each in both.known} == {
        each.content for each in (*one.known, *other.known)
    }
    in_turn = on(on(BASE, 0, 4), 100, 6)
    assert both.offset(is_user=False) == pytest.approx(in_turn.offset(is_user=False), 0.2)


def test_joining_the_same_again_adds_nothing() -> None:
    one, other = on(BASE, 0, 4), on(BASE, 100, 6)
    both = joined(one, other)
    assert joined(both, other) == both
    assert joined(both, one) == both


def test_a_session_that_goes_on_adds_only_what_is_new() -> None:
    one, other = on(BASE, 0, 4), on(BASE, 100, 6)
    both = joined(joined(one, other), on(other, 200, 1))
    assert both.n == BASE.n + 4 + 6 + 1


def test_so_many_others_came_between_that_only_what_is_kept_can_be_added() -> None:
    other = on(BASE, 1_000, 100)
    both = joined(other, on(BASE, 0, 3))
    assert other.n < both.n <= other.n + BASE.n + 3
