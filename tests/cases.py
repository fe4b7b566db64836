"""Many cases in one test."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Case = TypeVar("Case")


@contextmanager
def case(*values: object) -> Iterator[None]:
    """One of the cases of a test: a failure in it names these values."""
    try:
        yield
    except BaseException as problem:
        problem.add_note(f"The case: {', '.join(map(repr, values))}"[:1_000])
        raise


def filled(values: Iterable[Case]) -> list[Case]:
    """Cases that are made elsewhere: none at all would try nothing, and is a failure."""
    found = list(values)
    assert found, "there are no cases"
    return found
