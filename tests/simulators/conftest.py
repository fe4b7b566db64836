"""One server for the tests of a file that change nothing in it."""

from collections.abc import Iterator

import pytest
from ullage_simulators import Scenario, running

from tests.simulators.asking import Talk


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running(Scenario(), seed=7) as server:
        yield Talk(server)
