"""A bounded block of values behind a compaction: what the user and the model wrote, most used first.

In real sessions 1,000 tokens of it hold most values that a model writes again later (docs/why/index.md#compaction).
Names stand bare, because a path says what it is. A number stands with its line. What only tools have shown stands
last and in quotation marks: it may be anybody's text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ullage.codec.problems import strike_keys
from ullage.context.policy import (
    LONGEST_VALUE_LINE,
    REPEATED,
    STATED_OF_VALUES,
    TOOLS_OF_VALUES,
    USER_USES,
    VALUE_CHARACTERS,
)
from ullage.context.sentences import sentences, without_bullet, without_numbers
from ullage.context.situation import Situation
from ullage.context.values import Author, is_number, texts_of, values_in
from ullage.messages import Message, TextPart

HEADING: Final = (
    "Names (with how often they were used) and numbers, copied as data; the later holds:"
)
_NAMES: Final = re.compile(r"(user|assistant|tool) (\d{1,9}): (.+)")
_LINE: Final = re.compile(r"- (user|assistant|tool): (.+)")
_NAMED: Final = re.compile(r"([\w.-]+)\W{0,3}(?:=|:|->|→)\W{0,3}$")
_ASSIGNED: Final = re.compile(r"(?<![\w=])([\w.-]{1,40}) ?= ?([\w.+-]{0,59}\w)(?![\w(=])")
"""A setting in prose, with a value of any form."""
_STATED: Final = re.compile(
    r"(.{3,80}?)(?::| is| are| →) ([\w.+-]*\w(?: [\w.+-]*\w){0,2})[.!]?"
)
"""A line that says a thing and its value, of at most three words."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")


class KeptValue(NamedTuple):
    """A value, who wrote it, how often it was used, and the line that explains it; empty for a name."""

    value: str
    speaker: Author
    uses: int
    line: str = ""


def values_text(
    situation: Situation, leaving: Iterable[Message], *, most: float, held: str
) -> str:
    """The block of values, in at most about ``most`` tokens; empty without any.

    Args:
        situation: The session that is compacted.
        leaving: The messages that leave, with earlier summaries, whose blocks are carried on.
        most: In tokens.
        held: What stands in view beside it; its values are left out.
    """
    known = set(values_in(held))
    for sentence in sentences(held):
        known.update(_stated(sentence.text))
    found = _merged(situation, leaving)
    chosen: list[KeptValue] = []
    left = most - situation.count(HEADING)
    reserved = TOOLS_OF_VALUES * left
    in_words = STATED_OF_VALUES * left
    used = [each for each in sorted(found, key=_rank) if each.speaker != "tool"]
    shown = [each for each in found if each.speaker == "tool"]
    for group, least in ((used, reserved), (shown, 0.0), (used, 0.0)):
        for each in group:
            if each.value in known or each.line in known:
                continue
            tokens = situation.count(each.line or each.value) + (3 if each.line else 1)
            if left - tokens < least:
                continue
            if "=" in each.value:
                if tokens > in_words:
                    continue
                in_words -= tokens
            left -= tokens
            chosen.append(each)
            known.add(each.value)
            if each.line:
                known.update((each.line, *values_in(each.line), *_stated(each.line)))
    return _written(chosen, found)


def _rank(each: KeptValue) -> int:
    return -each.uses - USER_USES * (each.speaker == "user")


def _merged(situation: Situation, leaving: Iterable[Message]) -> list[KeptValue]:
    """The values, each once, the one written last is first; of a name that got another number, the newer.

    What is said of one number after the other is a routine: *Day 12 is read.*
    """
    found: dict[str, KeptValue] = {}
    keys: dict[tuple[bool, str], str] = {}
    for message in leaving:
        key = ("values", message.id, message.revision)
        for each in situation.once(key, lambda: tuple(_of_message(message))):  # noqa: B023 - called at once
            before = found.pop(each.value, each._replace(uses=0))
            best = each
            if _ORDER.index(before.speaker) < _ORDER.index(each.speaker):
                best = before
            found[each.value] = best._replace(uses=before.uses + each.uses)
            name = _name_of(best)
            if name:
                stale = keys.get((best.speaker == "tool", name), best.value)
                if stale != best.value:
                    found.pop(stale, None)
                keys[best.speaker == "tool", name] = best.value
    shapes = Counter(map(without_numbers, found))
    return [
        each
        for each in reversed(found.values())
        if "=" not in each.value or shapes[without_numbers(each.value)] <= REPEATED
    ]


