"""Users are shown public names alone: what their documents and examples import can't be moved under their feet."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import ullage
from tests.house.layers import imports
from tests.house.pages import ROOT, blocks, pages

MODULES = {
    "ullage",
    *(
        f"ullage.{name}"
        for name in ullage.__all__
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
    "CHANGELOG.md",
    "docs/why/index.md",
    "docs/why/dependencies.md",
)


def inner_imports(source: str) -> Iterator[str]:
    """Imports of modules of this repository that are not public."""
    for found in imports(ast.parse(source)):
        name = found.module
        is_ours = name.partition(".")[0] in ("ullage", "ullage_simulators")
        is_public = (
            name == "ullage_simulators"
            or name in MODULES | PLUGINS
            or name.rpartition(".")[0] in PLUGINS
            or name.removeprefix("ullage.") in ullage.__all__
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


@pytest.mark.parametrize(
    "path", user_documents(), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_a_user_document_imports_no_inner_module(path: Path) -> None:
    text = path.read_text("utf-8")
    sources = (
        [block.text for block in blocks(text) if block.language == "python"]
        if path.suffix == ".md"
        else [text]
    )
    assert [name for source in sources for name in inner_imports(source)] == []


def test_the_public_modules_are_these() -> None:
    assert sorted(MODULES) == [
        "ullage",
        "ullage.compaction",
        "ullage.encoding",
        "ullage.errors",
        "ullage.events",
    ]


@pytest.mark.parametrize(
    "planted",
    [
        "from ullage.messages import Message",
        "import ullage.store.sqlite",
        "from ullage.tools import builtin",
        "from ullage import codec",
        "from ullage_simulators.server import running",
        "def f():\n    from ullage.meter.fold import Fold",
    ],
)
def test_an_inner_import_is_found(planted: str) -> None:
    assert len(list(inner_imports(planted))) == 1


def test_public_imports_pass() -> None:
    shown = "import ullage\nfrom ullage import Agent, events\nfrom ullage.errors import SettingError\nimport json"
    assert list(inner_imports(shown + "\nfrom ullage_simulators import running")) == []
