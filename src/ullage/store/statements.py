"""The SQL of the store, read from the files beside this one."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Migration(NamedTuple):
    """The step to ``version`` from the one before it."""

    version: int
    name: str
    script: str


@cache
def statements() -> dict[str, str]:
    """Every statement of ``statements.sql`` by its name."""
    text = files("ullage.store").joinpath("statements.sql").read_text("utf-8")
    named = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: body.strip().removesuffix(";") for name, body in zip(named[::2], named[1::2], strict=True)}


@cache
def schema() -> str:
    """The script that makes a new database."""
    return files("ullage.store").joinpath("schema.sql").read_text("utf-8")


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps in order, the first from an empty database to version 1."""
    found = []
    for file in files("ullage.store").joinpath("migrations").iterdir():
        number = re.match(r"(\d{4})_(\w+)\.sql$", file.name)
        if number:
            found.append(Migration(int(number[1]), number[2], file.read_text("utf-8")))
    return tuple(sorted(found))
