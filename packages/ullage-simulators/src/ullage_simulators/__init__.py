"""Strict simulators of the providers, served over HTTP on loopback.

    with running() as server:
        server.url("anthropic")

A simulator refuses what the real API refuses, with its text; reports usage in the provider's fields, with token counts
of its own that ``server.truth()`` tells to a test; and fails on request. Nothing here is shared with ``ullage``: a
simulator that shared its codecs or estimators would share their mistakes.
"""

from ullage_simulators.scenario import Scenario, SimulatorError, load, read
from ullage_simulators.server import Server, Truth, running

__all__ = ["Scenario", "Server", "SimulatorError", "Truth", "load", "read", "running"]
