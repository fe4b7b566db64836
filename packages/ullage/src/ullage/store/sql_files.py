"""SQL in files beside the code: named statements."""

from __future__ import annotations

import re
from importlib.resources import files


def named_statements(package: str) -> dict[str, str]:
    """Every statement of the package's ``statements.sql`` by its name."""
    text = files(package).joinpath("statements.sql").read_text("utf-8")
    named = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    found = {}
    for name, body in zip(named[::2], named[1::2], strict=True):
        found[name] = body.strip().removesuffix(";")
    return found
