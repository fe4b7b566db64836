"""Runs of tests see nothing of the developer's own: no keys, no settings, no home directory, no network.

The pytest plug-in of ``ullage-agent`` says so in a variable of the environment, which programs that a test starts
inherit. docs/testing.md tells how a test asks for a network.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from ullage.models.providers import known_providers

VARIABLE: Final = "ULLAGE_ISOLATED"
"""``ISOLATED N`` or ``NETWORK N`` in a run of tests, with the number of the test; otherwise it is not set."""

NETWORK: Final = "NETWORK"

_DATA: Final = "ULLAGE_DATA"


def current_test() -> str:
    """The test that runs, by the plug-in's number; empty outside of tests."""
    return _of_the_run(VARIABLE)


def _of_the_run(name: str) -> str:
    """What the plug-in has set, also where a test has cleared the environment."""
    plugin = sys.modules.get("ullage_agent.pytest_plugin")
    return os.environ.get(name) or getattr(plugin, "OF_THE_RUN", {}).get(name, "")


def is_before_tests() -> bool:
    """Whether a run of tests imports its modules: no test has begun."""
    return current_test().endswith(" 0")


def reaches_network() -> bool:
    """Whether model calls may leave this machine: always outside of tests."""
    test = current_test()
    return not test or test.startswith(NETWORK)


def environment_of(given: Mapping[str, str] | None) -> dict[str, str]:
    """The given variables, else those of the process.

    A test sees no settings of the process, and its keys only with a network. Its data directory is the test run's.
    """
    environment = dict(os.environ if given is None else given)
    if not current_test():
        return environment
    data = {_DATA: _of_the_run(_DATA)}
    if given is not None:
        return data | environment
    hidden = set[str]()
    if not reaches_network():
        for row in known_providers():
            hidden.update(row.key_env, row.url_env)
    seen = {
        name: value
        for name, value in environment.items()
        if name not in hidden and not name.startswith("ULLAGE_")
    }
    return seen | data
