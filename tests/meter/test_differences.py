from hypothesis import given
from hypothesis import strategies as st

from ullage.meter.differences import bits, differences, floats, sums


@given(st.lists(st.integers(-(2**60), 2**60)))
def test_sums_of_differences_are_the_numbers(numbers: list[int]) -> None:
    assert sums(differences(numbers)) == numbers


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_of_bits_are_the_numbers_to_the_last_bit(numbers: list[float]) -> None:
    assert [number.hex() for number in floats(bits(numbers))] == [number.hex() for number in numbers]


def test_times_that_are_near_have_bits_that_are_near() -> None:
    one, other = bits([1.75e9, 1.75e9 + 1])
    assert 0 < other - one < 2**23
