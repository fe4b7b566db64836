from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.picture.sessions import HOSTILE
from ullage.picture.shapes import blocks, flowed, words

SIZES = st.lists(st.integers(1, 10**6), min_size=1, max_size=40)


@given(SIZES)
def test_blocks_fill_the_box_in_proportion(sizes: list[int]) -> None:
    sizes.sort(reverse=True)
    areas = [width * height for _, _, width, height in blocks(sizes, (5, 7, 300, 200))]
    whole = sum(sizes)
    assert areas == pytest.approx([60_000 * size / whole for size in sizes])


def test_blocks_do_not_overlap() -> None:
    boxes = sorted(blocks([5, 3, 2, 1], (0, 0, 100, 10)))
    assert boxes[0][0] == 0
    for (x, y, width, height), (right, below, _, _) in pairwise(boxes):
        assert right >= x + width - 0.01 or below >= y + height - 0.01


def test_a_text_is_markup_without_control_characters() -> None:
    shown = words(HOSTILE)
    assert "<" not in shown
    assert '"' not in shown
    assert not set(shown) & set("\x00\x1b\u202e\u2066\ufffe")


def test_a_text_of_ten_megabytes_is_cut_before_it_is_looked_at() -> None:
    assert len(words("&" * 10_000_000, 20)) == 19 * len("&amp;") + 1
    assert len(flowed([("a " * 5_000_000, "ink", 2)], 100)) < 300


def test_a_text_is_cut_at_the_end_of_a_sentence() -> None:
    drawn = flowed(
        [("It compacts at 9. Then files come back, skills too.", "ink", 2)], 140
    )
    assert "at 9.<" in drawn
    assert "Then" not in drawn


def test_a_text_takes_no_more_lines_than_it_may() -> None:
    drawn = flowed(
        [("one two three four", "ink", 2), ("", "dim", 2), ("five", "dim", 1)], 60
    )
    assert drawn.count("<text") == 3
    assert "…" in drawn
    assert 'y="46">five' in drawn
