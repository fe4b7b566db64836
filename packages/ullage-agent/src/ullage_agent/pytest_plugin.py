"""The pytest plug-in: in a run of tests, Ullage reaches no network and nothing of the developer's own.

It loads nothing of Ullage before a test does. ``-p no:ullage`` leaves it out.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from ullage_agent.testing import ScriptedModel

VARIABLE: Final = "ULLAGE_ISOLATED"
"""As in ``ullage.isolation``, which is not loaded for it."""

MARK: Final = "ullage_network"

OF_THE_RUN: Final[dict[str, str]] = {}
"""The variables that are set, for ``ullage.isolation`` in a test that clears the environment."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option for runs with real models."""
    parser.getgroup("ullage").addoption(
        "--ullage-network",
        action="store_true",
        help="let Ullage's model calls reach the network, with the keys of the environment",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin the isolation, so that it holds for agents of modules that tests import."""
    config.addinivalue_line(
        "markers",
        f"{MARK}: model calls of Ullage may reach the network, with the keys of the environment",
    )
    data = os.path.join(tempfile.gettempdir(), f"ullage-tests-{secrets.token_hex(8)}")
    before = {name: os.environ.get(name) for name in (VARIABLE, "ULLAGE_DATA")}
    _set({VARIABLE: _value(config, 0), "ULLAGE_DATA": data})

    def end() -> None:
        OF_THE_RUN.clear()
        shutil.rmtree(data, ignore_errors=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    config.add_cleanup(end)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give each test a number, by which it has a store in memory of its own."""
    config = item.config
    number = int(OF_THE_RUN[VARIABLE].partition(" ")[2]) + 1
    may_call = item.get_closest_marker(MARK) is not None
    _set({VARIABLE: _value(config, number, may_call=may_call)})
    try:
        return (yield)
    finally:
        _set({VARIABLE: _value(config, number)})


def _set(variables: dict[str, str]) -> None:
    OF_THE_RUN.update(variables)
    os.environ.update(OF_THE_RUN)


def _value(config: pytest.Config, number: int, *, may_call: bool = False) -> str:
    may_call = may_call or config.getoption("--ullage-network")
    return f"{'NETWORK' if may_call else 'ISOLATED'} {number}"


@pytest.fixture
def ullage_model() -> Iterator[ScriptedModel]:
    """A ``ScriptedModel`` in the place of the model of every agent: ``ullage_model.add("Hello.")``.

    The test fails if answers are left at its end.
    """
    from ullage_agent.runtime.overriding import EveryAgent, Override, Substitutes
    from ullage_agent.testing import ScriptedModel

    model = ScriptedModel([])
    with Override(EveryAgent(), Substitutes(model=model), all_agents=True):
        yield model
