import sys
from pathlib import Path

from tests.processes import run_python

LIST_WHAT_IMPORT_LOADS = """
import sys
before = set(sys.modules)
from ullage import Meter
sys.stderr.write(" ".join(sorted(sys.modules.keys() - before)))
"""

HEAVY = {
    "asyncio", "concurrent.futures", "ctypes", "email", "http", "multiprocessing", "socket", "sqlite3", "ssl",
    "subprocess", "tempfile", "unittest", "urllib.request", "xml", "rich", "pydantic", "httpx", "httpx2", "splintr",
    "ullage.cli", "ullage.importers", "ullage.store",
}  # fmt: skip
"""What only a program that talks to the world needs, and what would weigh on a loop that only wants a Meter."""

PACKAGES = {"msgspec", "ullage", "ullage_programs", "typing_extensions"}
"""``typing_extensions`` is msgspec's, where something else has installed it."""


def loaded(place: Path) -> tuple[set[str], str]:
    done = run_python("-c", LIST_WHAT_IMPORT_LOADS, cwd=place, check=True)
    return set(done.stderr.split()), done.stdout


def test_importing_the_package_loads_no_package_but_msgspec(tmp_path: Path) -> None:
    modules, _ = loaded(tmp_path)
    assert {
        name.partition(".")[0] for name in modules
    } - sys.stdlib_module_names <= PACKAGES


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    modules, _ = loaded(tmp_path)
    assert modules & HEAVY == set()


def test_importing_the_package_prints_and_creates_nothing(tmp_path: Path) -> None:
    _, printed = loaded(tmp_path)
    assert printed == ""
    assert list(tmp_path.iterdir()) == []
