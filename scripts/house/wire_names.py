"""A wire's name is compared with in few files: what a wire does differently stands in its folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from scripts.house.source import Source, unneeded
from ullage.codec.wires import WIRES

EXCEPTIONS = {
    "ullage/reasoning.py": "rules by wire, provider and model, each with its source",
    "ullage_programs/opencode/log_messages.py": "which wire another program used",
}
"""Files that compare with the name of a wire, and what for."""


def compared(source: Source) -> Iterator[str]:
    """Names of wires that something called ``wire`` is compared with."""
    for node in source.nodes:
        if not isinstance(node, ast.Compare) or "wire" not in ast.unparse(node.left):
            continue
        for literal in ast.walk(node):
            if (
                isinstance(literal, ast.Constant)
                and isinstance(literal.value, str)
                and literal.value in WIRES
            ):
                yield literal.value


def faults(files: Sequence[Source]) -> Iterator[str]:
    """Other files that compare with a wire's name, and exceptions that are not needed."""
    found = {source.name for source in files if any(compared(source))}
    for name in sorted(found - EXCEPTIONS.keys()):
        yield f"{name}: compares with the name of a wire; what a wire does differently stands in its folder"
    yield from unneeded(EXCEPTIONS, found, "EXCEPTIONS of scripts/house/wire_names.py")
