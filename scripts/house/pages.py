"""Reads the code blocks of a Markdown page."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(#[^)]*)?\)")


class Block(NamedTuple):
    """A fenced block: its language, the marks after it, its text, and the line where the text starts."""

    language: str
    marks: tuple[str, ...]
    text: str
    line: int


class Command(NamedTuple):
    """One ``$`` line of a console block and the output shown below it."""

    line: str
    output: str


def pages() -> list[Path]:
    """README, CONTRIBUTING, RECIPES, CHANGELOG, the READMEs of the packages and all of docs."""
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted(ROOT.glob("packages/*/*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        language, *marks = match["info"].split() or [""]
        found.append(
            Block(
                language,
                tuple(marks),
                match["text"],
                text.count("\n", 0, match.start()) + 2,
            )
        )
    return found


def commands(block: Block) -> list[Command]:
    found = []
    for chunk in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, output = chunk.partition("\n")
        found.append(Command(line, output.rstrip("\n")))
    return found


def links(text: str) -> list[str]:
    """Targets of relative links, outside of code."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return [
        match["target"] for match in LINK.finditer(prose) if "://" not in match["target"]
    ]
