"""The packages as they were at an earlier commit, for a column "before"."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Final

from bench.environments import CHECKOUT, OUT

BEFORE: Final = "0ccc2776"
"""The commit before what code keeps, recall and preview."""


def packages_at(commit: str = BEFORE, *, out: Path = OUT) -> list[Path]:
    """The folders that Python has to look in for the packages of a commit. Raises ``CalledProcessError``."""
    place = out / "before" / commit
    if not (place / "packages").exists():
        command = ["git", "-C", str(CHECKOUT), "archive", commit, "packages"]
        packed = subprocess.run(command, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(place, filter="data")
    return sorted(place.glob("packages/*/src"))
