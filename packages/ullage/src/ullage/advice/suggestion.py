"""One thing that a person can do to make the requests of a session smaller or cheaper."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from ullage.advice.contents import SessionContents
from ullage.advice.history import WindowHistory
from ullage.advice.lives import ItemLife
from ullage.advice.savings import SavedShare, SessionCosts, TokenSaving
from ullage_programs.advice import Remedied, remedy_of

SuggestionKind = Literal[
    "unused_server",
    "unused_tools",
    "unused_listing",
    "unreferred",
    "read_again",
    "same_result",
    "long_output",
    "instructions",
    "duplicate",
    "paste",
    "image",
    "cache",
]

FEWEST_CALLS: Final = 3
"""Calls after which something that was not used counts as unused: what is new may be needed yet."""

LONGEST_NAME: Final = 36

LEAST_TOKENS: Final = 500
"""Tokens a call below which nothing is suggested."""


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What costs tokens, what would be saved without it, and how to do that.

    ``items`` are what it is about, as places in ``WindowHistory.items`` and shares of them.
    """

    kind: SuggestionKind
    title: str
    text: str = ""
    how: str = ""
    items: tuple[SavedShare, ...] = ()
    saving: TokenSaving = TokenSaving()
    is_guess: bool = False
    """Whether it rests on words that were looked for and not found, and may be wrong."""
    number: int = 0
    """How many items, calls or tools the title names."""


class AdviceInput(NamedTuple):
    """What suggestions are made from."""

    history: WindowHistory
    contents: SessionContents
    costs: SessionCosts
    subagent_tools: frozenset[str] = frozenset()

    @property
    def called(self) -> set[str]:
        """Names of the tools that were called, also by subagents alone."""
        names = set(self.subagent_tools)
        for call in self.contents.calls:
            names.add(call.part.name)
        return names

    def item(self, place: int) -> ItemLife:
        """The item at this place."""
        return self.history.items[place]

    def remedy(self, what: Remedied, name: str = "") -> str:
        """How it is done in the program that made the session."""
        return remedy_of(self.history.program, what, name)

    def calls_since(self, item: ItemLife) -> int:
        """How many requests held the item after the first one."""
        return self.costs.calls_of(item) - 1


def plural(count: int, one: str, many: str = "") -> str:
    """``1 result``, ``3 results``."""
    if count == 1:
        return f"1 {one}"
    return f"{count:,} {many or one + 's'}"


def name_of(item: ItemLife) -> str:
    """What an item is called: its label, or what is left of it where content is not shown."""
    name = item.label or item.tool or item.category
    if len(name) > LONGEST_NAME:
        name = name[: LONGEST_NAME - 1].rstrip() + "…"
    return name


def largest_names(items: list[ItemLife], most: int = 2) -> str:
    """The largest items by name and tokens."""
    ordered = sorted(items, key=lambda item: -item.tokens)
    names: list[str] = []
    for item in ordered[:most]:
        names.append(f"{name_of(item)} ({item.tokens:,})")
    left = len(items) - most
    if left > 0:
        names.append(f"{left:,} more")
    return ", ".join(names)
