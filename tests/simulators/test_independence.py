import ast
import sys
from pathlib import Path

import pytest

import ullage.simulators
from tests.house.layers import imports

ROOM = Path(ullage.simulators.__file__).parent
FILES = sorted(ROOM.rglob("*.py"))
ALLOWED = {"starlette", "uvicorn"}
NEUTRAL = {"ullage.errors", "ullage.bounds", "ullage.envelope"}
"""Modules of the package that say nothing of a provider's rules: errors, and the caps on what is read."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOM).as_posix())
def test_a_double_imports_nothing_of_the_package_that_knows_a_provider(path: Path) -> None:
    names = {found.module for found in imports(ast.parse(path.read_text("utf-8")))}
    own = {name for name in names if name.startswith("ullage")}
    assert {name for name in own if not name.startswith("ullage.simulators")} <= NEUTRAL
    assert {name.partition(".")[0] for name in names - own} - sys.stdlib_module_names <= ALLOWED


def test_a_double_reads_no_file_of_the_package() -> None:
    for path in FILES:
        text = path.read_text("utf-8")
        assert "ullage.codec" not in text
        assert "ullage.tokens" not in text
        assert "ullage.meter" not in text
