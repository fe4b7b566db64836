"""How far predictions are off, and how often the interval holds, for each situation that a call follows on.

    uv run python -m bench.situations PATH ... [--misses] [--first-calls] [--write PAGE]

PATH is a session log, a directory of logs (plain or gzip, each read with nothing learnt), or a file of recorded calls.
``--misses`` names each call outside its interval, ``--first-calls`` shows recorded first calls by model, and
``--write`` puts the table into a page that has one of its title. Calls that a copy of a log has again count once.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from bench.evaluate import (
    GZIP,
    Prediction,
    Replay,
    evaluate,
    of_call,
    pair_groups,
    percentile,
    rows_of,
)
from bench.recorded import is_call, is_pair, pair_of
from bench.results import Table, show, with_table
from ullage.errors import UllageError
from ullage.meter.situations import CallSituation
from ullage_programs.programs import FOLDERS

ORDER = {name: place for place, name in enumerate(get_args(CallSituation))}


FEWEST = 5
"""Calls of a group that is shown on a page."""


class Group(NamedTuple):
    """What is looked at together: where the calls are from, and what they follow on."""

    source: str
    situation: str

    @property
    def place(self) -> tuple[str, int]:
        return self.source, ORDER.get(self.situation, 0)


class Found(NamedTuple):
    """``place`` is the call's in its log, where copies of that have it again, and its name in a recording."""

    group: Group
    name: str
    prediction: Prediction
    place: str


def found_in(path: Path) -> Iterator[Found]:
    """The predictions of one file."""
    first = next(rows_of(path), {})
    if is_pair(first) or is_call(first):
        yield from _recorded(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        log = path
        if path.read_bytes()[:2] == GZIP:
            log = Path(folder) / path.name.removesuffix(".gz")
            log.write_bytes(gzip.decompress(path.read_bytes()))
        source = _program_of(path)
        for number, outcome in enumerate(evaluate(log).outcomes, 1):
            if outcome.prediction.truth is not None:
                group = Group(source, outcome.prediction.situation)
                place = f"call {number}"
                yield Found(group, f"{path.name} {place}", outcome.prediction, place)


def _program_of(path: Path) -> str:
    """``claude-code-005b4d5f.jsonl.gz`` is of Claude Code; other files are of the folder that they are in."""
    for program in (folder.replace("_", "-") for folder in FOLDERS):
        if path.name.startswith(program):
            return program
    return path.parent.name


def _recorded(path: Path) -> Iterator[Found]:
    replay = Replay()
    for row in rows_of(path):
        if is_call(row):
            outcome = of_call(replay, row)
            if outcome.groups:
                source = f"first calls, {row.get('provider')} {row.get('model')}"
                name = f"{row.get('src')} {row.get('idx')}"
                yield Found(Group(source, "first call"), name, outcome.prediction, name)
            continue
        pair = pair_of(row)
        prediction = replay.pair(pair)
        if not pair_groups(pair):
            continue
        situation = prediction.situation
        source = "recorded calls" if pair.kind == "cassette" else "recorded sessions"
        if not pair.is_clean:
            situation = "not all recorded"
        elif pair.has_media:
            situation = "media"
        elif situation == "second call":  # each pair begins a conversation of two calls
            turn = "user turn" if row.get("user_turn") else "tool step"
            reasoned = (pair.usage.reasoning or 0) >= 20
            situation = f"{turn}, reasoning before" if reasoned else turn
        name = str(row.get("id"))
        yield Found(Group(source, situation), name, prediction, name)


def table_of(found: Sequence[Found], title: str) -> Table:
    groups: dict[Group, list[Found]] = defaultdict(list)
    for each in found:
        groups[each.group].append(each)
    columns = ("", "n", "median %", "p90 %", "worst %", "inside %", "too low", "too high")
    rows: list[tuple[str, ...]] = []
    for group in sorted(groups, key=lambda group: group.place):
        rows.append((f"{group.source}, {group.situation}", *_figures(groups[group])))
    return Table(title, columns, (*rows, ("all", *_figures(found))))


def _figures(found: Sequence[Found]) -> tuple[str, ...]:
    made = [each.prediction for each in found]
    errors = [
        100 * (each.predicted - (each.truth or 0)) / (each.truth or 1) for each in made
    ]
    sizes = [abs(error) for error in errors]
    low = sum((each.truth or 0) > each.high for each in made)
    high = sum((each.truth or 0) < each.low for each in made)
    inside = 100 * (1 - (low + high) / max(1, len(made)))
    worst = max(errors, key=abs, default=0.0)
    return (
        str(len(made)),
        f"{percentile(sizes, 0.5):.2f}",
        f"{percentile(sizes, 0.9):.2f}",
        f"{worst:+.1f}",
        f"{inside:.1f}",
        str(low),
        str(high),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code."""
    parser = argparse.ArgumentParser("bench.situations", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--first-calls", action="store_true")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args(arguments)
    files: list[Path] = []
    for path in options.paths:
        files += sorted(path.rglob("*.jsonl*")) if path.is_dir() else [path]
    found: list[Found] = []
    notes: list[str] = []
    once: set[tuple[object, ...]] = set()
    for file in files:
        try:
            for each in found_in(file):
                key = (each.group, each.place, *each.prediction)
                if key not in once:
                    once.add(key)
                    found.append(each)
        except UllageError as error:
            notes.append(f"{file.name}: {error}")
    if not options.first_calls:
        found = [
            each._replace(group=Group("recorded calls", "first call"))
            if each.group.source.startswith("first calls")
            else each
            for each in found
        ]
    if options.misses:
        for name, made in ((each.name, each.prediction) for each in found):
            if not made.low <= (made.truth or 0) <= made.high:
                print(
                    f"{name}: {made.situation}: {made.predicted} [{made.low}, {made.high}], {made.truth}"
                )
    table = table_of(found, "By what the call follows on")
    show(table, notes=notes)
    if options.write is not None:
        rows = (row for row in table.rows if int(row[1]) >= FEWEST)
        table = Table(table.title, table.columns, tuple(rows))
        page = with_table(options.write.read_text(encoding="utf-8"), table)
        options.write.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
