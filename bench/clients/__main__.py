"""Runs real clients against the simulators.

uv run python -m bench.clients                        all of them, some minutes
uv run python -m bench.clients --client codex         one
uv run python -m bench.clients --quick                two clients, three scenarios: what `.ci/run` runs
uv run python -m bench.clients --proxy                behind `ullage proxy`, whose ledger is compared
uv run python -m bench.clients --lanes                also which conversation a proxy gives each call
uv run python -m bench.clients --write                also its table of bench/RESULTS.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.clients.client import Client
from bench.clients.clients import CLIENTS
from bench.clients.comparison import ScenarioResult
from bench.clients.installation import (
    NotInstallable,
    default_cache,
    installed,
    installed_node,
    npm_answers,
)
from bench.clients.scenarios import SCENARIOS
from bench.clients.session import Programs, run
from bench.clients.table import (
    accuracy_table,
    details,
    lanes_table,
    line,
    proxy_table,
    summary,
)
from bench.results import write_tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "bench" / "RESULTS.md"
OUT = ROOT / "bench" / "out" / "clients.json"

NO_NPM = "npm does not answer, so no real client is run here; `make clients` runs all."

QUICK_CLIENTS = ("claude-code", "codex")
QUICK_SCENARIOS = ("parallel tools", "big result", "resume")

QUICK_PROXY_CLIENTS = ("claude-code",)
QUICK_PROXY_SCENARIOS = ("subagent",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0, or 1 if a request was refused or a log is read wrong, or 2 if a client can't be installed."""
    options = _options(arguments)
    clients, names = _chosen(options)
    chosen = [each for each in SCENARIOS if not names or each.name in names]
    if not options.proxy:
        chosen = [each for each in chosen if not each.only_by_proxy]
    if options.quick and not npm_answers():
        print(NO_NPM)
        return 0
    results: list[ScenarioResult] = []
    for name in clients:
        client = CLIENTS[name]
        try:
            programs = _installed(client, options.cache)
        except NotInstallable as why:
            if not options.quick:
                print(f"bench.clients: {client.title}: {why}", file=sys.stderr)
                return 2
            # The disk may be full, or the registry may keep the archive: neither says anything of this code.
            print(f"NOT RUN: {client.title}: {why}")
            continue
        keep = options.keep / client.name if options.keep else None
        for scenario in chosen:
            found = run(client, scenario, programs, keep, by_proxy=options.proxy)
            results.append(found)
            print(line(results[-1]), flush=True)
    if options.lanes:
        print(lanes_table(results))
    print(details(results))
    print(summary(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    print(f"wrote {options.json}")
    if options.write and options.proxy:
        write_tables(PAGE, [proxy_table(results)])
    elif options.write:
        write_tables(PAGE, [accuracy_table(results)])
    failed = [result for result in results if result.failures]
    return 1 if failed else 0


def _chosen(options: argparse.Namespace) -> tuple[Sequence[str], Sequence[str]]:
    """The names of clients and scenarios; all where there are none."""
    clients: Sequence[str] = tuple(CLIENTS)
    scenarios: Sequence[str] = ()
    if options.quick and options.proxy:
        clients, scenarios = QUICK_PROXY_CLIENTS, QUICK_PROXY_SCENARIOS
    elif options.quick:
        clients, scenarios = QUICK_CLIENTS, QUICK_SCENARIOS
    return options.client or clients, options.scenario or scenarios


def _installed(client: Client, cache: Path) -> Programs:
    print(f"{client.title} {client.version}", file=sys.stderr, flush=True)
    node = installed_node(cache) if client.newer_node else None
    return Programs(installed(client, cache), node)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="bench.clients",
        description="Run clients against the simulators, and compare Ullage's reading of their logs with the bills.",
    )
    options.add_argument(
        "--client", action="append", choices=list(CLIENTS), help="only this one"
    )
    options.add_argument(
        "--scenario",
        action="append",
        choices=[each.name for each in SCENARIOS],
        help="only this one",
    )
    options.add_argument(
        "--quick", action="store_true", help="two clients, three scenarios"
    )
    options.add_argument(
        "--proxy",
        action="store_true",
        help="behind `ullage proxy`, whose ledger is compared instead of the logs",
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
        "--json",
        type=Path,
        default=OUT,
        metavar="FILE",
        help=f"default: {OUT.name} in bench/out",
    )
    options.add_argument(
        "--lanes",
        action="store_true",
        help="print how many calls a proxy gives the conversation that they belong to",
    )
    options.add_argument("--write", action="store_true", help="write the tables")
    return options.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
