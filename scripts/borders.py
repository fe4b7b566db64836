"""Loads each distribution where only what it depends on is installed: ``uv run python -m scripts.borders``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts.repository import ROOT

FOLDERS: Final = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))

OPTIONAL: Final = re.compile(r"ullage\.plugins\.(google_adk|litellm)$")
"""Plug-ins of frameworks that no environment of ours holds beside the others (``bench.plugins`` runs them)."""

IMPORT: Final = """
import importlib, pathlib, re, sys
optional = re.compile(sys.argv[2])
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    name = ".".join(path.relative_to(sys.argv[1]).with_suffix("").parts).removesuffix(".__init__")
    if not name.endswith("__main__") and not optional.search(name):
        importlib.import_module(name)
"""


def main(names: Sequence[str]) -> int:
    """0 when each distribution, or each that is named, needs nothing that it does not depend on."""
    failed = [
        folder.name
        for folder in FOLDERS
        if (not names or folder.name in names) and not stands(folder)
    ]
    print(f"beyond their borders: {', '.join(failed)}" if failed else "all borders hold")
    return 1 if failed else 0


def stands(folder: Path) -> bool:
    """Whether every module of a distribution can be imported beside nothing but its dependencies."""
    environment = {
        key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"
    }
    command = ["uv", "run", "--locked", "--isolated", "--no-default-groups"]
    command += ["--package", folder.name, "--group", "test"]
    command += ["python", "-c", IMPORT, str(folder / "src"), OPTIONAL.pattern]
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
