"""The recipes (RECIPES.md) name files and names that are there."""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.house.pages import ROOT

SOURCES = sorted((ROOT / "packages").glob("*/src"))
ROOTS = (
    ROOT,
    *SOURCES,
    *(ROOT / "packages").glob("*/src/*"),
    *(ROOT / "packages").glob("*/"),
)
PATH = re.compile(r"`([\w/.*]+(?:\.(?:py|md|js|json|jsonl|sql|toml)|/))`")
NAMED = re.compile(r"`([A-Z_]{4,}|\w+\.\w+)` (?:of|in) `([\w/]+\.(?:py|js))`")


def meant(path: str) -> list[Path]:
    """The files and directories that a recipe may mean by this path; a bare name is looked for everywhere."""
    is_bare = "/" not in path.rstrip("/")
    if is_bare:
        folders = (ROOT / "packages", ROOT / "tests", ROOT / "scripts")
        found = [found for folder in folders for found in folder.rglob(path)]
        return found or [*ROOT.glob(path)]
    return [found for root in ROOTS for found in root.glob(path)]


def faults_of(recipes: str) -> Iterator[str]:
    """Files that these recipes name and that are not there, and names that are not in their files."""
    for path in sorted(set(PATH.findall(recipes))):
        if not meant(path):
            yield f"RECIPES.md: there is no {path}"
    for name, path in sorted(set(NAMED.findall(recipes))):
        last = name.rpartition(".")[2]
        if not any(last in file.read_text("utf-8") for file in meant(path)):
            yield f"RECIPES.md: {path} has no {name}"


def faults() -> Iterator[str]:
    """What is wrong with the recipes."""
    yield from faults_of((ROOT / "RECIPES.md").read_text("utf-8"))
