"""Tool results, pastes and images that nothing later refers to: a guess, by their words.

In two recorded sessions of Claude Code and pi the rule named 15 of 81 results that it could judge. By reading on, 9 of
the 15 were of no use after the next answer; the other 6 had informed a later step without being quoted.
"""

from __future__ import annotations

from typing import Final

from ullage.advice.contents import SeenPart
from ullage.advice.lives import ItemLife
from ullage.advice.savings import SavedShare
from ullage.advice.suggestion import (
    FEWEST_CALLS,
    AdviceInput,
    Suggestion,
    SuggestionKind,
    largest_names,
    plural,
)
from ullage_programs.advice import Remedied

FEWEST_WORDS: Final = 5
"""Distinctive words that a text must have brought: with fewer it can't be told whether one is used again."""

SMALLEST: Final = 300
"""Tokens of an item below which it is not looked at."""

LARGE_PASTE: Final = 2_000
"""Tokens from which on a message of a person is a paste."""

LEAST_RIGHT: Final = 0.5
"""The lower end of a guess: the share of such results that are taken to be of no use at least (9 of 15 were)."""


def unreferred_results(given: AdviceInput) -> list[Suggestion]:
    """Results of tools whose words no later answer, call or message of a person has."""
    seen: list[SeenPart] = []
    for result in given.contents.results:
        if _is_unused(given, result) and not _is_path_used(given, result):
            seen.append(result)
    return _suggested(given, seen, "unreferred", "tool result", "results")


def unreferred_pastes(given: AdviceInput) -> list[Suggestion]:
    """Long texts of a person whose words are not used later."""
    seen: list[SeenPart] = []
    for text in given.contents.texts:
        is_long = given.item(text.item).tokens >= LARGE_PASTE
        if is_long and _is_unused(given, text):
            seen.append(text)
    return _suggested(given, seen, "paste", "long paste", "paste")


def old_images(given: AdviceInput) -> list[Suggestion]:
    """Images of which no answer speaks after the call that followed them."""
    seen: list[SeenPart] = []
    last = max(given.contents.image_words, default=0)
    for image in given.contents.images:
        item = given.item(image.item)
        is_old = given.calls_since(item) >= FEWEST_CALLS
        if is_old and last < image.place:
            seen.append(image)
    return _suggested(given, seen, "image", "image", "image")


def _is_unused(given: AdviceInput, seen: SeenPart) -> bool:
    item = given.item(seen.item)
    if item.tokens < SMALLEST or len(seen.words) < FEWEST_WORDS:
        return False
    if given.calls_since(item) < FEWEST_CALLS:
        return False
    return given.contents.last_use(seen.words) <= seen.place


def _is_path_used(given: AdviceInput, result: SeenPart) -> bool:
    """Whether a later call names the same file: an edit of what was read."""
    path = given.item(result.item).path
    if not path:
        return False
    return given.contents.last_call_for(path) > result.place


def _suggested(
    given: AdviceInput,
    seen: list[SeenPart],
    kind: SuggestionKind,
    noun: str,
    what: Remedied,
) -> list[Suggestion]:
    if not seen:
        return []
    shares: list[SavedShare] = []
    items: list[ItemLife] = []
    for part in seen:
        shares.append(SavedShare(part.item, low=LEAST_RIGHT))
        items.append(given.item(part.item))
    count = len(seen)
    was = plural(count, f"{noun} was", f"{noun}s were")
    return [
        Suggestion(
            kind=kind,
            title=f"{was} not referred to later",
            text=largest_names(items),
            how=given.remedy(what),
            items=tuple(shares),
            saving=given.costs.saving(shares),
            is_guess=True,
            number=count,
        )
    ]
