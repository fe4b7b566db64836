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

OTHER_VOICES: Final = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "ullage/context/prompt.py")


def found(name: str, text: object, line: int = 1) -> Iterator[str]:
    """The worst words of a text, with its name and line."""
    for word in WORST.finditer(str(text)):
        number = line + str(text).count("\n", 0, word.start())
        yield f"{name}:{number}: {word[0]!r} is not plain English"


def faults() -> Iterator[str]:
    """The worst words in documents and in strings of the program; what models read is measured, and stays."""
    for path in pages():
        if path.name not in OTHER_VOICES:
            yield from found(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    for source in of_ullage():
        if source.name not in OTHER_VOICES:
            yield from faults_of(source)


def faults_of(source: Source) -> Iterator[str]:
    """The worst words in strings of several words that are no docstring."""
    told = {node.value for node in source.nodes if isinstance(node, ast.Expr)}
    for node in source.nodes:
        if isinstance(node, ast.Constant) and " " in str(node.value) and node not in told:
            yield from found(source.name, node.value, node.lineno)
