"""Loads each distribution and its tests where only what it depends on is installed.

uv run python -m scripts.borders [NAME…]            its modules are loaded, its tests collected
uv run python -m scripts.borders --run [NAME…]      its tests of the first tier are run
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts.house.layers import LOADED
from scripts.repository import ROOT

FOLDERS: Final = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))

FACES: Final = "|".join(Path(file).stem for file in LOADED)

OPTIONAL: Final = re.compile(rf"ullage\.(plugins\.(google_adk|litellm)|{FACES})$")
"""Plug-ins of frameworks that no environment of ours holds beside the others (``bench.plugins`` runs them), and public
modules that name what other distributions hold."""

FIRST: Final = "not program and not slow and not sweep"

LOAD: Final = """
import importlib, os, pathlib, re, sys
_, source, optional, *command = sys.argv
for path in sorted(pathlib.Path(source).rglob("*.py")):
    name = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
    if not name.endswith("__main__") and not re.search(optional, name):
        importlib.import_module(name)
os.execv(sys.executable, [sys.executable, *command])
"""
"""Imports all modules, and becomes Python with a command: making an environment takes longer than both."""


def main(arguments: Sequence[str]) -> int:
    """0 when each distribution, or each that is named, needs nothing that it does not depend on."""
    is_run = "--run" in arguments
    names = [each for each in arguments if each != "--run"]
    failed = [
        folder.name
        for folder in FOLDERS
        if (not names or folder.name in names) and not stands(folder, is_run=is_run)
    ]
    print(f"beyond their borders: {', '.join(failed)}" if failed else "all borders hold")
    return 1 if failed else 0


def stands(folder: Path, *, is_run: bool = False) -> bool:
    """Whether all modules of a distribution, and its tests, can be loaded beside nothing but its dependencies."""
    tests = ["-m", "pytest", "-q", "--no-header", "-m", FIRST, str(folder / "tests")]
    tests += ["-n", "2"] if is_run else ["--collect-only", "-n", "0"]
    modules = ["-c", LOAD, str(folder / "src"), OPTIONAL.pattern]
    return in_its_environment(folder, [*modules, *tests])


def in_its_environment(folder: Path, arguments: Sequence[str]) -> bool:
    """Whether Python ends well with these arguments where a distribution and its group ``test`` are installed."""
    environment = {
        key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"
    }
    command = ["uv", "run", "--locked", "--isolated", "--no-default-groups"]
    command += ["--package", folder.name, "--group", "test", "python", *arguments]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if ended.returncode:
        print(f"{folder.name}:\n{ended.stdout[-4_000:]}")
    return not ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
