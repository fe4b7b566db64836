"""How many examples a test tries, by tier (tests/README.md).

The first tier, ``uv run pytest``, tries some of them. The second, ``make second``, tries all, and
``HYPOTHESIS_PROFILE=thorough`` many more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

import pytest

Case = TypeVar("Case")

PROFILE: Final = os.environ.get("HYPOTHESIS_PROFILE", "quick")
IS_THOROUGH: Final = PROFILE == "thorough"
SHARE: Final = 20
"""The first tier tries one random example of so many."""


def examples(count: int, thorough: int = 0) -> int:
    """How many of ``count`` examples this tier tries; ``thorough`` of them in the thorough profile."""
    if IS_THOROUGH:
        return thorough or count
    return count if PROFILE == "sweep" else max(1, count // SHARE)


def each_tenth(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases that this tier tries within one test: every tenth, or all."""
    return islice(cases, None, None, 10 if PROFILE in ("quick", "few") else 1)


def first_of(values: Sequence[object], count: int = 1) -> list[Any]:
    """Values of ``parametrize``: the first ``count`` are tried in the first tier, all others in the second."""
    later = [
        pytest.param(*case_of(value), marks=pytest.mark.sweep) for value in values[count:]
    ]
    return [*values[:count], *later]


def case_of(value: object) -> tuple[object, ...]:
    """The arguments of a test that a value of ``parametrize`` stands for."""
    return value if type(value) is tuple else (value,)
