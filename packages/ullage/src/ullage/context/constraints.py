"""Copies the user's rules word for word, because a summary may lose them.

A rule is a sentence of a user's own message with a word such as *always*, *never*, *must* or *don't*, in the languages
of ``rule_words.py``. Text that a user only passes on (quotes, code, the middle of a long text) contains no rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final, Literal, NamedTuple

from ullage.context.exchanges import is_request
from ullage.context.policy import LONGEST_RULE, OWN_WORDS_CHARACTERS
from ullage.context.rule_words import (
    ARABIC,
    CYRILLIC,
    DEVANAGARI,
    LATIN,
    UNSPACED,
    Language,
)
from ullage.messages import Message, TextPart

HEADING: Final = "Rules the user laid down, word for word:"

_SENTENCE: Final = re.compile(
    r"(?<=[.!?؟۔])\s+(?=\S)|\n+|(?<=[。！？｡।॥])(?![。！？｡।॥…」』）】》〉”’\"')\]])\s*|(?<=．)(?![．\d])\s*"
)
"""Between sentences: white space behind a full stop; scripts that write none there, or not always, have stops of their
own, which may stand before a closing quote or bracket."""

_BULLET: Final = re.compile(r"(?:[-*+•‣◦▪●○–—·]\s+|[・●○■◆]\s*)+")
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTE: Final = re.compile(r"^[ \t]*[>＞].*", re.MULTILINE)


class UserRule(NamedTuple):
    """A sentence of the user. ``standing``: it speaks of always or never, not of the task at hand."""

    text: str
    standing: bool


def rules_in(message: Message) -> Iterator[UserRule]:
    """The rules in a user's message, in order."""
    if not is_request(message):
        return
    for part in message.of_type(TextPart):
        for piece in _own_words(part.text):
            for sentence in _SENTENCE.split(_QUOTE.sub("", piece)):
                text = _without_bullet(sentence.strip())
                if not text or len(text) > LONGEST_RULE or text.startswith((">", "＞")):
                    continue
                kind = kind_of(text)
                if kind is not None:
                    yield UserRule(text, kind == "standing")


def _without_bullet(text: str) -> str:
    bullet = _BULLET.match(text)
    return text if bullet is None else text[bullet.end() :]


def _own_words(text: str) -> tuple[str, ...]:
    if len(text) <= 2 * OWN_WORDS_CHARACTERS:
        return (_FENCE.sub("\n", text),)
    return _FENCE.sub("\n", text[:OWN_WORDS_CHARACTERS]), text[-OWN_WORDS_CHARACTERS:]


def rules_part_id(summary: str) -> str:
    """Id of the part of a summary message that holds the rules."""
    return f"{summary}.rules"


def carried_rules(message: Message) -> Iterator[UserRule]:
    """The rules that an earlier summary holds; it may be of a log that somebody else wrote."""
    if message.origin != "summary":
        return
    for part in message.of_type(TextPart):
        if part.id == rules_part_id(message.id):
            for line in part.text.split("\n"):
                if line.startswith("- ") and len(line) <= LONGEST_RULE + 2:
                    yield UserRule(line[2:], kind_of(line[2:]) == "standing")


def collected(
    leaving: Iterable[Message], *, most: float, count: Callable[[str], float]
) -> tuple[str, ...]:
    """The rules in the messages that leave, and in earlier summaries among them, within ``most`` tokens.

    Standing rules come first and the oldest of them before newer ones; of the others the newest. Each is there once.
    """
    found: dict[str, bool] = {}
    for message in leaving:
        for rule in (*carried_rules(message), *rules_in(message)):
            # A repeated rule of the moment is as new as its last mention.
            standing = (
                found.pop(rule.text)
                if rule.text in found and not rule.standing
                else rule.standing
            )
            found.setdefault(rule.text, standing)
    standing_first = [text for text, standing in found.items() if standing]
    newest_first = [text for text, standing in reversed(found.items()) if not standing]
    chosen: set[str] = set()
    left = most
    for text in (*standing_first, *newest_first):
        tokens = count(text) + 3
        if tokens <= left:
            chosen.add(text)
            left -= tokens
    return tuple(text for text in found if text in chosen)


def written(rules: Iterable[str]) -> str:
    """The block as it stands in a summary message; empty without rules."""
    lines = [f"- {rule}" for rule in rules]
    return "\n".join([HEADING, *lines]) if lines else ""


# -- whether a sentence is a rule, by the words of many languages at once --

RuleKind = Literal["standing", "once"]
"""Of a rule: it speaks of always or never, or of the task at hand."""

_ARABIC_MARKS: Final = re.compile("[\u064b-\u0652\u0640]")
_ALEF: Final = str.maketrans("أإآ", "ااا")
_HAS_ARABIC: Final = re.compile("[\u0600-\u06ff]")
_ACCENTED: Final = re.compile(r"\[[^\]]*\]|[\u00c0-\u017f]")
_BARE: Final = {"ä": "ae?", "ö": "oe?", "ü": "ue?", "ł": "l", "ı": "i"}
_DEVANAGARI: Final = r"[\w\u0900-\u0963\u0966-\u097f]"
"""A letter or one of the signs that belong to letters, which ``\\w`` leaves out."""


