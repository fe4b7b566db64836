"""Every check but the tests: lint, format, types, leftovers; and a list of what has grown large.

uv run python -m scripts.check
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

CHECKS = {
    "lint": ["-m", "ruff", "check", "--quiet"],
    "format": ["-m", "ruff", "format", "--check", "--quiet"],
    "types": ["-m", "mypy", "--no-error-summary"],
    "leftovers": ["-m", "scripts.leftovers"],
    "sizes (a signal)": ["-m", "scripts.sizes"],
}


def main() -> int:
    """Run all of them, whatever fails, and give the exit code."""
    failed = []
    for name, command in CHECKS.items():
        start = time.monotonic()
        done = subprocess.run([sys.executable, *command], cwd=ROOT, check=False)
        print(f"{'ok' if done.returncode == 0 else 'FAILED':<7}{name} ({time.monotonic() - start:.1f} s)", flush=True)
        if done.returncode:
            failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
