"""One thing that a person can do to make the requests of a session smaller or cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from ullage.advice.history import WindowHistory
from ullage.advice.lives import ItemLife
from ullage.advice.policy import LONGEST_NAME
from ullage.advice.savings import SavedShare, SessionCosts, TokenSaving
from ullage.display.text import shortened
from ullage.events import Event
from ullage_programs.advice import Remedied, remedy_of

SuggestionKind = Literal[
    "unused_server",
    "unused_tools",
    "long_output",
    "long_result",
    "pictures",
    "instructions",
    "cache",
]


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What costs tokens, what would be saved without it, and how to do that.

    ``items`` are what it is about, as places in ``WindowHistory.items`` and shares of them.
    """

    kind: SuggestionKind
    title: str
    text: str = ""
    quote: str = ""
    """What stands where a request differs: a piece of the system prompt, of a tool or of a setting."""
    how: str = ""
    items: tuple[SavedShare, ...] = ()
    saving: TokenSaving = TokenSaving()
    number: int = 0
    """How many items, calls or tools the title names."""


class AdviceOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Suggestions that were followed: the tokens that they promised and those that were saved, a ``unit`` each."""

    title: str
    unit: str
    promised: int
    measured: int
    has_helped: bool


class AdviceInput(NamedTuple):
    """What suggestions are made from."""

    history: WindowHistory
    events: Sequence[Event]
    costs: SessionCosts
    subagent_tools: frozenset[str] = frozenset()

    def item(self, place: int) -> ItemLife:
        """The item at this place."""
        return self.history.items[place]

    def remedy(self, what: Remedied, name: str = "") -> str:
        """How it is done in the program that made the session."""
        return remedy_of(self.history.program, what, name)

    def without(
        self,
        shares: Sequence[SavedShare],
        kind: SuggestionKind,
        title: str,
        text: str,
        how: str,
    ) -> Suggestion:
        """The suggestion to leave these shares of items out."""
        return Suggestion(
            kind=kind,
            title=title,
            text=text,
            how=how,
            items=tuple(shares),
            saving=self.costs.saving(shares),
            number=len(shares),
        )

    def largest_names(self, shares: Sequence[SavedShare], most: int = 2) -> str:
        """The largest of these items by name and tokens."""
        items = [self.item(each.place) for each in shares]
        items.sort(key=lambda item: -item.tokens)
        names = [f"{name_of(item)} ({item.tokens:,})" for item in items[:most]]
        left = len(items) - most
        if left > 0:
            names.append(f"{left:,} more")
        return ", ".join(names)


def name_of(item: ItemLife) -> str:
    """What an item is called: its label, or what is left of it where content is not shown."""
    name = item.label or item.tool or item.category
    return shortened(name, LONGEST_NAME)
