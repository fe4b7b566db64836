"""The packages beside ``ullage`` start quickly or stand alone: each imports only what is on its list."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.house.layers import MAY_IMPORT, cycle, imports, package_of
from scripts.house.source import SRC, Source, read

FOLDERS = {
    "ullage_programs": SRC / "ullage_programs",
    "ullage_relay": SRC / "ullage_relay",
    "ullage_simulators": SRC.parent / "packages/ullage-simulators/src/ullage_simulators",
}

MODULES: dict[str, frozenset[str]] = {
    # a status line starts with each message of its program; ``json`` loads ``re`` itself
    "ullage_programs": frozenset(
        {
            "__future__",
            "collections",
            "functools",
            "importlib",
            "io",
            "json",
            "os",
            "re",
            "stat",
            "sys",
            "typing",
        }
    ),
    "ullage_relay": sys.stdlib_module_names | {"h11"},
    "ullage_simulators": sys.stdlib_module_names | {"starlette", "uvicorn"},
}
"""The modules that each package may import besides its own."""

MORE = {
    # only where the user has an earlier status line
    "ullage_programs/line/compose.py": {"subprocess"},
    "ullage_programs/claude_code/hook_events.py": {"time"},
    # only of a program whose settings are TOML
    "ullage_programs/settings.py": {"tomllib"},
}
"""Files that may import more."""

READERS = re.compile(r"ullage_programs/\w+/log\w*\.py")
"""Files of a program's folder that read its log with the types of ``ullage``, and nothing that starts loads them."""

READ_WITH = MAY_IMPORT["importers"] | {"importers"}
"""The packages of ``ullage`` that they may import."""


def faults_of(package: str, files: Sequence[Source]) -> Iterator[str]:
    """What the files of one package import that they may not, and the first circle of imports."""
    for source in files:
        name = f"{package}/{source.name}"
        if READERS.fullmatch(name):
            yield from _faults_of_a_reader(name, source)
            continue
        allowed = MODULES[package] | {package} | MORE.get(name, set())
        for found in imports(source.nodes):
            if found.module.partition(".")[0] not in allowed:
                yield f"{name}:{found.line}: may not import {found.module}"
    circle = cycle({source.name: source.nodes for source in files}, package)
    if circle:
        yield f"these import each other in a circle: {' -> '.join(circle)}"


def _faults_of_a_reader(name: str, source: Source) -> Iterator[str]:
    """What a reader of a log imports that ``importers`` may not."""
    packages = {"ullage_programs", "msgspec"} | sys.stdlib_module_names
    for found in imports(source.nodes):
        top, *below = found.module.split(".")
        is_core = top == "ullage" and below and package_of(below[0]) in READ_WITH
        if not is_core and top not in packages:
            yield f"{name}:{found.line}: may not import {found.module}"


def faults_of_the_runtime(files: Sequence[Source]) -> Iterator[str]:
    """What the runtime imports of the relay besides its frames."""
    for source in files:
        if source.name.startswith("runtime/"):
            for found in imports(source.nodes):
                if (
                    found.module.startswith("ullage_relay")
                    and found.module != "ullage_relay.frames"
                ):
                    yield f"{source.name}:{found.line}: may import ullage_relay.frames alone"


def faults(files: Sequence[Source]) -> Iterator[str]:
    """What the packages beside ``ullage`` import, and what its runtime imports of them."""
    for package, folder in FOLDERS.items():
        yield from faults_of(package, _found(folder))
    yield from faults_of_the_runtime(files)


def _found(folder: Path) -> tuple[Source, ...]:
    found = read(folder)
    if not found:
        raise SystemExit(f"{folder} has no Python file: name its place in FOLDERS.")
    return found
