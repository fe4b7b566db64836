"""Copies the user's rules word for word, because a summary may lose them.

A rule is a sentence of a user's own message with a word such as *always*, *never*, *must* or *don't*, in the languages
of ``rule_words.py``. Text that a user only passes on (quotes, code, the middle of a long text) contains no rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from ullage.context.exchanges import is_request
from ullage.context.rule_patterns import kind_of
from ullage.messages import Message, TextPart

HEADING: Final = "Rules the user laid down, word for word:"

LONGEST: Final = 500
"""The most characters of a sentence that counts as a rule."""

OWN_WORDS: Final = 2_000
"""Characters at the beginning and at the end of a message that count as the user's own words; the middle of a longer
message counts as pasted."""

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
                if not text or len(text) > LONGEST or text.startswith((">", "＞")):
                    continue
                kind = kind_of(text)
                if kind is not None:
                    yield UserRule(text, kind == "standing")


def _without_bullet(text: str) -> str:
    bullet = _BULLET.match(text)
    return text if bullet is None else text[bullet.end() :]


def _own_words(text: str) -> tuple[str, ...]:
    if len(text) <= 2 * OWN_WORDS:
        return (_FENCE.sub("\n", text),)
    return _FENCE.sub("\n", text[:OWN_WORDS]), text[-OWN_WORDS:]


def rules_part_id(summary: str) -> str:
    """Id of the part of a summary message that holds the rules."""
    return f"{summary}.rules"


def carried_rules(message: Message) -> Iterator[UserRule]:
    """The rules that an earlier summary holds."""
    if message.origin != "summary":
        return
    for part in message.of_type(TextPart):
        if part.id == rules_part_id(message.id):
            for line in part.text.split("\n"):
                if line.startswith("- "):
                    yield UserRule(line[2:], kind_of(line[2:]) == "standing")


def collected(leaving: Iterable[Message], *, most: float, count: Callable[[str], float]) -> tuple[str, ...]:
    """The rules in the messages that leave, and in earlier summaries among them, within ``most`` tokens.

    Standing rules come first and the oldest of them before newer ones; of the others the newest. Each is there once.
    """
    found: dict[str, bool] = {}
    for message in leaving:
        for rule in (*carried_rules(message), *rules_in(message)):
            # A repeated rule of the moment is as new as its last mention.
            standing = found.pop(rule.text) if rule.text in found and not rule.standing else rule.standing
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
