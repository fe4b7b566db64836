"""Pages have the commands that install Ullage today: from a clone until the package index has it."""

import re
import tomllib

import pytest

from scripts.install_lines import PAIRS, pages, unknown, written
from scripts.repository import ROOT


def test_pages_have_the_commands_of_today() -> None:
    for page in pages():
        text = page.read_text("utf-8")
        assert text == written(text), f"{page}: uv run python -m scripts.install_lines"
        assert not list(unknown(text)), page


def test_the_extras_of_all_commands_exist() -> None:
    project = tomllib.loads((ROOT / "packages/ullage/pyproject.toml").read_text("utf-8"))
    extras = set(project["project"]["optional-dependencies"])
    for page in pages():
        for listed in re.findall(
            r"(?:ullage\[|--extra )([a-z,-]+)", page.read_text("utf-8")
        ):
            assert set(listed.split(",")) <= extras, (page, listed)


def test_each_command_is_found_in_both_states() -> None:
    names = {"extras": "bpe,chat", "part": "agent", "one": "chat", "two": "server"}
    today, later = (
        "\n".join(each.format(**names) + "  # x" for each in side)
        for side in zip(*PAIRS, strict=True)
    )
    assert written(today, published=True) == later
    assert written(later, published=False) == today
    assert not list(unknown(today, published=False))
    assert not list(unknown(later, published=True))


def test_what_needs_the_clone_says_so_in_both_states() -> None:
    needs = "uv run --no-dev --extra simulators --with openai python examples/loop.py     # in the clone\n"
    page = (ROOT / "docs/start/loop.md").read_text("utf-8")
    assert needs in page
    published = written(page, published=True)
    assert needs in published
    assert "pip install ullage openai     # anywhere" in published


@pytest.mark.parametrize(
    "command",
    [
        "uvx ullage context",
        "pip install 'ullage[chat]'",
        "pip install ./packages/ullage",
        "uv add ullage",
        "uv run ullage demo",
        "uv run --extra simulators python examples/loop.py",
    ],
)
def test_a_command_that_is_in_no_pair_is_found(command: str) -> None:
    assert list(unknown(f"Text. `{command}`", published=False)) == [f"{command}`"]


def test_what_installs_something_else_is_not_looked_at() -> None:
    text = "pip install uv && uv run --no-dev ullage demo\nuv run python -m bench.startup"
    assert not list(unknown(text, published=False))
