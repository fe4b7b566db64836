"""Runs frameworks with Ullage's plug-in, and with their own compaction, through long sessions against the simulators.

uv run python -m bench.plugins                        all of them, hours; what is kept already is not run again
uv run python -m bench.plugins --only langchain       one framework
uv run python -m bench.plugins --only attach          ullage.attach with old and new SDKs
uv run python -m bench.plugins --only pages           the snippets of docs/frameworks that need an environment
uv run python -m bench.plugins --again                also what is kept already: after a change of a plug-in
uv run python -m bench.plugins --quick                newest versions, window 9,000, one seed: what `.ci/run` runs
uv run python -m bench.plugins --write bench/RESULTS.md    then also its table
uv run python -m bench.plugins --kept --write bench/RESULTS.md    these alone

Environments are made with uv under bench/out/, from the configured package index. Each session is kept as it ends, in
bench/out/plugins.jsonl: a run that is cut loses one. Nothing is timed: every figure is a count.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.environments import ClientFailed, NotInstalled
from bench.plugins import attached, pages
from bench.plugins.cells import (
    Cell,
    Cells,
    Planned,
    keep,
    kept,
    missing,
    planned,
    run_cell,
)
from bench.plugins.frameworks import FRAMEWORKS
from bench.plugins.table import line, row, summary
from bench.results import write_tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0, 1 if a target is missed or a script fails, or 2 if a package can't be installed (never with --quick)."""
    options = _options(arguments)
    # The simulator goes on sending to a client that has left, and asyncio warns of each piece.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    status = 0
    if not options.kept:
        beside = attached.run_all(quick=options.quick)
        status = max(
            _tell(attached.NAME, beside, options),
            _tell(pages.NAME, pages.run_pages(FRAMEWORKS), options),
            _run(options),
        )
    if options.write:
        write_tables(options.write, [summary(FRAMEWORKS, kept())])
        print(f"wrote {options.write}", file=sys.stderr)
    return status


def _tell(name: str, runs: Iterator[tuple[str, int]], options: argparse.Namespace) -> int:
    """The worst status of these runs, unless they are not asked for; each is printed as it ends."""
    if options.only and name not in options.only:
        return 0
    statuses = [0]
    for said, status in runs:
        print(said, flush=True)
        # With --quick as below: the index may not answer.
        statuses.append(0 if options.quick and status == 2 else status)
    return max(statuses)


def _run(options: argparse.Namespace) -> int:
    """The chosen cells that are not kept, one by one; with --quick none is kept."""
    known = FRAMEWORKS
    if options.only:
        known = {name: known[name] for name in options.only if name in known}
    plans = planned(known, quick=options.quick)
    is_fresh = options.again or options.quick
    cells: Cells = {} if options.quick else kept()
    statuses = [0]
    for plan in plans if is_fresh else missing(plans, cells):
        cell, status = _cell(plan)
        if options.quick and status == 2:
            # The index may not answer: that says nothing of this code.
            status = 0
        cells[plan.place] = cell
        if not options.quick:
            keep(cell)
        found = row([plan], cells)
        print(line(found), flush=True)
        for problem in dict.fromkeys(cell.problems):
            print(f"    {problem}", flush=True)
        statuses.append(1 if found.missed() else status)
    return max(statuses)


def _cell(plan: Planned) -> tuple[Cell, int]:
    """The cell, and 0, or 1 if its script failed, or 2 if it can't be installed."""
    try:
        return run_cell(plan), 0
    except NotInstalled as why:
        said = f"it can't be installed here: {why}"
        return Cell(place=plan.place, not_run=said), 2
    except (ClientFailed, subprocess.TimeoutExpired) as why:
        return Cell(place=plan.place, not_run=f"its script failed: {why}"), 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="bench.plugins",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument(
        "--only", action="append", choices=[*FRAMEWORKS, attached.NAME, pages.NAME]
    )
    options.add_argument("--quick", action="store_true")
    options.add_argument("--again", action="store_true")
    options.add_argument("--kept", action="store_true")
    options.add_argument("--write", type=Path, metavar="PAGE")
    return options.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
