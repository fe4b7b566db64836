"""Runs real clients against the simulators.

uv run python -m bench.clients                        all of them, some 15 minutes
uv run python -m bench.clients --client codex         one
uv run python -m bench.clients --quick                two clients, three scenarios: what `.ci/run` runs
uv run python -m bench.clients --proxy                behind `ullage proxy`, whose ledger is compared
uv run python -m bench.clients --untrusted            the newest versions, in clones that nobody trusts
uv run python -m bench.clients --newest               the newest versions, beside what the page says of the pinned ones
uv run python -m bench.clients --write                also its table of docs/clients.md
uv run python -m bench.clients --read DIR --write     its table from runs that ``--keep DIR`` left, read again
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.clients.client import Client
from bench.clients.clients import CLIENTS
from bench.clients.comparison import ScenarioResult
from bench.clients.installation import (
    NotInstallable,
    default_cache,
    installed,
    installed_node,
    newest_version,
    npm_answers,
)
from bench.clients.scenarios import SCENARIOS
from bench.clients.session import Programs, kept_runs, run
from bench.clients.table import (
    accuracy_table,
    beside_page,
    line,
    proxy_table,
    refusal_table,
    summary,
    with_page,
)
from bench.clients.untrusted import CloneResult, clones_for, clones_table, tried
from bench.results import write_tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "clients.md"
ATTACKS = ROOT / "tests" / "hostile" / "ATTACKS.md"

NO_NPM = "npm does not answer, so no real client is run here; `make clients` runs all."

QUICK_CLIENTS = ("claude-code", "codex")
QUICK_SCENARIOS = ("parallel tools", "big result", "resume")

QUICK_ONE_CLIENT = ("claude-code",)
QUICK_PROXY_SCENARIOS = ("subagent",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0, or 1 if a request was refused or a log is read wrong, or 2 if a client can't be installed."""
    options = _options(arguments)
    if options.quick and not npm_answers():
        print(NO_NPM)
        return 0
    try:
        return _in_clones(options) if options.untrusted else _in_scenarios(options)
    except NotInstallable as why:
        print(f"bench.clients: {why}", file=sys.stderr)
        return 2


def _in_clones(options: argparse.Namespace) -> int:
    results: list[CloneResult] = []
    for client, programs in _ready(options):
        for clone in clones_for(client):
            results.append(tried(client, clone, programs))
            print("\n    ".join([results[-1].title, *results[-1].problems]), flush=True)
    table = clones_table(results)
    print(table.text())
    if options.write:
        write_tables(ATTACKS, [table])
    return 1 if any(each.problems for each in results) else 0


def _in_scenarios(options: argparse.Namespace) -> int:
    results: list[ScenarioResult] = []
    for found in _kept(options) if options.read else _run_all(options):
        print(line(found), flush=True)
        results.append(found)
    print(refusal_table(results).text())
    page = PAGE.read_text(encoding="utf-8")
    table = proxy_table(results) if options.proxy else accuracy_table(results)
    print(beside_page(table, page).text())
    print(summary(results))
    if options.write:
        write_tables(PAGE, [with_page(table, page)])
    failed = [result for result in results if result.failures]
    return 1 if failed else 0


def _run_all(options: argparse.Namespace) -> Iterator[ScenarioResult]:
    names = _scenarios(options)
    chosen = [each for each in SCENARIOS if not names or each.name in names]
    if not options.proxy:
        chosen = [each for each in chosen if not each.only_by_proxy]
    for client, programs in _ready(options):
        keep = options.keep / client.name if options.keep else None
        for scenario in chosen:
            yield run(client, scenario, programs, keep, by_proxy=options.proxy)


def _kept(options: argparse.Namespace) -> Iterator[ScenarioResult]:
    """Those behind the proxy, or the others: one directory may have both."""
    for client in CLIENTS.values():
        for found in kept_runs(client, options.read):
            if found.by_proxy == options.proxy:
                yield found


def _scenarios(options: argparse.Namespace) -> Sequence[str]:
    """The names of scenarios; all where there are none."""
    quick = QUICK_PROXY_SCENARIOS if options.proxy else QUICK_SCENARIOS
    return options.scenario or (quick if options.quick else ())


def _clients(options: argparse.Namespace) -> Sequence[str]:
    is_one = options.proxy or options.untrusted
    quick = QUICK_ONE_CLIENT if is_one else QUICK_CLIENTS
    names = options.client or (quick if options.quick else CLIENTS)
    return [one for one in names if not options.untrusted or clones_for(CLIENTS[one])]


def _ready(options: argparse.Namespace) -> Iterator[tuple[Client, Programs]]:
    """The clients, installed. Raises ``NotInstallable``, unless the run is a quick one."""
    for name in _clients(options):
        client = CLIENTS[name]
        is_newest = options.newest or (options.untrusted and not options.quick)
        try:
            version = newest_version(client) if is_newest else client.version
            print(f"{client.title} {version}", file=sys.stderr, flush=True)
            node = installed_node(options.cache) if client.newer_node else None
            program = installed(client, version, options.cache)
        except NotInstallable as why:
            if not options.quick:
                raise NotInstallable(f"{client.title}: {why}") from why
            # The disk may be full, or the registry may keep the archive: neither says anything of this code.
            print(f"NOT RUN: {client.title}: {why}")
            continue
        yield client, Programs(program, node, version)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="bench.clients",
        description="Run clients against the simulators, and compare Ullage's reading of their logs with the bills.",
    )
    options.add_argument("--client", action="append", choices=list(CLIENTS))
    options.add_argument(
        "--scenario",
        action="append",
        choices=[each.name for each in SCENARIOS],
        help="only this one",
    )
    options.add_argument("--quick", action="store_true")
    options.add_argument("--proxy", action="store_true")
    options.add_argument("--untrusted", action="store_true")
    options.add_argument(
        "--newest", action="store_true", help="versions that npm and PyPI have today"
    )
    options.add_argument(
        "--cache",
        type=Path,
        default=default_cache(),
        metavar="DIR",
        help="where clients are installed (default: ULLAGE_CLIENTS, else ~/.cache/ullage/clients)",
    )
    options.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="leave the clients' home directories there, with their logs",
    )
    options.add_argument(
        "--read",
        type=Path,
        metavar="DIR",
        help="run nothing: read what --keep left there again",
    )
    options.add_argument("--write", action="store_true", help="write the tables")
    return options.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
