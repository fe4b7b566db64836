"""All benchmarks: printed, and with --write as a page.

uv run python -m bench --write docs/speed.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import compaction, context_command, loop, opening, reading, startup
from bench.results import Section, page

SECTIONS: Mapping[str, Callable[[], Section]] = {
    "reading": reading.section,
    "startup": startup.section,
    "context": context_command.section,
    "opening": opening.section,
}

APART: Mapping[str, Callable[[], Section]] = {
    "loop": loop.section,
    "compaction": compaction.section,
}
"""Those with a page of their own, which take minutes: run when they are named."""


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
    options.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help="also write all tables as this Markdown page",
    )
    chosen = options.parse_args()
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        options.error(f"no bench {unknown[0]!r}: there are {names}")
    if chosen.names and chosen.write:
        options.error("--write needs all benches, as the page holds all of them")
    done: list[Section] = []
    for name in chosen.names or SECTIONS:
        print(f"running {name} …", file=sys.stderr, flush=True)
        done.append(known[name]())
        print(done[-1].text(), flush=True)
    if chosen.write:
        chosen.write.write_text(page(done), encoding="utf-8")
        print(f"wrote {chosen.write}", file=sys.stderr)


if __name__ == "__main__":
    main()
