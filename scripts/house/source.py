"""The Python files of the packages in ``src``, each read and parsed once for all rules."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).parents[2] / "src"


class Source(NamedTuple):
    """A Python file: its path below the folder it was read from, and every node of its tree."""

    name: str
    nodes: tuple[ast.AST, ...]


def parsed(name: str, text: str) -> Source:
    """A file with this name and text."""
    return Source(name, tuple(ast.walk(ast.parse(text))))


def read(folder: Path) -> tuple[Source, ...]:
    """Every file in a folder."""
    return tuple(
        parsed(path.relative_to(folder).as_posix(), path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.py"))
    )


@cache
def of_all_packages() -> tuple[Source, ...]:
    """Every file below ``src``."""
    return read(SRC)


def of_ullage() -> tuple[Source, ...]:
    """Every file of the package ``ullage``, by its path in it."""
    return tuple(
        source._replace(name=source.name.removeprefix("ullage/"))
        for source in of_all_packages()
        if source.name.startswith("ullage/")
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
