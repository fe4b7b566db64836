"""What a call of a program holds beyond its log where nothing was learnt: as measured of its versions.

The rows are in ``models/typical.json``. Those of public logs hold what users had beside the program's own: instruction
files, skills, tools of servers. Those that ``bench.program_overhead`` wrote are of bare installations.

Claude Code puts more back after a compaction than the files and skills that its log shows before 2.1.96: skills of an
earlier session, files that another program changed last, less the list of skills, which is sent again one call later.
Eleven compactions of public sessions held -18,900 to 23,100 tokens (nine of them -1,000 to 23,100), ten more down to
-12,400 by a rule that counted files as half as large. One call later 2,200 to 3,720 tokens came in 11 of 20, and
5,520 in one.
A compaction of qwen-code behind a tool's result takes the list of skills away (2,271 and 2,309 tokens, n = 4), which a
new start of the program sends again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from ullage.events import SentUnlogged
from ullage.meter.policy import VERSION_PART
from ullage.models.facts import facts

_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


class TypicalFirstCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row. ``tokens`` is the median of ``n`` calls, of bare ones the most; ``low`` to ``high`` is meant to hold 95
    in 100."""

    program: str
    since: str
    until: str
    """The versions that were measured, both included."""
    situation: SentUnlogged = "first call"
    wire: str
    provider: str
    model: str
    """In whose tokens the row is."""
    is_subagent: bool = False
    logged: dict[str, int] = msgspec.field(default_factory=dict)
    """The estimate of what these logs held of system prompt and tools, by kind, as in ``FirstCall``."""
    tokens: int
    low: int
    high: int
    n: int
    source: str
    is_bare: bool = False
    """Whether it is of bare installations: a user's has more, such as instruction files and tools of servers."""

    @property
    def versions(self) -> str:
        """The program with the versions that were measured."""
        versions = dict.fromkeys((self.since, self.until))
        return f"{self.program} {' to '.join(versions)}".strip()


class NearestRows(NamedTuple):
    """The rows of the versions that are nearest to one; whether it is among them, and how far away it is."""

    rows: Sequence[TypicalFirstCall]
    is_measured: bool
    gap: int


_rows: Final = msgspec.json.Decoder(list[TypicalFirstCall])


@lru_cache(maxsize=1)
def typical_rows() -> Sequence[TypicalFirstCall]:
    """All rows."""
    return facts("typical", _rows)


@lru_cache(maxsize=64)
def nearest_rows(
    program: str,
    *,
    is_subagent: bool,
    situation: SentUnlogged = "first call",
    is_elsewhere: bool = False,
) -> Sequence[NearestRows]:
    """Those of users and those of bare installations of a program, whose name may have a version behind it.

    Without a version those of the newest; a subagent that was not measured is taken to be like its program. Users were
    measured at the providers that the programs are made for; ``is_elsewhere`` puts what is bare first.
    """
    name = program.partition(" ")[0]
    of_program = [
        row for row in typical_rows() if (row.program, row.situation) == (name, situation)
    ]
    own = [row for row in of_program if row.is_subagent == is_subagent]
    rows = own or of_program
    found: list[NearestRows] = []
    for is_bare in (is_elsewhere, not is_elsewhere):
        alike = [row for row in rows if row.is_bare == is_bare]
        if alike:
            found.append(_nearest(alike, program, is_own=bool(own)))
            if found[-1].is_measured and not is_bare:
                break  # users have more than what is bare
    return found


def _nearest(
    rows: Sequence[TypicalFirstCall], program: str, *, is_own: bool
) -> NearestRows:
    version = version_number(program) or max(version_number(row.until) for row in rows)
    gaps = [_gap(row, version) for row in rows]
    nearest = [row for row, gap in zip(rows, gaps, strict=True) if gap == min(gaps)]
    return NearestRows(nearest, is_own and not min(gaps), min(gaps))


def version_number(text: str) -> int:
    """The first version in a text as a number that grows with it; 0 without one."""
    found = _VERSION.search(text)
    number = 0
    for part in found.groups(default="0") if found is not None else ():
        number = VERSION_PART * number + min(int(part), VERSION_PART - 1)
    return number


def _gap(row: TypicalFirstCall, version: int) -> int:
    since, until = version_number(row.since), version_number(row.until)
    return max(since - version, version - until, 0)
