"""The benchmarks of docs/speed.md, one after the other; each alone: uv run python -m bench.NAME.

uv run python -m bench [NAME...]
"""

from __future__ import annotations

import subprocess
import sys

QUICK = ("reading", "startup", "context_command")
"""The others, such as loop and compaction, take minutes: they are run when they are named."""


def main() -> int:
    """Run what was asked for; gives the first exit code that is not 0."""
    codes = []
    for name in sys.argv[1:] or QUICK:
        print(f"running {name} …", file=sys.stderr, flush=True)
        done = subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False)
        codes.append(done.returncode)
    return next(filter(None, codes), 0)


if __name__ == "__main__":
    sys.exit(main())
