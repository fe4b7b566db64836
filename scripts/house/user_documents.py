"""Users are shown public names alone: what their documents and examples import can't be moved under their feet."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import ullage
from scripts.house.layers import imports
from scripts.house.pages import ROOT, blocks, pages

MODULES = {
    "ullage",
    *(
        f"ullage.{name}"
        for name in dir(ullage)
        if inspect.ismodule(getattr(ullage, name))
    ),
}
"""What a user may import from, derived from the public names."""

PLUGINS = {
    f"ullage.plugins.{name}"
    for name in (
        "agno",
        "google_adk",
        "langchain",
        "litellm",
        "openai_agents",
        "pydantic_ai",
        "smolagents",
        "strands",
    )
}
"""Each loads its framework, so that ``ullage`` itself can't name them."""

CONTRIBUTORS = (
    "CONTRIBUTING.md",
    "RECIPES.md",
    "CHANGELOG.md",
    "docs/why/index.md",
    "docs/why/dependencies.md",
)


def inner_imports(source: str) -> Iterator[str]:
    """Imports of modules of this repository that are not public."""
    for found in imports(ast.walk(ast.parse(source))):
        name = found.module
        is_ours = name.partition(".")[0].startswith("ullage")
        is_public = (
            name == "ullage_simulators"
            or name in MODULES | PLUGINS
            or name.rpartition(".")[0] in PLUGINS
            or name.removeprefix("ullage.") in dir(ullage)
        )
        if is_ours and not is_public:
            yield name


def user_documents() -> list[Path]:
    """Every page and example but those for people who work on Ullage."""
    found = [*pages(), *sorted((ROOT / "examples").rglob("*.py"))]
    return [
        path
        for path in found
        if not path.relative_to(ROOT).as_posix().startswith(CONTRIBUTORS)
    ]


def faults_of(path: Path, text: str) -> Iterator[str]:
    """Inner modules that a page or example imports."""
    sources = [text]
    if path.suffix == ".md":
        sources = [block.text for block in blocks(text) if block.language == "python"]
    for source in sources:
        for name in inner_imports(source):
            yield f"{path.relative_to(ROOT).as_posix()}: imports {name}, which is no public name"


def faults() -> Iterator[str]:
    """Inner modules that users are shown."""
    for path in user_documents():
        yield from faults_of(path, path.read_text("utf-8"))
