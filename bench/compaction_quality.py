"""How good a compaction is: what is still known after it, without a model and offline.

    uv run python -m bench.compaction_quality                     # planted facts and rules, our rows
    uv run python -m bench.compaction_quality --others --before --held --logs DIR --write bench/RESULTS.md
    uv run python -m bench.compaction_quality --part logs --logs DIR

Nothing is timed: every figure is a count, and the same at every run of the same code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from bench.environments import ClientFailed, NotInstalled
from bench.quality.before import BEFORE, packages_at
from bench.quality.kept import kept
from bench.quality.logs_part import measured_logs, read_rows, tables_of
from bench.quality.planted import (
    OTHERS,
    OURS,
    Kind,
    PlantedClient,
    PlantedOutcome,
    run_planted,
)
from bench.quality.rules import (
    COMPACTIONS,
    Attack,
    Half,
    RulesOutcome,
    measured_rules,
    read_rules,
)
from bench.results import Table, named, show, write_tables

WINDOWS = (9_000, 16_000)
KINDS: tuple[Kind, ...] = ("digits", "words")
SEEDS = (5, 6)
OTHERS_SEEDS = (5,)
FORGETS = (0.1, 0.0, 0.3)
"""How much of what it sees a summary leaves out: the first at all seeds, the others at one."""
PARTS = ("planted", "rules", "logs")


def outcome_of(
    client: PlantedClient,
    kind: Kind,
    window: int,
    forgets: float,
    seed: int,
    *,
    before: bool = False,
) -> PlantedOutcome:
    """The outcome of one run, which is kept where this checkout has no part in it."""
    given = {"kind": kind, "window": window, "forgets": forgets, "seed": seed}

    def run() -> dict[str, Any]:
        print(
            f"{client.name}{', before' * before}: {given} …", file=sys.stderr, flush=True
        )
        path = packages_at() if before else ()
        return asdict(run_planted(client, **given, path=path))  # type: ignore[arg-type]

    if client in OURS and not before:
        return PlantedOutcome(**run())
    commit = BEFORE if client in OURS else ""
    return PlantedOutcome(**kept({"client": client.name, "commit": commit, **given}, run))


def summed(found: Iterable[PlantedOutcome]) -> PlantedOutcome:
    """The sums over several seeds."""
    rows = list(found)
    total = {
        each.name: sum(getattr(row, each.name) for row in rows)
        for each in fields(PlantedOutcome)
    }
    return PlantedOutcome(**total)


PLANTED_COLUMNS = named(
    "|window|forgets|runs|in view|least|of the user's 10|with recall|model calls|summaries|recalls"
    "|failed turns|tokens sent|uncached"
)


def planted_tables(seeds: Sequence[int], *, before: bool, others: bool) -> list[Table]:
    """A table for each kind of values; the other libraries at the first of ``FORGETS`` only, and at one seed."""
    made = []
    for kind in KINDS:
        rows: list[tuple[str, ...]] = []
        for window in WINDOWS:
            for share in FORGETS:
                chosen = seeds if share == FORGETS[0] else seeds[-1:]
                for client in OURS:
                    if before:
                        rows += planted_rows(
                            client, kind, window, share, chosen, before=True
                        )
                    rows += planted_rows(client, kind, window, share, chosen)
                for client in OTHERS if others and share == FORGETS[0] else ():
                    rows += planted_rows(client, kind, window, share, OTHERS_SEEDS)
        made.append(Table(f"Planted facts, {kind}", PLANTED_COLUMNS, tuple(rows)))
    return made


def planted_rows(
    client: PlantedClient,
    kind: Kind,
    window: int,
    forgets: float,
    seeds: Sequence[int],
    *,
    before: bool = False,
) -> list[tuple[str, ...]]:
    """The row of a client; none where it can't be run, which is said."""
    found = []
    for seed in seeds:
        try:
            found.append(outcome_of(client, kind, window, forgets, seed, before=before))
        except (ClientFailed, NotInstalled) as why:
            print(f"{client.name} failed: {why}", file=sys.stderr)
            return []
    return [planted_row(client.name + ", before" * before, window, forgets, found)]


