"""What earlier sessions' first calls held beyond their logs, for the commands that read logs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from ullage.cli.listing import Column, columns
from ullage.display.text import Line, Span, number, wrapped
from ullage.errors import UllageError
from ullage.events import FirstCall
from ullage.runtime.layers import environment_layer
from ullage.runtime.settings import Settings
from ullage.store.overhead import OverheadStore


def is_learnt(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether first calls are stored and used: the variable ``ULLAGE_OVERHEAD``. Raises ``SettingError``."""
    own = {"ULLAGE_OVERHEAD": environment.get("ULLAGE_OVERHEAD", "")}
    return bool(environment_layer(own).values.get("overhead", Settings().overhead))


def usable_overhead() -> tuple[FirstCall, ...]:
    """The stored first calls, unless they are not to be used. Raises ``SettingError``."""
    return stored_overhead() if is_learnt() else ()


def stored_overhead(store: OverheadStore | None = None) -> tuple[FirstCall, ...]:
    """The stored first calls. Files that can't be read are named on standard error: no reading needs them."""
    stored = (store or OverheadStore()).read()
    if stored.problem:
        print(f"ullage: {stored.problem}", file=sys.stderr)
    return stored.calls


def remember_first_call(
    call: FirstCall | None, store: OverheadStore | None = None
) -> None:
    """Store what a session's first call shows for later sessions. That it can't be written is no error."""
    if call is None or not is_learnt():
        return
    try:
        (store or OverheadStore()).add(call)
    except UllageError as problem:
        print(f"ullage: {problem}", file=sys.stderr)


class ProgramOverhead(NamedTuple):
    """What the first calls of one program and model held beyond their logs: the number of sessions, and tokens."""

    program: str
    model: str
    provider: str
    unlogged: str
    """What its logs lack; empty for an agent whose system prompt and tools are known."""
    sessions: int
    directories: int
    least: int
    median: int
    most: int


def overheads(calls: Iterable[FirstCall]) -> list[ProgramOverhead]:
    """The first calls by program and model, in the order of their names."""
    groups: dict[tuple[str, str, str, str], list[FirstCall]] = {}
    for call in calls:
        key = (call.program, call.model, call.provider, call.unlogged)
        groups.setdefault(key, []).append(call)
    found: list[ProgramOverhead] = []
    for key in sorted(groups):
        tokens = [call.tokens for call in groups[key]]
        directories = {call.directory for call in groups[key]}
        middle = round(median(tokens))
        found.append(
            ProgramOverhead(
                *key, len(tokens), len(directories), min(tokens), middle, max(tokens)
            )
        )
    return found


EXPLAINED = (
    "Tokens: what the first call of a session held beyond the estimate of its log. For an agent whose system "
    "prompt and tools are known it is how far their estimate was off. Median, least and most."
)


def overhead_table(found: Sequence[ProgramOverhead], width: int) -> list[Line]:
    """A table of them."""
    table = [
        Column("Program"),
        Column("model"),
        Column("sessions", right=True),
        Column("tokens", right=True),
        Column("from", right=True),
        Column("to", right=True),
    ]
    rows: list[list[str]] = []
    for each in found:
        row = [
            each.program or "unnamed",
            each.model,
            number(each.sessions),
            number(each.median),
            number(each.least),
            number(each.most),
        ]
        rows.append(row)
    lines: list[Line] = [(), (Span("First calls", "title"),), ()]
    lines.extend(columns(table, rows, width))
    lines.append(())
    for line in wrapped(EXPLAINED, width):
        lines.append((Span(line, "dim"),))
    return lines
