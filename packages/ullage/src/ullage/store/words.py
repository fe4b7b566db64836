"""The words of a text: what is kept of it in the databases' indexes of words, and what of a search is looked up there.

Both databases are given words, not text, so that they find the same. A word is a run of letters and digits with its
case folded: ``src/foo_bar.py`` has ``src``, ``foo``, ``bar`` and ``py``. Of scripts that put no space between words
every two neighbouring characters are a word, and the last one of a run is too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ullage.events import Event, MessageAdded, MessageReplaced, Renamed, SessionStarted
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.store.policy import (
    LONGEST_WORD,
    MOST_TERMS,
    SEARCHED_ARGUMENTS,
    SEARCHED_CHARACTERS,
)

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Japanese, Chinese
    "\uac00-\ud7af\U00020000-\U0003ffff"  # Korean, rare Chinese
)
_RUN: Final = re.compile(rf"([{_UNSPACED}]+)|((?:(?![{_UNSPACED}])[^\W_])+)")
_NO_LETTER_BEFORE: Final = rf"(?<![^\W_{_UNSPACED}])"
_NO_LETTER_BEHIND: Final = rf"(?![^\W_{_UNSPACED}])"


class Mark(NamedTuple):
    """A place in a text, in its characters; ``end`` is behind the last one."""

    start: int
    end: int


class Wanted:
    """What a person searches for: all words of ``text``, the last of which may go on where it ends."""

    def __init__(self, text: str) -> None:
        self.terms: Final = _terms(text)[:MOST_TERMS]
        """What to look up: words, and beginnings of words, which end in ``*``. None: nothing can be found."""
        typed = text.split()[:MOST_TERMS]
        ends = [False] * (len(typed) - 1) + [text.endswith(tuple(typed[-1:]))]
        patterns = map(_pattern, typed, ends)
        self._patterns: Final = [
            re.compile(each, re.IGNORECASE) for each in dict.fromkeys(patterns)
        ]

    def are_in(self, text: str) -> bool:
        """Whether a text has all words as they were typed."""
        return all(pattern.search(text) for pattern in self._patterns)

    def first(self, text: str) -> Mark:
        """Where the first of the words is in a text; at its beginning where none is."""
        found = (pattern.search(text) for pattern in self._patterns)
        return min((Mark(*match.span()) for match in found if match), default=Mark(0, 0))

    def marks(self, text: str) -> list[Mark]:
        """Where the words are in a text, in order and apart."""
        found = sorted(
            Mark(*match.span())
            for pattern in self._patterns
            for match in pattern.finditer(text)
        )
        apart: list[Mark] = []
        for mark in found:
            if not apart or mark.start >= apart[-1].end:
                apart.append(mark)
        return apart


def in_code_units(text: str, marks: Iterable[Mark]) -> Iterator[Mark]:
    """The same marks, counted in UTF-16 code units of the text, as JavaScript counts them."""

    def units(end: int) -> int:
        return len(text[:end].encode("utf-16-le", "replace")) // 2

    return (Mark(units(mark.start), units(mark.end)) for mark in marks)


def searched_text(event: Event) -> str:
    """The text of an event that is searched: a title, what was said, a tool's arguments and result."""
    match event:
        case MessageAdded(message=message) | MessageReplaced(message=message):
            return "\n".join(_texts(message))[:SEARCHED_CHARACTERS]
        case SessionStarted(title=title) | Renamed(title=title):
            return title[:SEARCHED_CHARACTERS]
        case _:
            return ""


def words_of(text: str) -> dict[str, None]:
    """The words under which a text is found, as they come there."""
    words: dict[str, None] = {}
    for unspaced, word in _RUN.findall(text):
        found = [word.casefold()[:LONGEST_WORD]] if word else _pairs(unspaced)
        words.update(dict.fromkeys(found))
    return words


def has_terms(text: str, terms: Sequence[str]) -> bool:
    """Whether a text has all of these words and beginnings of words: what an index tells, without one."""
    words = words_of(text)
    return all(
        any(word.startswith(term[:-1]) for word in words)
        if term.endswith("*")
        else term in words
        for term in terms
    )


def _texts(message: Message) -> Iterator[str]:
    if message.role == "system":
        return
    for part in message.parts:
        match part:
            case TextPart():
                yield part.text
            case ToolResultPart():
                yield part.text
            case ToolCallPart():
                yield part.arguments[:SEARCHED_ARGUMENTS]


def _pairs(unspaced: str) -> Iterable[str]:
    return (unspaced[at : at + 2] for at in range(len(unspaced)))


def _terms(text: str) -> tuple[str, ...]:
    runs = _RUN.findall(text)
    terms: list[str] = []
    for unspaced, word in runs:
        if word:
            terms.append(word.casefold()[:LONGEST_WORD])
        elif len(unspaced) == 1:
            terms.append(f"{unspaced}*")
        else:
            terms += list(_pairs(unspaced))[:-1]
    last = runs[-1][1] if runs else ""
    if last and text.endswith(last):  # it may go on
        if len(last) > 1:
            terms[-1] += "*"
        elif len(terms) > 1:
            terms.pop()  # too many words begin with one letter
    return tuple(dict.fromkeys(terms))


def _pattern(typed: str, goes_on: bool) -> str:
    """A word as it was typed, as a regular expression: not within another one."""
    begins, ends = (
        bool((found := _RUN.match(edge)) and found[2]) for edge in (typed[0], typed[-1])
    )
    before = _NO_LETTER_BEFORE if begins else ""
    behind = _NO_LETTER_BEHIND if ends and not goes_on else ""
    return f"{before}{re.escape(typed)}{behind}"
