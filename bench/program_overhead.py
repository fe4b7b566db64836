"""How close the estimate of a program's first call is: cold, and with what earlier sessions of the program showed.

    HOME=DIR uv run python -m bench.program_overhead          sessions in the programs' usual places
    uv run python -m bench.program_overhead DIR               all logs below a directory, packed by gzip or not
    uv run python -m bench.program_overhead DIR --rows        rows for ``typical.json``, one for each version
    uv run python -m bench.program_overhead DIR --write       puts them there, in the place of those it wrote before

Each first call is estimated twice: cold, with nothing but what ships (``ullage/models/typical.json``), and warm, after
the sessions that were begun before it, as if all were of one home. Nothing is stored.

The rows are of bare sessions: what ``bench.clients --keep DIR`` leaves, for programs of which there are no public logs.
Each has the largest first call: at a terminal, as people run it, a program sends up to a fifth more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import msgspec

from bench.results import Table
from ullage.errors import InputError
from ullage.events import FirstCall
from ullage.importers import ImportedSession, find_sessions, read
from ullage.meter.meter import Meter
from ullage.meter.overhead import name_of
from ullage.meter.track import Step
from ullage.meter.typical import TypicalFirstCall, typical_rows
from ullage.models import facts

CIRCUMSTANCES: Final = (
    "same directory",
    "another directory",
    "another version",
    "another model",
)


TITLE: Final = "First calls of programs with earlier sessions"
COLUMNS: Final = (
    "program, and the nearest earlier session",
    *("n", "median cold", "median", "worst", "inside"),
)
COLD: Final = "First calls of programs that nothing was learnt of"
COLD_COLUMNS: Final = ("program", "n", "median", "worst", "inside")

BARE: Final = "at the simulators"
"""The source of rows that this bench wrote."""

LESS, MORE = 0.75, 1.6
"""From where to where users' sessions of Claude Code and Codex are, in shares of the median of their version."""


class Measured(NamedTuple):
    """One session's first call without and with what earlier sessions showed."""

    program: str
    circumstance: str
    before: Step
    after: Step


class Taught(NamedTuple):
    """A session's first call, and the cold estimate of it."""

    call: FirstCall
    imported: ImportedSession
    cold: Step


def metered(imported: ImportedSession, earlier: Sequence[FirstCall] = ()) -> Meter:
    """The session, told of these earlier ones."""
    meter = Meter(overhead=earlier)
    for event in imported.events:
        meter.apply(event)
    return meter


def circumstance_of(call: FirstCall, earlier: Sequence[FirstCall]) -> str:
    """Under which other circumstances the nearest earlier session ran; empty where there was none."""
    kin = [
        each
        for each in earlier
        if name_of(each.program) == name_of(call.program)
        and each.is_subagent == call.is_subagent
    ]
    same_model = [
        each for each in kin if (each.provider, each.model) == (call.provider, call.model)
    ]
    same_version = [each for each in same_model if each.program == call.program]
    if any(each.directory == call.directory for each in same_version):
        return CIRCUMSTANCES[0]
    if same_version:
        return CIRCUMSTANCES[1]
    if same_model:
        return CIRCUMSTANCES[2]
    return CIRCUMSTANCES[3] if kin else ""


def first_calls(sessions: Sequence[ImportedSession]) -> list[Taught]:
    """The sessions whose first call was reported, in the order in which they were made."""
    taught: list[Taught] = []
    for imported in sessions:
        meter = metered(imported)
        if meter.first_call is not None:
            taught.append(Taught(meter.first_call, imported, meter.steps[0]))
    return sorted(taught, key=lambda each: each.call.at)


def measured(taught: Sequence[Taught]) -> list[Measured]:
    """The first call of every session that an earlier one of its program says something of."""
    found: list[Measured] = []
    for place, (call, imported, cold) in enumerate(taught):
        earlier = [each.call for each in taught[:place]]
        circumstance = circumstance_of(call, earlier)
        if circumstance:
            after = metered(imported, earlier).steps[0]
            found.append(Measured(name_of(call.program), circumstance, cold, after))
    return found


def sessions_here() -> list[ImportedSession]:
    """The sessions in the usual places that can be read."""
    sessions: list[ImportedSession] = []
    for found in find_sessions().places:
        try:
            sessions.append(read(found.path, session=found.session))
        except InputError:
            continue
    return sessions


def sessions_below(directory: Path) -> list[ImportedSession]:
    """The logs of programs below a directory, however deep; those of their subagents are sessions of their own."""
    sessions: list[ImportedSession] = []
    with tempfile.TemporaryDirectory(prefix="ullage-logs-") as unpacked:
        for path in _unpacked(directory, Path(unpacked)):
            try:
                imported = read(path)
            except InputError:
                continue
            if imported.format not in ("plain", "ullage"):
                sessions.append(imported)
    return sessions


