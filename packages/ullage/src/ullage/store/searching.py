"""Searches titles, what people and models said, and what tools were given and returned, in all sessions of a tenant."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

from ullage.errors import SessionNotFound
from ullage.events import MessageAdded, MessageReplaced
from ullage.store.policy import (
    AROUND,
    MOST_LOOKED_AT,
    PLACES_AT_ONCE,
    SEARCHED_CHARACTERS,
)
from ullage.store.store import (
    DEFAULT_TENANT,
    MOST_LISTED,
    SessionRow,
    SessionStore,
    TextPlace,
)
from ullage.store.words import Mark, Wanted, searched_text


class FoundText(NamedTuple):
    """A session with all words in one message, ``message``, or in its title or id: then ``message`` is empty.

    ``excerpt`` is the text around the first of them, as one line; ``marks`` are where the words are in it.
    """

    row: SessionRow
    message: str
    excerpt: str
    marks: tuple[Mark, ...]


class SearchPage(NamedTuple):
    """What was found, what was indexed last first. The search continues before ``next``; ``None``: that is all."""

    found: tuple[FoundText, ...]
    next: int | None


async def search(
    store: SessionStore,
    text: str,
    *,
    limit: int = 20,
    before: int | None = None,
    tenant: str = DEFAULT_TENANT,
) -> SearchPage:
    """The sessions with all words of ``text`` in one message or in the title, each once in a page; or with this id.

    Words are whole ones, but the last may go on; upper and lower case are the same. Reads at most ``MOST_LOOKED_AT``
    messages: a page may have less than ``limit`` and a ``next``. A later page may have a session of an earlier one
    again, for an older message. Raises ``StoreUnavailable``.

    Args:
        store: Where the sessions are.
        text: Words, separated by white space.
        limit: The most sessions.
        before: ``next`` of the page before.
        tenant: Whose sessions.
    """
    wanted = Wanted(text)
    found: dict[str, FoundText] = {}
    if before is None and text.isprintable():
        with suppress(SessionNotFound):
            row = await store.about(text.strip())
            if row.tenant == tenant:
                found[row.id] = FoundText(row, "", "", ())
    looked_at, number = 0, MOST_LISTED if before is None else before
    is_all = not wanted.terms
    while not is_all:
        places = await store.find(wanted.terms, before=number, tenant=tenant)
        for place in places:
            if len(found) >= limit or looked_at >= MOST_LOOKED_AT:
                return SearchPage(tuple(found.values()), number)
            number = place.number
            if place.session not in found:
                looked_at += 1
                with suppress(SessionNotFound):
                    hit = await _look(store, place, wanted)
                    if hit is not None:
                        found[place.session] = hit
        is_all = len(places) < PLACES_AT_ONCE
    return SearchPage(tuple(found.values()), None)


async def _look(
    store: SessionStore, place: TextPlace, wanted: Wanted
) -> FoundText | None:
    """What an event has of the words as they were typed. Of titles only the one that the session has now counts."""
    for event in await store.read_these(place.session, [place.seq]):
        if isinstance(event, MessageAdded | MessageReplaced):
            message, text = event.message.id, searched_text(event)
        else:
            title = (await store.about(place.session)).title
            message, text = "", title[:SEARCHED_CHARACTERS]
        excerpt = await asyncio.to_thread(_excerpt, text, wanted)
        if excerpt is not None:
            marks = tuple(wanted.marks(excerpt))
            return FoundText(await store.about(place.session), message, excerpt, marks)
    return None


def _excerpt(text: str, wanted: Wanted) -> str | None:
    return excerpt_of(text, wanted) if wanted.are_in(text) else None


def excerpt_of(text: str, wanted: Wanted) -> str:
    """The text around the first word that is wanted, as one line."""
    first = wanted.first(text)
    start = max(first.start - AROUND, 0)
    if start:
        start = text.find(" ", start, first.start) + 1 or start
    stop = first.end + AROUND
    line = " ".join(text[start:stop].split())
    before = "…" if start else ""
    after = "…" if stop < len(text) else ""
    return f"{before}{line}{after}"
