"""Instruction files that are in every request: what is beyond a good length, and paragraphs that are there twice."""

from __future__ import annotations

from typing import Final, NamedTuple

from ullage.advice.savings import SavedShare, part_of
from ullage.advice.suggestion import (
    AdviceInput,
    Suggestion,
    name_of,
    plural,
)
from ullage.meter.shares import SYSTEM_ROWS

MOST_LINES: Final = 200
"""Of an instruction file (https://code.claude.com/docs/en/memory names this number)."""

BETWEEN_FILES: Final = "\nContents of "
"""What Claude Code writes between the files of one reminder (2.1.330)."""

REMINDER: Final = "instructions"
"""The name of such a reminder, in its log and in the body of a request."""

SHORTEST_PARAGRAPH: Final = 120
"""Characters of a paragraph that counts as the same one when it is there twice."""

INSTRUCTIONS: Final = frozenset(SYSTEM_ROWS.values()) - {SYSTEM_ROWS["prompt"]}
"""Rows of what a person can shorten."""


class _InstructionText(NamedTuple):
    """One text of instructions, and the place of its item."""

    place: int
    text: str


def long_instructions(given: AdviceInput) -> list[Suggestion]:
    """Instruction files of more than ``MOST_LINES`` lines: what is beyond them."""
    found: list[Suggestion] = []
    for place, text in _texts(given):
        item = given.item(place)
        lines = 0
        beyond = 0
        for file in text.split(BETWEEN_FILES):
            rows = file.split("\n")
            if len(rows) > MOST_LINES:
                lines += len(rows)
                beyond += len("\n".join(rows[MOST_LINES:]))
        if not beyond:
            continue
        shares = [part_of(place, beyond / len(text))]
        suggestion = Suggestion(
            kind="instructions",
            title=f"{lines:,} lines in {name_of(item)}",
            text=f"saved with {MOST_LINES}; {item.tokens:,} tokens in every request",
            how=given.remedy("instructions"),
            items=tuple(shares),
            saving=given.costs.saving(shares),
            number=1,
        )
        found.append(suggestion)
    return found


def repeated_paragraphs(given: AdviceInput) -> list[Suggestion]:
    """Paragraphs that instruction files hold a second time."""
    known: set[str] = set()
    shares: list[SavedShare] = []
    names: list[str] = []
    count = 0
    for place, text in _texts(given):
        again = 0
        for paragraph in text.split("\n\n"):
            written = " ".join(paragraph.split())
            if len(written) < SHORTEST_PARAGRAPH:
                continue
            if written in known:
                again += len(paragraph)
                count += 1
            known.add(written)
        if again:
            share = again / len(text)
            shares.append(part_of(place, share))
            names.append(name_of(given.item(place)))
    if not shares:
        return []
    return [
        Suggestion(
            kind="duplicate",
            title=f"{plural(count, 'paragraph')} of instructions more than once",
            text="in " + ", ".join(names),
            how=given.remedy("instructions"),
            items=tuple(shares),
            saving=given.costs.saving(shares),
            number=count,
        )
    ]


def _texts(given: AdviceInput) -> list[_InstructionText]:
    """The instructions in the next request: blocks of the system prompt, and files that came as reminders."""
    found: dict[int, _InstructionText] = {}
    for place, block in given.contents.blocks:
        item = given.item(place)
        if item.category in INSTRUCTIONS and item.last_call is None:
            found[place] = _InstructionText(place, block.text)
    for seen in given.contents.reminders:
        item = given.item(seen.item)
        is_file = item.label == REMINDER or item.label.endswith(".md")
        if is_file and item.last_call is None:
            found[seen.item] = _InstructionText(seen.item, seen.text)
    return list(found.values())
