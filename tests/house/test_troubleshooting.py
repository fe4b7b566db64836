"""Each message that the page on troubleshooting quotes is made by the program's source."""

import ast
import re

import pytest

from scripts.house.pages import ROOT
from scripts.house.source import Source, of_ullage

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
QUOTED = re.findall(r"^### `([^`]+)`", PAGE, re.MULTILINE)


def literals(source: Source) -> list[str]:
    """Every string of a file, with ``…`` where a value is put in."""
    found = []
    for node in source.nodes:
        if isinstance(node, ast.JoinedStr):
            found.append("".join(piece(value) for value in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


def piece(value: ast.expr) -> str:
    """A part of a formatted string."""
    return str(value.value) if isinstance(value, ast.Constant) else "…"


def is_made(message: str, made: str) -> bool:
    """Whether the program's strings hold the message; a value may be at each ``…``."""
    return message in made


@pytest.fixture(scope="module")
def made() -> str:
    return "\n".join(text for source in of_ullage() for text in literals(source))


def test_each_quoted_message_is_one_of_the_program(made: str) -> None:
    assert [message for message in QUOTED if not is_made(message, made)] == []


def test_a_message_that_no_source_makes_is_noticed(made: str) -> None:
    assert QUOTED
    assert not is_made("The cask … is empty. Fill it.", made)
