"""Which facts a text holds, to be looked for in other texts. Nothing here is shared with ``ullage.context.values``.

Wider on purpose than what a product would keep: names of code, quoted words, sizes and the words of errors count as
well, so that what the product can't see is seen here. What nobody has to remember is left out: flags of commands,
``/dev/null``, and numbers and switches among the arguments of a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

FactKind = Literal["url", "path", "file", "id", "error", "number", "symbol", "quoted"]

LONGEST: Final = 160
"""Characters of a fact; what is longer is no name of anything."""
MOST_TEXT: Final = 60_000
"""Characters of one text that are looked at."""

_PATTERNS: Final[tuple[tuple[FactKind, str], ...]] = (
    ("url", r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>)\]}`\\]+"),
    (
        "error",
        r"\b(?:[A-Za-z_.]*(?:Error|Exception|Panic)|error(?:\[\w+\])?|fatal|panic|FAILED|FAIL|E\d{3,4}): ?[^\n\"`]{8,}",
    ),
    ("path", r"(?:~|\.{1,2})?/?(?:[\w@.+-]+/)+[\w@.+-]*\w|(?<![\w/])/\w[\w.-]+"),
    ("id", r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    ("id", r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"),
    ("id", r"\b[A-Z]{2,10}-\d+\b|(?<![\w&])#\d{2,}\b|\b[\w.+-]+@[\w-]+\.[\w.]+\b"),
    ("file", r"\b\w[\w-]*(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}\b(?!\()"),
    (
        "number",
        r"\bv?\d+(?:\.\d+){2,}(?:-?[a-z]\w*)?\b|\b\d{1,3}(?:[,_]\d{3})+\b|\b\d+\.\d+\b|\b\d{3,}\b",
    ),
    (
        "symbol",
        r"\b[A-Za-z]\w*_\w+\b|\b_\w+_?\b|\b[a-z]+(?:[A-Z][a-z0-9]*)+\b|\b(?:[A-Z][a-z0-9]+){2,}\w*\b",
    ),
    ("quoted", r"`[^`\n]{3,60}`"),
)
AROUND: Final = ("error", "quoted")
"""These hold facts of the other kinds; of those a part is no fact of its own."""
_ALL: Final = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_KNOWN: Final = re.compile(r"\d\d:\d\d|\d{4}-\d\d-\d\dT?|^/dev/")
"""Times, which change by themselves, and what is the same on every machine."""


class SaidFact(NamedTuple):
    """A fact as it stands in a text."""

    kind: FactKind
    text: str


@lru_cache(maxsize=20_000)
def facts_in(text: str) -> frozenset[SaidFact]:
    """Paths, urls, ids, errors, numbers, names of code and quoted words of a text."""
    found: dict[str, FactKind] = {}
    left = text = text[:MOST_TEXT]
    for kind, pattern in _ALL:
        for match in pattern.finditer(text if kind in AROUND else left):
            value = match.group().strip("`.,;:'\"() \t")
            if 3 <= len(value) <= LONGEST and not _KNOWN.search(value):
                found.setdefault(value, kind)
        if kind not in AROUND:
            left = pattern.sub(" ", left)
    return frozenset(SaidFact(kind, value) for value, kind in found.items())


class Known:
    """A text in which facts are looked for."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.text = "\n".join(texts)
        self.words = frozenset(re.findall(r"[\w@.+-]+", self.text))

    def has(self, fact: SaidFact, unique: frozenset[str] = frozenset()) -> bool:
        """Whether the text has the fact: a path may stand as its end, if ``unique`` says that this names only one."""
        if fact.text.isalnum() and fact.kind in ("number", "id"):
            return fact.text in self.words
        if fact.text in self.text:
            return True
        return fact.kind == "path" and any(
            end in self.text for end in _ends(fact.text) if end in unique
        )


def unique_ends(paths: Iterable[str]) -> frozenset[str]:
    """The ends of these paths (of one part or two) that only one file has."""
    owners: dict[str, set[str]] = {}
    for path in paths:
        for end in _ends(path):
            owners.setdefault(end, set()).add(path.lstrip("./~"))
    found = set()
    for end, files in owners.items():
        longest = max(files, key=len)
        if all(longest.endswith(file) for file in files):
            found.add(end)
    return frozenset(found)


def _ends(path: str) -> Iterator[str]:
    parts = path.rstrip("/").split("/")
    for size in (1, 2):
        if len(parts) > size and "." in parts[-1]:
            yield "/".join(parts[-size:])


def strings_in(arguments: str) -> str:
    """The texts among the arguments of a tool call, with their own line breaks; all of it where it is no JSON."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return "\n".join(_strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str):
        yield value
