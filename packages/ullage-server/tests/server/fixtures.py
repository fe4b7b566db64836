"""A provider's simulator and a server that most tests of this room share."""

from collections.abc import Iterator

import pytest

from tests.server.served import Api, Local, script, serving
from ullage_simulators import running

ANSWERS = (
    {
        "when": {"contains": "at length"},
        "text": "The cask was filled in spring, and then it stood. " * 60,
    },
    {"text": "A hand's breadth of air stands over the wine."},
)


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The URL of a simulator that always answers."""
    with running(script(*ANSWERS, delay_s=0.002)) as server:
        yield server.url("anthropic")


@pytest.fixture(scope="module")
def local(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """One server for the tests of a file."""
    with serving(provider, tmp_path_factory.mktemp("server") / "sessions.db") as server:
        yield server


@pytest.fixture
def api(local: Local) -> Api:
    """A client of it."""
    return local.api
