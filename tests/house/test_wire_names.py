"""A wire's name is compared with in few files: what a wire does differently stands in its folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.layers import sources
from ullage.codec.wires import WIRES
from ullage.models.providers import WIRES as SENDABLE

EXCEPTIONS = {
    "reasoning.py": "rules by wire, provider and model, each with its source",
    "cli/evaluate.py": "names of groups in the accuracy report",
    "importers/opencode_parts.py": "which wire another program used",
    "codec/draft.py": "usage reports of a stream",
    "runtime/calling.py": "the output that a body must name",
    "runtime/compacting.py": "the output that a body must name",
    "wire/discovery.py": "how models are listed",
    "wire/endpoints.py": "the version in an address",
}
"""Files below ``src/ullage`` that compare with the name of a wire, and what for."""


def compared(source: str) -> Iterator[str]:
    """Names of wires that something called ``wire`` is compared with."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare) or "wire" not in ast.unparse(node.left):
            continue
        for literal in ast.walk(node):
            if isinstance(literal, ast.Constant) and isinstance(literal.value, str) and literal.value in WIRES:
                yield literal.value


def test_only_these_files_compare_with_a_wires_name() -> None:
    found = {file for file, source in sources().items() if any(compared(source))}
    assert found == EXCEPTIONS.keys()


def test_the_provider_table_knows_the_wires_that_have_a_folder() -> None:
    assert set(SENDABLE) == WIRES.keys()
