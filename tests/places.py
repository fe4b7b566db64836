"""Where the tests find what is not theirs."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]

CLIENT_LOGS: Final = ROOT / "packages" / "ullage" / "tests" / "importers" / "fixtures"
"""Logs of every program."""
