"""The user's own messages, word for word, behind a compaction: a summary may change or lose them.

They hold the rules, in whatever words and language. Where not all have room, the newest sentences stay, the oldest, in
which a task begins, and those that state how to behave; of what is pasted, the beginning and the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from ullage.codec.problems import strike_keys
from ullage.context.exchanges import is_request
from ullage.context.policy import (
    NEWEST_OF_WORDS,
    OLDEST_OF_WORDS,
    OWN_WORDS_CHARACTERS,
    REPEATED,
)
from ullage.context.sentences import (
    sentences,
    states_a_rule,
    without_numbers,
)
from ullage.context.situation import Situation
from ullage.messages import Message, TextPart

HEADING: Final = "What the user wrote, word for word, oldest first:"
LEFT_OUT: Final = "[…]"


class UserSentence(NamedTuple):
    """A sentence of a user's message, with its tokens. ``rule``: it states how to behave."""

    text: str
    start: int
    end: int
    tokens: float
    rule: bool


class UserWords(NamedTuple):
    """A message of the user, its keys struck out."""

    text: str
    sentences: tuple[UserSentence, ...]


def user_words(
    situation: Situation, leaving: Iterable[Message], *, most: float, held: str
) -> str:
    """The block of the user's messages, in at most about ``most`` tokens; empty without any.

    Args:
        situation: The session that is compacted.
        leaving: The messages that leave, with earlier summaries, whose blocks are carried on.
        most: In tokens.
        held: A text that stays in view; messages that it holds word for word are left out.
    """
    texts: dict[str, UserWords] = {}
    for message in leaving:
        key = ("user words", message.id, message.revision)
        for words in situation.once(key, lambda: _words_of(situation, message)):  # noqa: B023 - called at once
            texts.pop(
                words.text, None
            )  # a repeated message is as new as its last mention
            if words.text not in held:
                texts[words.text] = words
    every = tuple(texts.values())
    chosen = _chosen(every, most - situation.count(HEADING))
    lines = [HEADING]
    for place, words in enumerate(every):
        text = _shown(words, chosen.get(place, set()))
        if text:
            lines.append("- " + text.replace("\n", "\n  "))
    return "\n".join(lines) if len(lines) > 1 else ""


def _words_of(situation: Situation, message: Message) -> tuple[UserWords, ...]:
    found: list[UserWords] = []
    for raw in _texts(message):
        text = strike_keys(raw.strip())
        middle = range(OWN_WORDS_CHARACTERS, len(text) - OWN_WORDS_CHARACTERS)
        parts: list[UserSentence] = []
        for one in sentences(text):
            if one.text == LEFT_OUT or one.start in middle or one.end in middle:
                continue
            tokens = situation.count(one.text)
            parts.append(UserSentence(*one, tokens, states_a_rule(one.text)))
        found.append(UserWords(text, tuple(parts)))
    return tuple(found)


def _texts(message: Message) -> list[str]:
    if is_request(message):
        texts = [part.text for part in message.of_type(TextPart)]
        return ["\n".join(texts)]
    if message.origin != "summary":
        return []
    for part in message.of_type(TextPart):
        if part.id == f"{message.id}.said":
            _, _, block = part.text.partition("\n- ")
            return [entry.replace("\n  ", "\n") for entry in block.split("\n- ")]
    return []


def _chosen(every: tuple[UserWords, ...], most: float) -> dict[int, set[int]]:
    """The sentences that fit, by message: the newest, the oldest, and those that state a rule.

    Those that come again and again, numbers aside, are the last of the newest: *Go on with file 12.*
    """
    ranked: list[tuple[int, int, UserSentence]] = []
    routine: list[tuple[int, int, UserSentence]] = []
    seen: Counter[str] = Counter()
    for place in reversed(range(len(every))):
        for number, sentence in enumerate(every[place].sentences):
            shape = without_numbers(sentence.text)
            seen[shape] += 1
            group = routine if seen[shape] > REPEATED else ranked
            group.append((place, number, sentence))
    chosen: dict[int, set[int]] = {}
    left = most
    newest = (1 - NEWEST_OF_WORDS) * most
    both = newest - OLDEST_OF_WORDS * most
    rules = [each for each in ranked if each[2].rule]
    by_age = ((ranked, newest), (routine, newest), (ranked[::-1], both))
    for group, least in (*by_age, (rules, 0.0)):
        for place, number, sentence in group:
            if number in chosen.get(place, ()):
                continue
            tokens = sentence.tokens + (1 if place in chosen else 5)
            if left - tokens >= least:
                left -= tokens
                chosen.setdefault(place, set()).add(number)
    return chosen


def _shown(words: UserWords, chosen: set[int]) -> str:
    """The chosen sentences with what stands between them, and a mark where something is left out."""
    if (
        len(chosen) == len(words.sentences)
        and len(words.text) <= 2 * OWN_WORDS_CHARACTERS
    ):
        return words.text
    pieces: list[str] = []
    end = 0
    for number in sorted(chosen):
        sentence = words.sentences[number]
        between = words.text[end : sentence.start]
        if any(map(str.isalpha, between)):
            pieces.append(f"\n{LEFT_OUT}\n")
        elif pieces:
            pieces.append(between)
        pieces.append(sentence.text)
        end = sentence.end
    if words.text[end:].strip() and pieces:
        pieces.append(f"\n{LEFT_OUT}")
    return "".join(pieces).strip()
