"""The recipes in CONTRIBUTING name files and names that are there."""

import re
from pathlib import Path

import pytest

from tests.house.pages import ROOT

RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes")[2]
ROOTS = (ROOT, ROOT / "src" / "ullage", ROOT / "src" / "ullage" / "server" / "page")
PATHS = sorted(
    set(re.findall(r"`([\w/.*]+(?:\.(?:py|md|js|json|jsonl|sql|toml)|/))`", RECIPES))
)
NAMED = sorted(
    set(re.findall(r"`([A-Z_]{4,}|\w+\.\w+)` (?:of|in) `([\w/]+\.(?:py|js))`", RECIPES))
)


def meant(path: str) -> list[Path]:
    """The files and directories that a recipe may mean by this path; a bare name is looked for everywhere."""
    is_bare = "/" not in path.rstrip("/")
    if is_bare:
        return [
            found for root in (ROOT / "src", ROOT / "tests") for found in root.rglob(path)
        ] or [*ROOT.glob(path)]
    return [found for root in ROOTS for found in root.glob(path)]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_a_recipe_exists(path: str) -> None:
    assert meant(path)


@pytest.mark.parametrize(("name", "path"), NAMED)
def test_a_name_of_a_recipe_is_in_its_file(name: str, path: str) -> None:
    assert any(name.rpartition(".")[2] in file.read_text("utf-8") for file in meant(path))
