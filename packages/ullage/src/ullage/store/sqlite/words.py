"""The index of words in SQLite, by FTS5: it has no text, only where a word is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from ullage.store.policy import PLACES_AT_ONCE, VOLUME_BITS
from ullage.store.rows import EventRow, to_event
from ullage.store.sqlite.transaction import SessionHead, Transaction, statements
from ullage.store.store import TextPlace
from ullage.store.tenants import prefix_of
from ullage.store.words import searched_text, words_of

LARGEST: Final = 2**63 - 1


def index(work: Transaction, where: SessionHead) -> None:
    """Add the words of the session's events that are not in the index yet."""
    after = work.run("indexed_up_to", where.key).fetchone()[0]
    found = list(_words(work, where, after))
    if not found:
        return
    first = _newest(work.database)
    upto = found[-1][0]
    work.run("add_texts", first, where.key, after, upto)
    for seq, prefix, words in found:
        number = first + seq - after
        work.run("add_words", number, _terms(prefix, number, words))


def forget(work: Transaction, where: SessionHead) -> None:
    """Delete the session's words. FTS5 finds them by the words themselves, so its events are read once more."""
    batches = work.run("texts_of", where.key).fetchall()
    for seq, prefix, words in _words(work, where, 0) if batches else ():
        for first, after, upto in batches:
            if after < seq <= upto:
                number = first + seq - after
                work.run("delete_words", number, _terms(prefix, number, words))
    work.run("delete_texts", where.key)


def find(
    database: sqlite3.Connection,
    terms: Sequence[str],
    tenant: str,
    before: int,
) -> list[TextPlace]:
    """See ``SessionStore.find``. Goes through one volume of the index after the other, the newest first."""
    prefix = prefix_of(tenant)
    found: list[TextPlace] = []
    before = min(before, LARGEST)
    volume = min(before, _newest(database)) >> VOLUME_BITS
    while volume >= 0 and len(found) < PLACES_AT_ONCE:
        query = " AND ".join(
            f'"{prefix}{volume}:{term[:-1]}" *'
            if term.endswith("*")
            else f'"{prefix}{volume}:{term}"'
            for term in terms
        )
        values = (query, before, PLACES_AT_ONCE - len(found))
        rows = database.execute(statements()["find_texts"], values)
        found += [TextPlace(*row) for row in rows]
        volume -= 1
    return found


def _newest(database: sqlite3.Connection) -> int:
    """The highest number of a row."""
    return int(database.execute(statements()["newest_text"]).fetchone()[0])


def _terms(prefix: str, number: int, words: Sequence[str]) -> str:
    volume = number >> VOLUME_BITS
    return " ".join(f"{prefix}{volume}:{word}" for word in words)


def _words(
    work: Transaction, where: SessionHead, after: int
) -> Iterator[tuple[int, str, Sequence[str]]]:
    """The numbers of the events that have words, with what the tenant's begin with, and these."""
    prefix = prefix_of(work.run("tenant", where.key).fetchone()[0])
    for row in work.database.execute(statements()["read_events"], (where.key, after, -1)):
        event = to_event(where.session, EventRow(*row))
        words = sorted(words_of(searched_text(event)))
        if words:
            yield event.seq, prefix, words
