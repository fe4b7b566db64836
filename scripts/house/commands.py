"""Each ``ullage …`` line in a block of a page is one that the program understands, also where no test runs it."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator

from scripts.house.pages import ROOT, Block, blocks, pages
from ullage.cli.parser import parser

SHELLS = frozenset({"sh", "console"})
BEFORE = re.compile(
    r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:exec )?(?:uv run (?:--\S+ )*|uvx (?:--from \S+ )?)?"
)
"""What may stand before the program: a prompt, variables, what brings it."""

BETWEEN = re.compile(r"\s(?:&&|\|\|?|;)\s|\s#\s")
REDIRECTED = re.compile(r"\s(?:&|\d?[<>]+)(?:\s*[^\s&]+|$)")


def lines_of(block: Block) -> Iterator[str]:
    """The lines of a block that are commands: all of ``sh``, those after a prompt of ``console``."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if block.language == "sh" or line.startswith("$ "):
            yield line


def calls(block: Block) -> Iterator[list[str]]:
    """The arguments of each call of ``ullage`` in a block, without those of another program, after ``--``."""
    for line in lines_of(block):
        for part in BETWEEN.split(line):
            command = REDIRECTED.sub("", BEFORE.sub("", part.strip()))
            if command == "ullage" or command.startswith("ullage "):
                words = [*shlex.split(command, comments=True)[1:], "--"]
                yield words[: words.index("--")]


def refusal(arguments: list[str]) -> str:
    """What the program says of these arguments; empty where it understands them."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            parser().parse_args(arguments)
        except SystemExit as ended:
            if ended.code:
                return said.getvalue().strip().splitlines()[-1]
    return ""


def faults_of(name: str, text: str) -> Iterator[str]:
    """The commands of a page that the program refuses."""
    for block in blocks(text):
        if block.language in SHELLS:
            for arguments in calls(block):
                if why := refusal(arguments):
                    yield f"{name}:{block.line}: ullage {shlex.join(arguments)}: {why}"


def faults() -> Iterator[str]:
    """The commands of all pages that the program refuses."""
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        yield from faults_of(name, page.read_text("utf-8"))
