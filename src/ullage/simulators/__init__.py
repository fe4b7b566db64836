"""Strict doubles of the providers, served over HTTP on loopback.

    with running() as server:
        server.url("anthropic")

They reject what the real API rejects, in its words; bill in its dialect with numbers of their own, which
``server.truth()`` tells to a test; and go wrong as told. Nothing here is shared with the codecs, the validator or the
estimators: a double that shared their code would share their mistakes.
"""

from ullage.simulators.scenario import Scenario, load
from ullage.simulators.server import Server, Truth, running

__all__ = ["Scenario", "Server", "Truth", "load", "running"]
