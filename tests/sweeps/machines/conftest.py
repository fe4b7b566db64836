"""Tests with a dozen programs each run one at a time, in all processes of pytest."""

from collections.abc import Iterator

import pytest

from tests.programs import alone


@pytest.fixture(autouse=True)
def _one_at_a_time() -> Iterator[None]:
    with alone("machines"):
        yield
