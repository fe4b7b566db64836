"""What installing Ullage brings, without an extra and with each: packages, and megabytes before bytecode.

    uv run python -m bench.install_sizes [--write]

Each is installed from wheels built here into an environment that is empty before; the packages it needs come from the
index. ``--write`` puts the tables into ``docs/why/dependencies.md``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from bench.environments import CHECKOUT
from bench.results import Table, show, write_tables

PAGE = CHECKOUT / "docs" / "why" / "dependencies.md"


def main() -> None:
    project = tomllib.loads((CHECKOUT / "packages/ullage/pyproject.toml").read_text())
    wanted = ["ullage", "ullage-simulators"]
    wanted += [
        f"ullage[{extra}]" for extra in project["project"]["optional-dependencies"]
    ]
    with tempfile.TemporaryDirectory() as directory:
        built = Path(directory, "built")
        _run("uv", "build", "--all-packages", "--quiet", "--out-dir", str(built))
        tables = (files(built), installs(wanted, built, Path(directory, "environment")))
    show(*tables)
    if "--write" in sys.argv[1:]:
        write_tables(PAGE, tables)


def files(built: Path) -> Table:
    """The wheel and the source distribution of each distribution."""
    rows = []
    for wheel in sorted(built.glob("*.whl")):
        name, version, _ = wheel.name.split("-", 2)
        source = built / f"{name}-{version}.tar.gz"
        sizes = [f"{path.stat().st_size / 1e3:,.0f} kB" for path in (wheel, source)]
        rows.append((f"`{name.replace('_', '-')}`", *sizes))
    return Table("Files", ("distribution", "wheel", "source"), tuple(rows))


def installs(wanted: list[str], built: Path, place: Path) -> Table:
    """What an environment holds after each requirement was installed into it, when it was empty."""
    rows = []
    for requirement in wanted:
        print(f"installing {requirement} …", file=sys.stderr, flush=True)
        _run("uv", "venv", "--quiet", "--clear", str(place))
        into = ("--quiet", "--python", str(place), "--find-links", str(built))
        _run("uv", "pip", "install", *into, requirement)
        (packages,) = place.glob("lib/python*/site-packages")
        count = len(list(packages.glob("*.dist-info")))
        size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
        rows.append((f"`{requirement}`", f"{count}", f"{size / 1e6:,.0f} MB"))
    return Table("Installed", ("install", "packages", "size"), tuple(rows))


def _run(*command: str) -> None:
    subprocess.run(command, cwd=CHECKOUT, check=True)


if __name__ == "__main__":
    main()
