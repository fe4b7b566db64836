"""Searches all sessions of a store by title and by what was said, a bounded piece at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.events import Event, MessageAdded, MessageReplaced
from ullage.messages import Message
from ullage.store.store import AT_ONCE, SessionCursor, SessionRow, SessionStore

AROUND: Final = 60
"""Characters of an excerpt on each side of the first word found."""


class SearchPlace(NamedTuple):
    """Where a search continues: the sessions behind ``before``, and in ``session`` the events behind ``seq``."""

    before: SessionCursor | None = None
    session: str = ""
    seq: int = 0


class FoundMessage(NamedTuple):
    """A message in which all words are: its id, and the text around the first of them."""

    message: str
    excerpt: str


class FoundText(NamedTuple):
    """A session that was found; ``hit`` is ``None`` where its title, id or model has all words."""

    row: SessionRow
    hit: FoundMessage | None


class SearchPage(NamedTuple):
    """What was found, the session changed last first; ``searched`` sessions were looked through to their end.

    ``next`` is where the search continues; ``None`` after the last session.
    """

    found: tuple[FoundText, ...]
    searched: int
    next: SearchPlace | None


async def search(
    store: SessionStore,
    text: str,
    *,
    limit: int = 20,
    place: SearchPlace | None = None,
    seconds: float = 1.0,
) -> SearchPage:
    """The sessions whose title, id or model holds all words of ``text``, or else one of whose messages does.

    Ends after ``limit`` sessions, or at the first piece of ``AT_ONCE`` events behind ``seconds``: each call gets
    further. What people and models said is searched, not tool results or reasoning; upper and lower case are the same.
    Raises ``StoreUnavailable``.
    """
    words = text.casefold().split()
    end = time.monotonic() + seconds
    begin = place or SearchPlace()
    cursor = begin.before
    found: list[FoundText] = []
    searched = 0
    while rows := await store.sessions(limit=AT_ONCE, before=cursor):
        for row in rows:
            seq = begin.seq if row.id == begin.session else 0
            if holds(f"{row.title} {row.id} {row.model}", words):
                found.append(FoundText(row, None))
            else:
                looked = await _look(store, row, words, seq, end)
                if looked.hit is not None:
                    found.append(FoundText(row, looked.hit))
                elif looked.seq < row.seq:
                    rest = SearchPlace(cursor, row.id, looked.seq)
                    return SearchPage(tuple(found), searched, rest)
            searched += 1
            cursor = row.cursor
            if len(found) >= limit or time.monotonic() >= end:
                return SearchPage(tuple(found), searched, SearchPlace(cursor))
    return SearchPage(tuple(found), searched, None)


def holds(text: str, words: Sequence[str]) -> bool:
    """Whether a text holds each of these case-folded words."""
    folded = text.casefold()
    return all(word in folded for word in words)


class _Looked(NamedTuple):
    """The first message found, and the event up to which the session was looked through."""

    hit: FoundMessage | None
    seq: int


async def _look(
    store: SessionStore, row: SessionRow, words: Sequence[str], after: int, end: float
) -> _Looked:
    seq = after
    while events := await store.read(row.id, after=seq, limit=AT_ONCE):
        hit = await asyncio.to_thread(first_hit, events, words)
        seq = events[-1].seq
        if hit is not None or time.monotonic() >= end or len(events) < AT_ONCE:
            return _Looked(hit, seq)
    return _Looked(None, max(seq, row.seq))


def first_hit(events: Sequence[Event], words: Sequence[str]) -> FoundMessage | None:
    """The first message of these events that holds all words."""
    for event in events:
        if isinstance(event, MessageAdded | MessageReplaced):
            text = _said(event.message)
            if holds(text, words):
                return FoundMessage(event.message.id, excerpt_of(text, words[0]))
    return None


def _said(message: Message) -> str:
    if message.role not in ("user", "assistant"):
        return ""
    return message.text


def excerpt_of(text: str, word: str) -> str:
    """The text around a case-folded word, as one line."""
    at = max(text.lower().find(word), 0)
    start = max(at - AROUND, 0)
    if start:
        start = text.find(" ", start, at) + 1 or start
    stop = at + len(word) + AROUND
    line = " ".join(text[start:stop].split())
    before = "…" if start else ""
    after = "…" if stop < len(text) else ""
    return f"{before}{line}{after}"
