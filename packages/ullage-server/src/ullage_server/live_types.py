"""The JSON types of the advice and of the sessions that run on this machine."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ullage.advice.next_compaction import CallsLeft
from ullage.advice.savings import TokenSaving
from ullage.advice.suggestion import AdviceOutcome, SuggestionKind

SHOWN: Final = 200
"""Characters of a text that comes from elsewhere, such as a title, a label or a path."""

REMEMBERED: Final = 10_000
"""Sessions, keys or calls of which something small is held: some 2 MB."""


class NamedItem(Struct, frozen=True, kw_only=True):
    """An item of the window that a suggestion names: its part and message, the row it is in, and its tokens."""

    part: str
    message: str
    category: str
    tool: str
    label: str
    tokens: int


class AdviceLine(Struct, frozen=True, kw_only=True):
    """What costs tokens, and how to save them. ``items`` are the largest of ``count``."""

    kind: SuggestionKind
    title: str
    text: str
    how: str
    saving: TokenSaving
    items: tuple[NamedItem, ...]
    count: int


class CompactionAhead(Struct, frozen=True, kw_only=True):
    """The next compaction: who compacts, in how many calls, and how many tokens leave; ``null`` is unknown."""

    by: str
    threshold: int
    left: CallsLeft | None
    leaves: int | None
    stays: int | None
    note: str


class AdviceView(Struct, frozen=True, kw_only=True):
    """Suggestions, the best first, what they save together, and what became of earlier ones that were followed."""

    suggestions: tuple[AdviceLine, ...]
    total: TokenSaving
    compaction: CompactionAhead | None
    outcomes: tuple[AdviceOutcome, ...]


class LiveLine(Struct, frozen=True, kw_only=True):
    """A session of any program that runs on this machine. ``null`` is unknown; ``problem`` says why.

    ``tokens`` are those of the next call. ``is_busy``: it was written to in the last seconds.
    """

    id: str
    program: str
    project: str
    title: str
    model: str
    changed: float
    is_busy: bool
    is_proxied: bool
    calls: int
    tokens: int | None
    low: int | None
    high: int | None
    window: int | None
    compaction_point: int | None
    problem: str


class LiveList(Struct, frozen=True, kw_only=True):
    """The sessions that run, the one that changed last first. ``unread`` are those whose logs are not read yet."""

    sessions: tuple[LiveLine, ...]
    unread: int