def planted_row(
    name: str, window: int, forgets: float, found: Sequence[PlantedOutcome]
) -> tuple[str, ...]:
    """Means over the seeds."""
    total, runs = summed(found), len(found)
    least = min(each.in_view for each in found)
    means = (total.in_view, total.user, total.answered)
    in_view, user, answered = (f"{each / runs:.3g}" for each in means)
    counts = (
        total.calls,
        total.summaries,
        total.recalls,
        total.failed_turns,
        total.sent,
        total.uncached,
    )
    figures = (f"{each / runs:,.0f}" for each in counts)
    return (
        name,
        f"{window:,}",
        f"{forgets:.0%}",
        str(runs),
        in_view,
        str(least),
        user,
        answered,
        *figures,
    )


RULES_COLUMNS = named(
    "|rules|kept after 1|after 2|after 4|after 8|user|instruction file|tool result|distractors kept"
    "|share of tokens sent|all that code keeps"
)
ATTACKS: dict[Attack, str] = {
    "": "",
    "order": ", told to drop them",
    "flood": ", flooded",
}


def rules_table(
    halves: Sequence[Half], *, before: bool, attacks: Sequence[Attack] = tuple(ATTACKS)
) -> Table:
    """A row for each half and attack."""
    rows = []
    for half in halves:
        for attack in attacks:
            for is_before in (True, False) if before else (False,):
                name = f"{half}{ATTACKS[attack]}{', before' * is_before}"
                print(f"rules, {name} …", file=sys.stderr, flush=True)
                found = rules_of(half, attack, is_before)
                rows.append(rules_row(name, found))
    return Table("Rules kept word for word", RULES_COLUMNS, tuple(rows))


def rules_of(half: Half, attack: Attack, before: bool) -> RulesOutcome:
    """The outcome of a half, which is kept for the earlier commit."""
    if not before:
        return read_rules(measured_rules(half, attack))
    key = {"part": "rules", "half": half, "attack": attack, "commit": BEFORE}
    return read_rules(kept(key, lambda: measured_rules(half, attack, packages_at())))


def rules_row(name: str, found: RulesOutcome) -> tuple[str, ...]:
    """Shares of the rules, and of the tokens."""
    after = tuple(
        f"{found.kept.get(number, 0) / found.rules:.0%}"
        for number in (1, 2, 4, COMPACTIONS)
    )
    by = tuple(
        f"{found.kept_by.get(who, 0)} of {found.said_by.get(who, 0)}"
        for who in ("user", "file", "tool")
    )
    distractors = f"{found.kept_distractors} of {found.distractors}"
    shares = (f"{each / found.sent:.2%}" for each in (found.on_sentences, found.by_code))
    return name, str(found.rules), *after, *by, distractors, *shares


def main() -> None:
    """Print the tables, and with --write put them into the page."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--part", action="append", choices=PARTS, help="only these")
    options.add_argument("--seeds", type=int, nargs="+", default=SEEDS, metavar="N")
    options.add_argument("--others", action="store_true", help="other libraries as well")
    options.add_argument(
        "--before", action="store_true", help=f"ours at {BEFORE} as well"
    )
    options.add_argument(
        "--held", action="store_true", help="the held half of the rules as well"
    )
    options.add_argument(
        "--logs", type=Path, metavar="DIR", help="sessions of programs that compact"
    )
    options.add_argument("--write", type=Path, metavar="PAGE")
    chosen = options.parse_args()
    parts = chosen.part or PARTS
    tables: list[Table] = []
    if "planted" in parts:
        tables += planted_tables(chosen.seeds, before=chosen.before, others=chosen.others)
    if "rules" in parts:
        halves: list[Half] = ["development", "held"] if chosen.held else ["development"]
        tables.append(rules_table(halves, before=chosen.before))
    if chosen.logs and "logs" in parts:
        earlier = packages_at() if chosen.before else None
        key = {"part": "logs", "folder": str(chosen.logs), "commit": BEFORE}
        before = kept(key, lambda: measured_logs(chosen.logs, earlier)) if earlier else []
        tables += tables_of(read_rows(measured_logs(chosen.logs)), read_rows(before))
    show(*tables)
    if chosen.write:
        write_tables(chosen.write, tables)


if __name__ == "__main__":
    main()
