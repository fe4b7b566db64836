"""No page, and no text of the program, has a word that readers stumble over and plain English has another one for."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from scripts.house.pages import ROOT, pages
from scripts.house.source import Source, of_ullage

WORST: Final = re.compile(
    r"\b(who(so|m)?ever|nobody|somebody|anew|gone on|go(es)? on with|under way|at hand|had again|may be said|your word|"
    r"rungs?|ladders?|whatsoever|thereof|herein|aforementioned)\b",
    re.IGNORECASE,
)
"""Those that have no other meaning in our texts."""

OTHER_VOICES: Final = ("CHANGELOG.md", "CODE_OF_CONDUCT.md")


def found(name: str, text: str, line: int = 1) -> Iterator[str]:
    """The worst words of a text, with its name and line."""
    for number, row in enumerate(text.splitlines(), line):
        for word in WORST.finditer(row):
            yield f"{name}:{number}: {word[0]!r} is not plain English"


def texts(source: Source) -> Iterator[ast.Constant]:
    """Strings of several words that are no docstring."""
    told = {id(node.value) for node in source.nodes if isinstance(node, ast.Expr)}
    for node in source.nodes:
        if (
            isinstance(node, ast.Constant)
            and " " in str(node.value)
            and id(node) not in told
        ):
            yield node


def faults() -> Iterator[str]:
    """The worst words in documents and in strings of the program; what models read is measured, and stays."""
    for path in pages():
        if path.name not in OTHER_VOICES:
            yield from found(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    for source in of_ullage():
        if source.name == "ullage/context/prompt.py":
            continue
        for node in texts(source):
            yield from found(source.name, str(node.value), node.lineno)
