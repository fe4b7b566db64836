"""What a bench found, as tables, for a terminal and for a page that has a place for them."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of text. The first column is words, the others are numbers, set to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """As a Markdown table with its title above."""
        rule = "|".join(["---", *["---:"] * (len(self.columns) - 1)])
        lines = [f"| {' | '.join(row)} |" for row in (self.columns, *self.rows)]
        return "\n".join([f"**{self.title}**", "", lines[0], f"|{rule}|", *lines[1:]])

    def text(self) -> str:
        rows = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(pairs)
            )
            for pairs in (tuple(zip(row, widths, strict=True)) for row in rows)
        ]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in lines)])


def named(columns: str) -> tuple[str, ...]:
    """The names of columns, which stand between bars."""
    return tuple(name.strip() for name in columns.split("|"))


def show(*tables: Table, notes: Iterable[str] = ()) -> None:
    """Print what a bench found, and on which machine."""
    shown = [*(table.text() for table in tables), *notes, f"Machine: {machine()}."]
    print("\n\n".join(shown))


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


def us(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def with_table(page: str, table: Table) -> str:
    """The page with this table in the place of the one of the same title. Raises ``ValueError`` if it has none."""
    standing = re.compile(_place_of(table.title), re.MULTILINE)
    page, replaced = standing.subn(lambda _: table.markdown() + "\n", page)
    if not replaced:
        raise ValueError(f"The page has no table with the title {table.title!r}: add it.")
    return page


def table_of(page: str, title: str) -> list[tuple[str, ...]]:
    """The rows of the table with this title on a page; none where it has none."""
    found = re.search(_place_of(title), page, re.MULTILINE)
    lines = found.group().splitlines()[4:] if found else []
    return [named(line.strip("| ")) for line in lines if line]


def _place_of(title: str) -> str:
    return rf"^{re.escape(f'**{title}**')}\n\n(\|.*(\n|$))+"


def write_tables(path: Path, tables: Iterable[Table]) -> None:
    """Put each table into the page at ``path``, where all other text is written by hand. Raises as ``with_table``."""
    page = path.read_text(encoding="utf-8")
    for table in tables:
        page = with_table(page, table)
    path.write_text(page, encoding="utf-8")


def machine() -> str:
    """Processors, Python and system, and how busy the machine was."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    busy = "" if load is None else f", load average {load:.1f} at the end"
    return (
        f"{_processor()}, {os.cpu_count()} processors, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}{busy}"
    )


def _processor() -> str:
    try:
        names = re.findall(
            r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
        )
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "an unnamed processor"


def ratio(value: float, base: float) -> str:
    """How many times ``base`` a value is, with the digits that mean something."""
    times = value / base
    return (
        f"{times:,.0f} ×"
        if times >= 20
        else f"{times:.1f} ×"
        if times >= 2
        else f"{times:.2f} ×"
    )
