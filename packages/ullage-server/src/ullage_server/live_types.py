"""The JSON types of the window's map and of the sessions that run on this machine."""

from __future__ import annotations

from msgspec import Struct

from ullage.advice.lives import WhyLeft
from ullage.advice.next_compaction import CallsLeft
from ullage.advice.savings import TokenSaving
from ullage.advice.suggestion import SuggestionKind


class MapCall(Struct, frozen=True, kw_only=True):
    """A main call, or ``calls`` of them up to this ``number`` in a long session: the one that held most.

    ``marks`` are the events before them: ``compaction``, ``prune``, ``model``, ``rewind``, and ``cache`` where much was
    paid for again that the provider's cache should have held.
    """

    number: int
    calls: int
    at: float
    model: str
    tokens: int
    cached: int | None
    cost: float | None
    """In US dollars at list prices, of all ``calls``."""
    marks: tuple[str, ...]


class MapItem(Struct, frozen=True, kw_only=True):
    """An item of the window, or ``count`` small ones of a category together.

    It came with call ``first_call`` and left after ``last_call``; ``null`` is still in the window. ``sent`` are its
    tokens times the calls that held it.
    """

    key: str
    """Tells it from the others, also in the map of a later moment."""
    part: str
    message: str
    category: str
    label: str
    tool: str
    tokens: int
    low: int
    high: int
    first_call: int
    last_call: int | None
    why_left: WhyLeft
    sent: int
    cost: float | None
    """What that came to, in US dollars at list prices."""
    leaves: bool
    """The next compaction takes it out of the window."""
    count: int
    sizes: tuple[tuple[int, int], ...]
    """Of several items together: the tokens from a call on. Empty for one."""


class MapCategory(Struct, frozen=True, kw_only=True):
    """A row of the reading, with the items that it has in the window."""

    name: str
    tokens: int
    items: int


class WindowMap(Struct, frozen=True, kw_only=True):
    """What is in the window and what was in it, call by call. Bounded: small items are together in one."""

    calls: tuple[MapCall, ...]
    categories: tuple[MapCategory, ...]
    items: tuple[MapItem, ...]


class AdviceLine(Struct, frozen=True, kw_only=True):
    """What costs tokens, and how to save them. ``items`` are keys of the map's items, the largest of ``count``."""

    kind: SuggestionKind
    title: str
    text: str
    how: str
    saving: TokenSaving
    items: tuple[str, ...]
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
    """Suggestions, the best first, and what they save together."""

    suggestions: tuple[AdviceLine, ...]
    total: TokenSaving
    compaction: CompactionAhead | None


class SessionMap(Struct, frozen=True, kw_only=True):
    """The map of a session's window, and what would make room in it."""

    map: WindowMap
    advice: AdviceView


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


class LiveSubagent(Struct, frozen=True, kw_only=True):
    """A subagent of a running session. Its ``id`` is one of ``GET /v1/live/{id}``; ``null`` is unknown."""

    id: str
    title: str
    calls: int
    tokens: int | None
    window: int | None
