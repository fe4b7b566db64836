import subprocess
import sys
from pathlib import Path

LIST_WHAT_IMPORT_LOADS = """
import sys
before = set(sys.modules)
import ullage
after = {name.partition(".")[0] for name in sys.modules.keys() - before}
sys.stderr.write(" ".join(sorted(after)))
"""

HEAVY_STDLIB = {
    "asyncio", "concurrent", "ctypes", "email", "http", "multiprocessing", "socket", "sqlite3", "ssl", "subprocess",
    "tempfile", "unittest", "urllib", "xml",
}  # fmt: skip
"""What only a program that talks to the world needs."""


def loaded(place: Path) -> tuple[set[str], str]:
    done = subprocess.run(
        [sys.executable, "-c", LIST_WHAT_IMPORT_LOADS], cwd=place, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split()), done.stdout


def test_importing_the_package_loads_msgspec_and_no_other_package(tmp_path: Path) -> None:
    modules, _ = loaded(tmp_path)
    assert modules - sys.stdlib_module_names <= {"msgspec", "ullage"}


def test_importing_the_package_loads_nothing_that_talks_to_the_world(tmp_path: Path) -> None:
    modules, _ = loaded(tmp_path)
    assert modules & HEAVY_STDLIB == set()


def test_importing_the_package_prints_and_creates_nothing(tmp_path: Path) -> None:
    _, printed = loaded(tmp_path)
    assert printed == ""
    assert list(tmp_path.iterdir()) == []
