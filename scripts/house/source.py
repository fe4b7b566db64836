"""The Python files of the distributions in ``packages``, each read and parsed once for all rules."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGES = Path(__file__).parents[2] / "packages"


class Source(NamedTuple):
    """A Python file: its path below the folder it was read from, and every node of its tree."""

    name: str
    nodes: tuple[ast.AST, ...]


def parsed(name: str, text: str) -> Source:
    return Source(name, tuple(ast.walk(ast.parse(text))))


def read(folder: Path) -> tuple[Source, ...]:
    """Every file in a folder."""
    return tuple(
        parsed(path.relative_to(folder).as_posix(), path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.py"))
    )


@cache
def of_all_packages() -> tuple[Source, ...]:
    """Every file of every distribution, by its module's path, as in ``ullage/meter/fold.py``."""
    return tuple(
        source for folder in sorted(PACKAGES.glob("*/src")) for source in read(folder)
    )


def of_ullage() -> tuple[Source, ...]:
    """The same without the simulators, which share no rule of ours and no mistake."""
    return tuple(
        source
        for source in of_all_packages()
        if not source.name.startswith("ullage_simulators/")
    )


def of_programs() -> tuple[Source, ...]:
    """Every file of the package ``ullage_programs``, by its path below ``src``."""
    return tuple(
        source
        for source in of_all_packages()
        if source.name.startswith("ullage_programs/")
    )


def unneeded(table: Iterable[str], found: set[str], where: str) -> Iterator[str]:
    """Exceptions from a rule that no file needs any more."""
    for name in sorted(set(table) - found):
        yield f"{name}: needs no exception; remove it from {where}"
