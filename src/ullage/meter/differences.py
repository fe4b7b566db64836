"""Numbers as the difference of each to the one before: places and sequence numbers in order become small and alike."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate


def differences(numbers: Sequence[int]) -> list[int]:
    """Each number without the one before it, the first as it is."""
    return [number - before for number, before in zip(numbers, (0, *numbers), strict=False)]


def sums(differences: Iterable[int]) -> list[int]:
    """The numbers whose differences these are."""
    return list(accumulate(differences))


def bits(numbers: Iterable[float]) -> list[int]:
    """Floating point numbers as integers that grow with them; exact, and near for times that are near."""
    return array("q", array("d", numbers).tobytes()).tolist()


def floats(bits: Iterable[int]) -> list[float]:
    """The numbers that ``bits`` were made of."""
    return array("d", array("q", bits).tobytes()).tolist()
