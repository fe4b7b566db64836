"""Other Python processes, as some tests need them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def run_python(
    *arguments: object, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """What Python did with these arguments: its exit code and its output as text. ``options`` are of ``subprocess``."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=check, **options)
