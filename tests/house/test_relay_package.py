"""``ullage_relay`` starts without the site's packages: it imports the standard library alone."""

import ast
import sys
from pathlib import Path

import pytest

from tests.house.layers import cycle, imports, sources

SOURCE = Path(__file__).parents[2] / "src" / "ullage_relay"
FILES = {path.name: path.read_text("utf-8") for path in sorted(SOURCE.glob("*.py"))}


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_the_relay_imports_only_the_standard_library(file: str) -> None:
    names = {found.module.partition(".")[0] for found in imports(ast.parse(FILES[file]))}
    assert names - sys.stdlib_module_names <= {"ullage_relay"}


def test_no_files_of_the_relay_import_each_other_in_a_circle() -> None:
    assert cycle(FILES, "ullage_relay") == []


def test_the_wheel_holds_the_relay() -> None:
    project = (SOURCE.parents[1] / "pyproject.toml").read_text("utf-8")
    assert '"src/ullage_relay"]' in project


def test_of_the_relay_the_runtime_imports_the_frames_alone() -> None:
    found = set()
    for file, source in sources().items():
        if file.startswith("runtime/"):
            found |= {each.module for each in imports(ast.parse(source))}
    names = {name for name in found if name.startswith("ullage_relay")}
    assert names <= {"ullage_relay.frames"}
