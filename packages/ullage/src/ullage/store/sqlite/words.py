"""The index of words in SQLite, by FTS5: it has no text, only where a word is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from ullage.store.rows import EventRow, to_event
from ullage.store.sqlite.transaction import SessionHead, Transaction, statements
from ullage.store.store import TextPlace
from ullage.store.tenants import prefix_of
from ullage.store.words import searched_text, words_of


def index(work: Transaction, where: SessionHead) -> None:
    """Add the words of the session's events that are not in the index yet."""
    after = work.run("indexed_up_to", where.key).fetchone()[0]
    prefix = prefix_of(work.run("tenant", where.key).fetchone()[0])
    found = list(_words(work.database, where, prefix, after))
    if not found:
        return
    first = work.run("next_text").fetchone()[0]
    upto = found[-1][0]
    work.run("add_texts", first, where.key, after, upto)
    rows = [(first + seq - after, words) for seq, words in found]
    work.database.executemany(statements()["add_words"], rows)


def forget(work: Transaction, where: SessionHead) -> None:
    """Delete the session's words. FTS5 finds them by the words themselves, so its events are read once more."""
    prefix = prefix_of(work.run("tenant", where.key).fetchone()[0])
    batches = work.run("texts_of", where.key).fetchall()
    for seq, words in _words(work.database, where, prefix, 0) if batches else ():
        for first, after, upto in batches:
            if after < seq <= upto:
                work.run("delete_words", first + seq - after, words)
    work.run("delete_texts", where.key)


def find(
    database: sqlite3.Connection,
    terms: Sequence[str],
    tenant: str,
    before: int,
    limit: int,
) -> list[TextPlace]:
    """See ``SessionStore.find``."""
    prefix = prefix_of(tenant)
    query = " AND ".join(
        f'"{prefix}{term[:-1]}" *' if term.endswith("*") else f'"{prefix}{term}"'
        for term in terms
    )
    rows = database.execute(statements()["find_texts"], (query, before, limit))
    return [TextPlace(*row) for row in rows]


def _words(
    database: sqlite3.Connection, where: SessionHead, prefix: str, after: int
) -> Iterator[tuple[int, str]]:
    """The numbers of the events that have words, with these."""
    for row in database.execute(statements()["read_events"], (where.key, after, -1)):
        event = to_event(where.session, EventRow(*row))
        words = sorted(words_of(searched_text(event)))
        if words:
            yield event.seq, " ".join(prefix + word for word in words)
