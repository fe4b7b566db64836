"""Bytecode is kept between runs, also where Python was told to write none: a run compiles a thousand modules otherwise.

Loaded before anything else of the tests, so that the process that runs them keeps its own as well.
"""

import os
import sys
from pathlib import Path

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    kept = str(Path(__file__).parent / ".pytest_cache" / "bytecode")
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", kept)