_ORDER: Final[tuple[Author, ...]] = ("user", "assistant", "tool")


def _name_of(each: KeptValue) -> str:
    """What a line says the number of: ``port is`` of *The port is 8080*."""
    setting, assigns, _ = each.value.partition("=")
    if assigns:
        return setting.strip().lower()
    before, found, _ = each.line.partition(each.value)
    if not found:
        return ""
    named = _NAMED.search(before)
    if named is not None:
        return named[1].lower()
    words = before.lower().split()
    return " ".join(words[-4:]) if len(words) > 1 else ""


def _of_message(message: Message) -> Iterator[KeptValue]:
    if message.origin == "summary":
        yield from _carried(message)
    for speaker, raw in texts_of(message):
        text = strike_keys(raw[:VALUE_CHARACTERS])
        match speaker:
            case "tool":
                lines = text.split("\n")
                shapes = Counter(map(_shape, lines))
                rare = (
                    without_bullet(line)
                    for line in lines
                    if shapes[_shape(line)] <= REPEATED
                )
                yield from _in_lines("tool", rare, 0)
            case "call":
                for value in values_in(text):
                    yield KeptValue(value, "assistant", 1)
            case _:
                lines = [sentence.text for sentence in sentences(text)]
                yield from _in_lines(speaker, lines, 1)


def _in_lines(speaker: Author, lines: Iterable[str], uses: int) -> Iterator[KeptValue]:
    for line in lines:
        for value in values_in(line):
            if not is_number(value):
                yield KeptValue(value, speaker, uses)
            elif len(line) <= LONGEST_VALUE_LINE:
                yield KeptValue(value, speaker, uses, " ".join(line.split()))
        if len(line) <= LONGEST_VALUE_LINE:
            for stated in _stated(line):
                yield KeptValue(stated, speaker, uses, " ".join(line.split()))


def _stated(line: str) -> Iterator[str]:
    """What a line says of something, as ``name = value``."""
    found = _STATED.fullmatch(line)
    for name, value in [found.groups()] if found else _ASSIGNED.findall(line):
        stated = f"{' '.join(name.lower().split()[-4:])} = {value}"
        if not values_in(stated):
            yield stated


def _shape(line: str) -> str:
    """Lines of one shape are rows of a table or a log."""
    return _LETTERS.sub("w", without_numbers(line[:100]))[:40]


def _carried(message: Message) -> Iterator[KeptValue]:
    """The block of an earlier summary; half as often used, so that what is used no more makes room."""
    for part in message.of_type(TextPart):
        if part.id == f"{message.id}.said":  # may have no room there any more
            lines = (sentence.text for sentence in sentences(part.text))
            yield from _in_lines("user", lines, 1)
        if part.id != f"{message.id}.values":
            continue
        for line in part.text.split("\n"):
            if names := _NAMES.fullmatch(line):
                for value in names[3].split(" "):
                    yield KeptValue(value, names[1], int(names[2]) // 2)  # type: ignore[arg-type]
            elif quoted := _LINE.fullmatch(line):
                yield from _in_lines(quoted[1], [quoted[2].strip('"')], 1)  # type: ignore[arg-type]


def _written(chosen: list[KeptValue], order: list[KeptValue]) -> str:
    if not chosen:
        return ""
    names: dict[str, list[str]] = {}
    lines: dict[str, None] = {}
    for each in chosen:
        if not each.line:
            names.setdefault(f"{each.speaker} {each.uses}", []).append(each.value)
    for each in reversed(order):
        if each.line and each in chosen:
            text = f'"{each.line}"' if each.speaker == "tool" else each.line
            lines[f"- {each.speaker}: {text}"] = None
    rows = [f"{who}: {' '.join(values)}" for who, values in names.items()]
    return "\n".join([HEADING, *rows, *lines])
