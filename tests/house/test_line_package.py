"""``ullage_line`` starts with each message of Claude Code: it imports nothing that takes long to load."""

import ast
from pathlib import Path

import pytest

from tests.house.layers import cycle, imports

SOURCE = Path(__file__).parents[2] / "src" / "ullage_line"
FILES = {path.name: path.read_text("utf-8") for path in sorted(SOURCE.glob("*.py"))}

MODULES = frozenset({"__future__", "io", "json", "math", "os", "re", "stat", "sys"})
"""``json`` loads ``re`` itself; ``io`` and ``math`` are part of the interpreter."""
MORE = {"compose.py": {"subprocess"}, "hook_events.py": {"time"}}
"""``subprocess`` is loaded only where the user has an earlier status line."""


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_the_line_imports_only_what_loads_quickly(file: str) -> None:
    names = {found.module.partition(".")[0] for found in imports(ast.parse(FILES[file]))}
    assert names - MODULES - MORE.get(file, set()) <= {"ullage_line"}


def test_no_files_of_the_line_import_each_other_in_a_circle() -> None:
    assert cycle(FILES, "ullage_line") == []


def test_the_wheel_holds_both_packages() -> None:
    project = (SOURCE.parents[1] / "pyproject.toml").read_text("utf-8")
    assert '"src/ullage", "src/ullage_line"' in project
