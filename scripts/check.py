"""Every check but the tests: lint, format, types, leftovers, known weaknesses, house rules, plainness, budget.

    uv run python -m scripts.check

A check that can't be made, such as asking PyPI's advisories without a network, is NOT CHECKED and does not fail.
"""

import subprocess
import sys
import time
from pathlib import Path

from scripts.audit import NOT_CHECKED

ROOT = Path(__file__).parents[1]

CORE = [
    f"packages/ullage/src/{name}"
    for name in ("ullage/meter", "ullage/cli/context.py", "ullage_programs")
]
"""What runs on Windows too: ``Meter``, ``ullage context``, status lines and hooks, and all that they import."""


CHECKS = {
    "lint": ["-m", "ruff", "check", "--quiet"],
    "format": ["-m", "ruff", "format", "--check", "--quiet"],
    "types": ["-m", "mypy", "--no-error-summary"],
    "types on Windows": [
        *("-m", "mypy", "--no-error-summary", "--platform=win32"),
        *("--cache-dir=.mypy_cache/win32", *CORE),
    ],
    "leftovers": ["-m", "scripts.leftovers"],
    "known weaknesses": ["-m", "scripts.audit"],
    "house rules": ["-m", "scripts.house"],
    "plainness": ["-m", "scripts.plainness"],
    "budget of tokens": ["-m", "scripts.budget"],
}

OUTCOMES = {0: "ok", NOT_CHECKED: "NOT CHECKED"}


def main() -> int:
    """Run all of them, whatever fails, and give the exit code."""
    failed = []
    for name, command in CHECKS.items():
        start = time.monotonic()
        done = subprocess.run([sys.executable, *command], cwd=ROOT, check=False)
        outcome = OUTCOMES.get(done.returncode, "FAILED")
        print(f"{outcome:<12}{name} ({time.monotonic() - start:.1f} s)", flush=True)
        if done.returncode not in OUTCOMES:
            failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
