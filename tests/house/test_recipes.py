"""The recipes in CONTRIBUTING name files and names that are there."""

import re

import pytest

from tests.house.pages import ROOT

RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes")[2]
ROOTS = (ROOT, ROOT / "src" / "ullage", ROOT / "src" / "ullage" / "server" / "page")
PATHS = sorted(set(re.findall(r"`([\w/.*]+(?:\.(?:py|md|js|json|jsonl|sql|toml)|/))`", RECIPES)))
NAMED = sorted(set(re.findall(r"`([A-Z_]{4,}|\w+\.\w+)` (?:of|in) `([\w/]+\.(?:py|js))`", RECIPES)))


@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_a_recipe_exists(path: str) -> None:
    is_bare = "/" not in path.rstrip("/")
    pattern = f"**/{path}" if is_bare else path
    assert any(next(root.glob(pattern), None) for root in (ROOT / "src", ROOT / "tests", *ROOTS)), path


@pytest.mark.parametrize(("name", "path"), NAMED)
def test_a_name_of_a_recipe_is_in_its_file(name: str, path: str) -> None:
    (file,) = (root / path for root in ROOTS if (root / path).is_file())
    assert name.rpartition(".")[2] in file.read_text("utf-8")
