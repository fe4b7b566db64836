"""SQL in files beside the code: named statements, and migrations in their order."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple


class Migration(NamedTuple):
    """The step to ``version`` from the one before it."""

    version: int
    name: str
    script: str


def named_statements(package: str) -> dict[str, str]:
    """Every statement of the package's ``statements.sql`` by its name."""
    text = files(package).joinpath("statements.sql").read_text("utf-8")
    named = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    found = {}
    for name, body in zip(named[::2], named[1::2], strict=True):
        found[name] = body.strip().removesuffix(";")
    return found


def migrations_in(package: str) -> tuple[Migration, ...]:
    """All steps of the package's ``migrations/`` in order, the first from an empty database."""
    found = []
    for file in files(package).joinpath("migrations").iterdir():
        number = re.match(r"(\d{4})_(\w+)\.sql$", file.name)
        if number:
            found.append(Migration(int(number[1]), number[2], file.read_text("utf-8")))
    return tuple(sorted(found))
