"""All benchmarks, printed. docs/speed.md has figures of each.

uv run python -m bench
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

from bench import compaction, context_command, loop, reading, startup
from bench.results import Section

SECTIONS: Mapping[str, Callable[[], Section]] = {
    "reading": reading.section,
    "startup": startup.section,
    "context": context_command.section,
}

APART: Mapping[str, Callable[[], Section]] = {
    "loop": loop.section,
    "compaction": compaction.section,
}
"""Those that take minutes: run when they are named."""


def main() -> None:
    """Run what was asked for, one after the other."""
    known = {**SECTIONS, **APART}
    names = ", ".join(known)
    options = argparse.ArgumentParser(
        prog="bench", description="Speed beside the peers', in ratios."
    )
    options.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"which: {names} (default: {', '.join(SECTIONS)})",
    )
    chosen = options.parse_args()
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        options.error(f"no bench {unknown[0]!r}: there are {names}")
    for name in chosen.names or SECTIONS:
        print(f"running {name} …", file=sys.stderr, flush=True)
        print(known[name]().text(), flush=True)


if __name__ == "__main__":
    main()
