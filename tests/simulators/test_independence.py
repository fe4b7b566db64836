import ast
import sys
from pathlib import Path

import pytest
import ullage_simulators

from tests.house.layers import cycle, imports
from tests.processes import run_python

PACKAGE = Path(ullage_simulators.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
ALLOWED = {"ullage_simulators", "starlette", "uvicorn"}


@pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_a_simulator_imports_its_own_package_and_its_server_alone(path: Path) -> None:
    names = {
        found.module.partition(".")[0]
        for found in imports(ast.parse(path.read_text("utf-8")))
    }
    assert names - sys.stdlib_module_names <= ALLOWED


def test_no_file_imports_itself_in_a_circle() -> None:
    files = {
        path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in FILES
    }
    assert cycle(files, "ullage_simulators") == []


def test_importing_the_simulators_loads_nothing_of_ullage() -> None:
    code = "import sys, ullage_simulators.command; print([name for name in sys.modules if name.startswith('ullage.')])"
    done = run_python("-c", code, check=True)
    assert done.stdout.strip() == "[]"
