"""The packages beside ``ullage`` start quickly or stand alone: each imports only what is on its list."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.house.layers import cycle, imports
from scripts.house.source import SRC, Source, read

FOLDERS = {
    "ullage_line": SRC / "ullage_line",
    "ullage_relay": SRC / "ullage_relay",
    "ullage_simulators": SRC.parent / "packages/ullage-simulators/src/ullage_simulators",
}

MODULES: dict[str, frozenset[str]] = {
    # it starts with each message of Claude Code; ``json`` loads ``re`` itself; ``io`` and ``math`` are part of the
    # interpreter
    "ullage_line": frozenset(
        {"__future__", "io", "json", "math", "os", "re", "stat", "sys"}
    ),
    "ullage_relay": sys.stdlib_module_names | {"h11"},
    "ullage_simulators": sys.stdlib_module_names | {"starlette", "uvicorn"},
}
"""The modules that each package may import besides its own."""

MORE = {
    # only where the user has an earlier status line
    "ullage_line/compose.py": {"subprocess"},
    "ullage_line/hook_events.py": {"time"},
}
"""Files that may import more."""


def faults_of(package: str, files: Sequence[Source]) -> Iterator[str]:
    """What the files of one package import that they may not, and the first circle of imports."""
    for source in files:
        name = f"{package}/{source.name}"
        allowed = MODULES[package] | {package} | MORE.get(name, set())
        for found in imports(source.nodes):
            if found.module.partition(".")[0] not in allowed:
                yield f"{name}:{found.line}: may not import {found.module}"
    circle = cycle({source.name: source.nodes for source in files}, package)
    if circle:
        yield f"these import each other in a circle: {' -> '.join(circle)}"


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