def _unpacked(directory: Path, beside: Path) -> Iterator[Path]:
    """Every file that may be a log; what is packed is unpacked into another directory."""
    for number, path in enumerate(sorted(directory.rglob("*"))):
        if path.suffix == ".gz":
            plain = beside / str(number) / path.stem
            plain.parent.mkdir()
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            yield plain
        elif path.suffix in (".jsonl", ".json", ".db") and path.is_file():
            yield path


def rows_of(taught: Sequence[Taught]) -> list[TypicalFirstCall]:
    """A row for each program, version and model whose log lacks something."""
    kinds: dict[tuple[object, ...], list[FirstCall]] = {}
    wires: dict[str, str] = {}
    for call, imported, _ in taught:
        if call.unlogged:
            kind = call.program, call.is_subagent, call.provider, call.model
            kinds.setdefault(kind, []).append(call)
            wires[call.model] = getattr(imported.events[0], "wire", "")
    rows: list[TypicalFirstCall] = []
    for calls in kinds.values():
        call = max(calls, key=lambda each: each.tokens)
        tokens = round(call.tokens)
        program, _, version = call.program.partition(" ")
        rows.append(
            TypicalFirstCall(
                program=program,
                since=version,
                until=version,
                wire=wires[call.model],
                provider=call.provider,
                model=call.model,
                is_subagent=call.is_subagent,
                logged=call.logged,
                tokens=tokens,
                low=round(LESS * tokens),
                high=round(MORE * tokens),
                n=len(calls),
                source=BARE,
                is_bare=True,
            )
        )
    return rows


def table_with(rows: Sequence[TypicalFirstCall]) -> str:
    """The table that ships, with these rows in the place of the first calls that the bench wrote of these programs."""
    written = {(row.program, row.situation, row.is_bare) for row in rows}
    kept = [
        row
        for row in typical_rows()
        if (row.program, row.situation, row.is_bare) not in written
    ]
    both = sorted(
        [*kept, *rows], key=lambda row: (row.program, row.situation, row.is_subagent)
    )
    lines = [json.dumps(msgspec.to_builtins(row)) for row in both]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def cold_table(taught: Sequence[Taught]) -> Table:
    """One row for each program."""
    rows: list[tuple[str, ...]] = []
    programs = sorted({name_of(each.call.program) for each in taught})
    for program in [*programs, ""]:
        steps = [
            each.cold
            for each in taught
            if name_of(each.call.program) == (program or name_of(each.call.program))
        ]
        errors = [abs(step.error_percent or 0.0) for step in steps]
        inside = sum(step.is_inside for step in steps)
        figures = (
            f"{median(errors):.1f}",
            f"{max(errors):.1f}",
            f"{inside} of {len(steps)}",
        )
        rows.append((program or "**all**", str(len(steps)), *figures))
    return Table(COLD, COLD_COLUMNS, tuple(rows))


def row(name: str, calls: Sequence[Measured]) -> tuple[str, ...]:
    """A row of the table: errors in per cent of what was reported."""
    before = [abs(each.before.error_percent or 0.0) for each in calls]
    after = [abs(each.after.error_percent or 0.0) for each in calls]
    inside = 100 * sum(each.after.is_inside for each in calls) / len(calls)
    errors = f"{median(before):.1f}", f"{median(after):.2f}", f"{max(after):.1f}"
    return name, str(len(calls)), *errors, f"{inside:.0f}"


def table(calls: Sequence[Measured]) -> Table:
    """One row for each program and circumstance."""
    rows: list[tuple[str, ...]] = []
    for circumstance in CIRCUMSTANCES:
        of_it = [each for each in calls if each.circumstance == circumstance]
        for program in sorted({each.program for each in of_it}):
            chosen = [each for each in of_it if each.program == program]
            rows.append(row(f"{program}, {circumstance}", chosen))
        if of_it:
            rows.append(row(f"**all, {circumstance}**", of_it))
    return Table(TITLE, COLUMNS, tuple(rows))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables for the sessions below a directory, else below ``HOME``; or rows of the table that ships."""
    options = argparse.ArgumentParser(prog="bench.program_overhead")
    options.add_argument("directory", nargs="?", type=Path)
    options.add_argument("--rows", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args(arguments)
    directory: Path | None = chosen.directory
    taught = first_calls(
        sessions_here() if directory is None else sessions_below(directory)
    )
    if not taught:
        print(f"No session with reports below {directory or os.environ['HOME']}.")
        return
    if chosen.rows or chosen.write:
        page = table_with(rows_of(taught))
        print(page)
        if chosen.write:
            place = Path(facts.__file__).with_name("typical.json")
            place.write_text(page, encoding="utf-8")
        return
    print(cold_table(taught).text())
    print(table(measured(taught)).text())


if __name__ == "__main__":
    main()
