"""What a second session of a program is known to hold before its first call, on the sessions of this machine.

    HOME=DIR uv run python -m bench.program_overhead

Goes through the sessions of all programs in their usual places, in the order in which they were begun. Each one's first
call is estimated twice: without what earlier sessions showed, as before, and with it. Nothing is stored.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench.results import Table
from ullage.errors import InputError
from ullage.events import FirstCall
from ullage.importers import ImportedSession, find_sessions, read
from ullage.meter.meter import Meter
from ullage.meter.overhead import name_of
from ullage.meter.track import Step

CIRCUMSTANCES: Final = (
    "same directory",
    "another directory",
    "another version",
    "another model",
)


TITLE: Final = "First calls of programs with earlier sessions"
COLUMNS: Final = (
    "program, and the nearest earlier session",
    *("n", "median before", "median", "worst", "inside"),
)


class Measured(NamedTuple):
    """One session's first call without and with what earlier sessions showed."""

    program: str
    circumstance: str
    before: Step
    after: Step


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
        and each.unlogged == call.unlogged
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


def measured(sessions: Sequence[ImportedSession]) -> list[Measured]:
    """The first call of every session that an earlier one of its program says something of."""
    taught: list[tuple[FirstCall, ImportedSession, Step]] = []
    for imported in sessions:
        meter = metered(imported)
        if meter.first_call is not None:
            taught.append((meter.first_call, imported, meter.steps[0]))
    taught.sort(key=lambda each: each[0].at)
    found: list[Measured] = []
    for place, (call, imported, before) in enumerate(taught):
        earlier = [each[0] for each in taught[:place]]
        circumstance = circumstance_of(call, earlier)
        if circumstance:
            after = metered(imported, earlier).steps[0]
            found.append(Measured(name_of(call.program), circumstance, before, after))
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


def main() -> None:
    """Print the table for the sessions below ``HOME``."""
    calls = measured(sessions_here())
    if not calls:
        print(
            f"No program has two sessions with reports below {Path(os.environ['HOME'])}."
        )
        return
    print(table(calls).text())


if __name__ == "__main__":
    main()
