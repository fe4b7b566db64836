"""The commands that install or start Ullage, on all pages: ``uv run python -m scripts.install_lines`` writes them.

Nothing is on the package index yet, so a reader has a clone. When it is there, set ``PUBLISHED`` and run this once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from scripts.repository import ROOT

PUBLISHED: Final = False
"""Whether the package index has Ullage."""


class Pair(NamedTuple):
    """One command, for a reader with a clone and for one who takes it from the index. Names in braces are extras."""

    today: str
    later: str


PAIRS: Final = (
    Pair("uv tool install './packages/ullage[{extras}]'", "uv tool install 'ullage[{extras}]'"),
    Pair("uv tool install ./packages/ullage", "uv tool install ullage"),
    Pair("pipx install ./packages/ullage", "pipx install ullage"),
    Pair("uv pip install './packages/ullage[{extras}]'", "pip install 'ullage[{extras}]'"),
    Pair("uv pip install ./packages/ullage", "pip install ullage"),
    Pair(
        "uv pip install './packages/ullage-{part}[{extras}]'",
        "pip install 'ullage-{part}[{extras}]'",
    ),
    Pair("uv pip install ./packages/ullage-{part}", "pip install ullage-{part}"),
    Pair(
        "uv run --no-dev --extra {one} --extra {two} ullage",
        "uvx --from 'ullage[{one},{two}]' ullage",
    ),
    Pair("uv run --no-dev --extra {one} ullage", "uvx --from 'ullage[{one}]' ullage"),
    Pair("uv run --no-dev ullage", "uvx ullage"),
    Pair("# in the clone", "# anywhere"),
    Pair("Try it in a clone, with Python", "Try it with Python"),
)  # fmt: skip

IN_CLONE: Final = re.compile(r"uv run (--no-dev( --(extra|with) \S+)* python|pytest) ")
"""A command of a file of the repository: a reader needs the clone for it before and after."""

COMMAND: Final = re.compile(
    r"\b(uv (run|add|sync|(tool|pip) install)|uvx|pipx? install)\b[^\n`#&|;]*?(\bullage\b|examples/|main.py)"
)
"""What starts like a command that installs or starts Ullage."""


def pattern(template: str) -> re.Pattern[str]:
    """Finds a command; each name in braces is a group."""
    text = re.escape(template).replace(r"\{", "{").replace(r"\}", "}")
    for name in re.findall(r"{(\w+)}", text):
        letters = "[a-z,-]+" if name == "extras" else "[a-z-]+"
        text = text.replace(f"{{{name}}}", f"(?P<{name}>{letters})")
    return re.compile(rf"(?<![\w/-]){text}(?![\w\[/-])")


def written(text: str, *, published: bool = PUBLISHED) -> str:
    """A page with the commands of one state."""
    return "".join(
        _line(line, published=published) for line in text.splitlines(keepends=True)
    )


def _line(text: str, *, published: bool) -> str:
    if IN_CLONE.search(text):
        return text
    for pair in PAIRS:
        old, new = pair if published else reversed(pair)
        while found := pattern(old).search(text):
            line = new.format(**found.groupdict())
            text = text[: found.start()] + line + text[found.end() :]
    return text


def unknown(text: str, *, published: bool = PUBLISHED) -> Iterator[str]:
    """The commands of a page that are no command of this state."""
    known = [pattern(pair.later if published else pair.today) for pair in PAIRS]
    for found in COMMAND.finditer(text):
        if not any(each.match(text, found.start()) for each in [*known, IN_CLONE]):
            yield text[found.start() :].partition("\n")[0]


def pages() -> Iterator[Path]:
    """Every page with commands for readers."""
    for names in (
        "README.md",
        "docs/**/*.md",
        "examples/**/*.md",
        "packages/*/README.md",
    ):
        yield from sorted(ROOT.glob(names))


def main() -> int:
    """Write all pages, and print the commands that are in no pair."""
    failed = 0
    for page in pages():
        text = written(page.read_text("utf-8"))
        page.write_text(text, "utf-8", newline="\n")
        for command in unknown(text):
            failed = 1
            print(f"{page.relative_to(ROOT)}: {command}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
