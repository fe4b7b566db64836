"""Sentences of a text, and which of them state how to behave from then on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_SENTENCE: Final = re.compile(
    r"(?<=[.!?؟۔])(?<!\w\.\w\.)(?<!\s\d\.)\s+(?=\S)|\n+|(?<=[。！？｡।॥])(?![。！？｡।॥…」』）】》〉”’\"')\]])\s*|(?<=．)(?![．\d])\s*"
)
"""Between sentences: white space behind a full stop; scripts that write none there, or not always, have stops of their
own, which may stand before a closing quote or bracket."""

_BULLET: Final = re.compile(
    r"(?:[-*+•‣◦▪●○–—·]\s+|\d{1,6}(?:[.)]\s+|[\t→]\s*)|[・●○■◆]\s*)+"
)

"""Of lists, and the numbers that file tools put before lines."""

_BINDING: Final = re.compile(
    r"\b(?:always|never|must|(?:do|may|should|can|must|shall|will|is|are)(?: ?not|n['’]t)|shall|should|only"
    r"|from now on|no longer|under no circumstances|at all times|no matter|whenever|every|each|unless|without"
    r"|instead of|rather than|make sure|ensure|prefer|avoid|keep|remember|required?|forbidden|allowed|rules?"
    r"|conventions?|policy|important)\b",
    re.IGNORECASE,
)
"""English alone: it ranks what does not all fit, and what a tool has shown. What a user wrote is kept in any language
while there is room for it."""


REPEATED: Final = 2
"""What comes more often in a text, numbers aside, is a routine, a table or a flood."""

_DIGITS: Final = re.compile(r"\d+")


class Sentence(NamedTuple):
    """A sentence, and where it stands in its text."""

    text: str
    start: int
    end: int


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences and lines of a text in order, without white space and bullets around them."""
    start = 0
    for match in _SENTENCE.finditer(text):
        yield from _sentence(text, start, match.start())
        start = match.end()
    yield from _sentence(text, start, len(text))


def _sentence(text: str, start: int, end: int) -> Iterator[Sentence]:
    bare = without_bullet(text[start:end])
    if bare:
        first = text.index(bare, start)
        yield Sentence(bare, first, first + len(bare))


def without_bullet(line: str) -> str:
    """A line without the white space and the bullet or number in front."""
    bare = line.strip()
    bullet = _BULLET.match(bare)
    return bare if bullet is None else bare[bullet.end() :]


def without_numbers(line: str) -> str:
    """What lines that differ in numbers alone have in common."""
    return _DIGITS.sub("0", line)


def states_a_rule(sentence: str) -> bool:
    """Whether an English sentence says how to behave from then on, rather than what to do now."""
    return _BINDING.search(sentence) is not None and not sentence.endswith("?")
