"""Where the repository is, and which files are its own."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def committed() -> list[Path]:
    """The files git knows, or would know after ``git add``."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        ROOT / name
        for name in listing.stdout.split("\0")
        if name and (ROOT / name).is_file()
    ]
