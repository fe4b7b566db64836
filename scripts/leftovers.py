"""Finds what was meant to be finished later, and paths of the machine it was written on.

    uv run python -m scripts.leftovers

In the source: marks (TODO, FIXME, XXX, HACK), and in comments and texts "for now", "not implemented", "stub" and
"placeholder". The last is also a word of this project, a count that a stream sends before it knows: names in code
(``usage.placeholder``) are fine, and so is prose that says "output placeholder" or "streaming placeholder", or that the
output is one, or names the field in ``backquotes``.
In every text file of the repository: the project's own place on this machine, and anybody's home directory but those of
the people that examples are about (``INVENTED``).
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.repository import ROOT, committed

MARK = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
PROSE = re.compile(
    r"\b(for now|not implemented|not yet implemented|stubs?|stubbed|placeholders?)\b",
    re.IGNORECASE,
)
NAME = re.compile(r"^(NotImplementedError|TODO|FIXME|XXX|HACK)$")
DOMAIN = re.compile(
    r"``[^`]*placeholder[^`]*``"
    r"|\b(output|streaming|usage)\b[^.;:]{0,20}\bplaceholders?\b"
    r"|\bplaceholder rows?\b"
    r"|[\"']placeholder[\"']"
    r"|\bplaceholder="
    r"|--placeholder\b"  # a class of Textual's, in a style sheet
)
"""The ways prose speaks of the count: a comment or text that says it once may go on to call it a placeholder."""
COUNT = re.compile(r"\bplaceholders?\b", re.IGNORECASE)

HOME = re.compile(r"(?<![\w.])/(?:home|Users)/([\w.-]+)")
INVENTED = frozenset({"a", "ada", "an", "ann", "anna", "me", "nobody-here"})
"""Whose home directories examples and tests name. ``an``: a name that is cut."""

TEXT_TOKENS = {tokenize.COMMENT, tokenize.STRING} | {
    getattr(tokenize, name) for name in ("FSTRING_MIDDLE",) if hasattr(tokenize, name)
}


class Leftover(NamedTuple):
    line: int
    what: str


def leftovers(source: str) -> Iterator[Leftover]:
    """What one Python file still owes."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type in TEXT_TOKENS:
            text = (
                COUNT.sub("", token.string)
                if DOMAIN.search(token.string)
                else token.string
            )
            for pattern in (MARK, PROSE):
                for found in pattern.finditer(text):
                    yield Leftover(
                        line + text.count("\n", 0, found.start()), found.group()
                    )
        elif token.type == tokenize.NAME and NAME.match(token.string):
            yield Leftover(line, token.string)


def machine_paths(text: str, places: Iterable[str]) -> Iterator[Leftover]:
    """Lines that name one of these places."""
    for number, line in enumerate(text.splitlines(), start=1):
        for place in places:
            if re.search(rf"(?<![\w.]){re.escape(place)}(?![\w-])", line):
                yield Leftover(number, place)


def homes(text: str) -> Iterator[Leftover]:
    """Lines that name the home directory of a person who is not invented."""
    for number, line in enumerate(text.splitlines(), start=1):
        for found in HOME.finditer(line):
            if found[1] not in INVENTED:
                yield Leftover(
                    number, f"{found[0]}: examples are of /home/ann (INVENTED)"
                )


def places_here() -> list[str]:
    """This checkout, the directory it lies in, and the home directory."""
    return [
        str(place) for place in (ROOT, ROOT.parent, Path.home()) if len(place.parts) > 1
    ]


def all_findings() -> Iterator[str]:
    """Every leftover in the repository, as ``file:line: what``."""
    for path in committed():
        name = path.relative_to(ROOT).as_posix()
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found = [*machine_paths(text, places_here()), *homes(text)]
        if path.suffix == ".py" and name.startswith("packages/") and "/src/" in name:
            found += leftovers(text)
        yield from (f"{name}:{each.line}: {each.what}" for each in found)


if __name__ == "__main__":
    problems = list(all_findings())
    print("\n".join(problems) or "no leftovers")
    sys.exit(1 if problems else 0)
