"""A wire's name is compared with in few files: what a wire does differently stands in its folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.layers import sources
from ullage.codec.wires import WIRES

EXCEPTIONS = {
    "reasoning.py": "rules by wire, provider and model, each with its source",
    "importers/opencode.py": "which wire another program used",
}
"""Files below ``src/ullage`` that compare with the name of a wire, and what for."""


def compared(source: str) -> Iterator[str]:
    """Names of wires that something called ``wire`` is compared with."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare) or "wire" not in ast.unparse(node.left):
            continue
        for literal in ast.walk(node):
            if (
                isinstance(literal, ast.Constant)
                and isinstance(literal.value, str)
                and literal.value in WIRES
            ):
                yield literal.value


def test_only_these_files_compare_with_a_wires_name() -> None:
    found = {file for file, source in sources().items() if any(compared(source))}
    assert found == EXCEPTIONS.keys()
