"""A Restate server of the tests' own, from npm: one for each process that asks for it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from ullage.cli.local_restate import LocalRestate, restate_program
from ullage.directories import cache_directory

CACHE = cache_directory()
"""The user's, as it was before the tests got homes of their own."""


def new_restate() -> LocalRestate:
    """A new server that runs; the caller ends it. Fails with npm's own words where it can't be installed."""
    folder = Path(tempfile.mkdtemp(prefix="ullage-restate-"))
    server = LocalRestate(folder, restate_program(CACHE))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    server.start()
    return server


@cache
def shared_restate() -> LocalRestate:
    """The server of this process. It ends with the process."""
    return new_restate()
