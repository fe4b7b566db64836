"""Facts used next: of what the calls behind a compaction use, how much it left in view, and how much is found again.

A fact counts if a call of the next 20 says it and if it stood somewhere in the conversation before the compaction, not
only in the last window: so a fact that was lost earlier stays lost. *Needed* are those that nothing but memory can have
given: no tool and no user showed them between the compaction and the call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final

from bench.quality.facts import Known, SaidFact, facts_in, unique_ends
from bench.quality.logs import LoggedSession, LogItem

RECALLS: Final = 2
RECALL_TOKENS: Final = 300
WORDS: Final = 5
"""Of a query."""
Recall = Callable[[str, int], str]
"""A query and the most tokens, to the text that is given."""


@dataclass(slots=True)
class UsedOutcome:
    """Facts behind one compaction or several. ``once`` and ``twice``: in view, or found within so many recalls."""

    compactions: int = 0
    used: int = 0
    in_view: int = 0
    needed: int = 0
    needed_in_view: int = 0
    once: int = 0
    twice: int = 0
    view_tokens: int = 0
    recalls: int = 0
    """Questions; none where there is no recall."""

    def add(self, other: UsedOutcome) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class NextFacts:
    """What the calls behind a compaction use. ``asked`` has two queries for each fact that is needed."""

    used: frozenset[SaidFact]
    needed: frozenset[SaidFact]
    asked: dict[SaidFact, tuple[str, str]]
    unique: frozenset[str]

    def outcome(
        self, view: Sequence[str], tokens: int, recall: Recall | None = None
    ) -> UsedOutcome:
        """How much of it is in a view, and how much ``recall`` brings."""
        known = Known(view)
        has = {fact for fact in self.used if known.has(fact, self.unique)}
        found = UsedOutcome(
            1, len(self.used), len(has), len(self.needed), view_tokens=tokens
        )
        for fact in self.needed:
            found.needed_in_view += fact in has
            tries = 0 if fact in has else self.tries(fact, recall, found)
            found.once += tries <= 1
            found.twice += tries <= RECALLS
        return found

    def tries(self, fact: SaidFact, recall: Recall | None, found: UsedOutcome) -> int:
        """The number of the question that brings the fact, counted in ``found``; one too many where none does."""
        if recall is not None:
            for number, query in enumerate(self.asked[fact], 1):
                found.recalls += 1
                if Known([recall(query, RECALL_TOKENS)]).has(fact, self.unique):
                    return number
        return RECALLS + 1


def next_facts(session: LoggedSession, place: int) -> NextFacts:
    """The facts that the calls behind ``place`` use, out of all that stands before it."""
    before: set[SaidFact] = set()
    rarity: Counter[str] = Counter()
    for item in session.items[:place]:
        before |= facts_in(item.text)
        rarity.update(_different_words(item.text))
    used: dict[SaidFact, bool] = {}
    asked: dict[SaidFact, tuple[str, str]] = {}
    shown: set[SaidFact] = set()
    said = ""
    for item in session.next_calls(place):
        if not item.is_call:
            shown |= facts_in(item.text)
            said = item.text if not item.is_tool else said
            continue
        for fact in facts_in(item.text) & before:
            if fact not in used:
                used[fact] = fact in shown
                asked[fact] = queries(fact, item, said, rarity)
        said = item.text
    paths = (fact.text for fact in before if fact.kind == "path")
    needed = frozenset(fact for fact, is_shown in used.items() if not is_shown)
    return NextFacts(frozenset(used), needed, asked, unique_ends(paths))


def queries(
    fact: SaidFact, item: LogItem, said: str, rarity: Counter[str]
) -> tuple[str, str]:
    """What a model would ask for that has to say this and does not know it, first and second.

    First the rarest words around the place where it says it (in the same message, else in the one before it), none of
    which is in the fact itself. Then the same with one word of the fact, as one remembers a part of a name; of a number
    or an id nothing is remembered, and the next rarest words are asked for instead.
    """
    parts = set(_words(fact.text))
    place = item.text.find(fact.text)
    near = (
        item.text[max(0, place - 300) : place]
        + " "
        + item.text[place + len(fact.text) :][:300]
    )
    around = _rarest(_words(near), parts, rarity)
    if len(around) < WORDS:
        around += [
            word
            for word in _rarest(_words(said[-600:]), parts, rarity)
            if word not in around
        ]
    first = around[:WORDS]
    remembered = sorted(
        (word for word in parts if not word.isdigit()),
        key=lambda word: (-len(word), word),
    )
    if fact.kind in ("number", "id") or not remembered:
        return " ".join(first), " ".join(around[WORDS : 2 * WORDS] or first)
    return " ".join(first), " ".join([remembered[0], *first[: WORDS - 1]])


def _rarest(words: Iterable[str], but: set[str], rarity: Counter[str]) -> list[str]:
    """The words that stood before, rarest first, without those in ``but``."""
    known = {word for word in words if word not in but and rarity[word]}
    return sorted(known, key=lambda word: (rarity[word], word))


@lru_cache(maxsize=20_000)
def _different_words(text: str) -> frozenset[str]:
    return frozenset(_words(text))


def _words(text: str) -> list[str]:
    """The words of a text, names taken apart."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text[:20_000])
    return [word.lower() for word in re.findall(r"[^\W_]{3,}", apart)]
