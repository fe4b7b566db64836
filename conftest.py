"""Bytecode is kept between runs, also where Python was told to write none: a run compiles a thousand modules otherwise.

Loaded before anything else of the tests, so that the process that runs them keeps its own as well.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    kept = str(Path(__file__).parent / ".pytest_cache" / "bytecode")
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", kept)

FIXTURES = {
    "ullage_simulators": "tests.simulators.fixtures",
    "ullage_server": "tests.server.fixtures",
    "ullage_cluster": "tests.store.fixtures",
    "playwright": "tests.server.page.fixtures",
}
"""Fixtures of a distribution, also for the tests above it; ``scripts.borders`` installs only some."""

pytest_plugins = [
    "tests.everywhere",
    *(where for package, where in FIXTURES.items() if find_spec(package)),
]