def kind_of(sentence: str) -> RuleKind | None:
    """What kind of rule a sentence is; ``None`` where it is none."""
    text = _plain(sentence)
    latin, *others = _patterns()
    scripts = (
        [latin]
        if text.isascii()
        else [latin, *(script for script in others if script.letters.search(text))]
    )
    if not any(script.any.search(text) or script.begin.match(text) for script in scripts):
        return None
    is_standing = any(
        script.standing.search(text) or script.standing_begin.match(text)
        for script in scripts
    )
    return "standing" if is_standing else "once"


def _plain(text: str) -> str:
    """A text as the words are written: composed, without case, Arabic without vowel signs and forms of alef."""
    return (
        text.lower()
        if text.isascii()
        else _composed(text).casefold().replace("i\u0307", "i")
    )


def _composed(text: str) -> str:
    text = unicodedata.normalize("NFC", text)
    return (
        _ARABIC_MARKS.sub("", text).translate(_ALEF) if _HAS_ARABIC.search(text) else text
    )


class _Script(NamedTuple):
    """The words of languages that share a script. ``begin``: those that count at the begin of a sentence alone."""

    letters: re.Pattern[str]
    any: re.Pattern[str]
    begin: re.Pattern[str]
    standing: re.Pattern[str]
    standing_begin: re.Pattern[str]


@cache
def _patterns() -> tuple[_Script, ...]:
    """The Latin script comes first. Made at the first use."""
    return (
        _script(LATIN, "a-z", r"\b", r"\b", r"\w"),
        _script(CYRILLIC, "\u0400-\u04ff", r"\b", r"\b", r"\w"),
        _script(
            DEVANAGARI,
            "\u0900-\u097f",
            rf"(?<!{_DEVANAGARI})",
            rf"(?!{_DEVANAGARI})",
            _DEVANAGARI,
        ),
        _script(ARABIC, "\u0600-\u06ff", r"\b[وف]?", r"\b", r"\w"),
        _script(UNSPACED, "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3", "", "", ""),
    )


def _script(
    languages: Iterable[Language], letters: str, begin: str, end: str, letter: str
) -> _Script:
    languages = tuple(languages)
    standing = [word for each in languages for word in _alternatives(each.standing)]
    once = [word for each in languages for word in _alternatives(each.once)]
    standing += [
        rf"{word}\s?[:：]" for each in languages for word in _alternatives(each.labels)
    ]
    endings = [word for each in languages for word in _alternatives(each.endings)]

    def compiled(words: list[str], endings: list[str]) -> re.Pattern[str]:
        inside = rf"{begin}(?:{_by_letter(word for word in words if not word.startswith('^'))})"
        parts = [rf"{inside}(?:(?<=[:：])|{end})" if end else inside]
        if endings:
            parts.append(rf"(?<={letter}{letter})(?:{_by_letter(endings)}){end}")
        return re.compile("|".join(parts))

    def anchored(words: list[str]) -> re.Pattern[str]:
        found = [word[1:] for word in words if word.startswith("^")]
        return re.compile(rf"(?:{_by_letter(found)}){end}" if found else "(?!)")

    every = [*standing, *once]
    return _Script(
        letters=re.compile(f"[{letters}]"),
        any=compiled(every, endings),
        begin=anchored(every),
        standing=compiled(standing, []),
        standing_begin=anchored(standing),
    )


def _by_letter(words: Iterable[str]) -> str:
    """One alternative for each first letter: a search then looks at few of them wherever a word begins."""
    found: dict[str, list[str]] = {}
    for word in words:
        found.setdefault(word[0], []).append(word[1:])
    return "|".join(
        f"{letter}(?:{'|'.join(rest)})" for letter, rest in sorted(found.items())
    )


def _alternatives(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern one by one, each beginning with a letter that is written out."""
    for word in _split(_composed(pattern)):
        yield from _opened(_ACCENTED.sub(_with_bare, word))


def _opened(word: str) -> Iterator[str]:
    if word.startswith("^"):
        yield from (f"^{each}" for each in _opened(word[1:]))
    elif word.startswith("(?:"):
        end = _closing(word)
        rest = word[end + 1 :]
        optional = rest.startswith("?")
        for first in _split(word[3:end]):
            yield from _opened(first + rest[optional:])
        if optional:
            yield from _opened(rest[1:])
    elif word.startswith("["):
        end = word.index("]")
        yield from (letter + word[end + 1 :] for letter in word[1:end])
    elif word:
        yield word


def _split(pattern: str) -> list[str]:
    """At each ``|`` that stands in no group."""
    found, depth, start = [], 0, 0
    for place, char in enumerate(pattern):
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            found.append(pattern[start:place])
            start = place + 1
    return [*found, pattern[start:]]


def _closing(pattern: str) -> int:
    """Where the group ends that the pattern begins with."""
    depth = 0
    for place, char in enumerate(pattern):
        depth += (char == "(") - (char == ")")
        if not depth:
            return place
    raise ValueError(f"{pattern!r} has no end.")


def _with_bare(match: re.Match[str]) -> str:
    """An accented Latin letter, or the one without its accent."""
    found = match[0]
    if found.startswith("["):
        return found
    return f"(?:{found}|{_BARE.get(found) or unicodedata.normalize('NFD', found)[0]})"
