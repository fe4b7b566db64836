"""One server for the tests of a file that change nothing in it."""

from collections.abc import Iterator

import pytest

from tests.simulators.asking import Talk
from ullage_simulators import Scenario, running


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running(Scenario(), seed=7) as server:
        yield Talk(server)
