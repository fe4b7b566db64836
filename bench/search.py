"""What a search costs in a store of so many sessions, and what its index takes.

    uv run python -m bench.search                                    # 100 and 50,000 sessions in SQLite
    uv run python -m bench.search --sessions 1000000 [--postgres]    # some minutes

Each session has two messages of about 600 characters, of ``VARIANTS`` that there are. They are put into the tables by
SQL; one session of another message is made last. CPU is that of this process, for PostgreSQL that of all its processes
too. Of ``TIMES`` searches, the median is shown; the first of all reads what the caches lack.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import asyncpg

from bench.invented import Writer
from bench.results import Table, machine
from bench.store_postgres import cpu_of, store_place
from tests.postgres import PostgresServer
from ullage.event_words import EVENT_WORDS
from ullage.events import MessageAdded
from ullage.messages import Message, TextPart
from ullage.store.places import store_at
from ullage.store.rows import json_of, pack
from ullage.store.searching import search
from ullage.store.store import SessionStore
from ullage.store.words import words_of

VARIANTS: Final = 2_000
MESSAGES: Final = 2
"""Of a session."""
TIMES: Final = 9
AT_ONCE: Final = 20_000
RARE: Final = 7
"""Of the variants, one has the rare word, so that sessions in the middle of a million have it too."""

SEARCHES: Final = {
    "a word of every session": "pump",
    "a beginning that many words have": "com",
    "two words of one message in 1,000": "pump quincunx",
    "a word of one session": "zinfandel",
    "a word that is nowhere": "zeugmatic",
    "a path that is nowhere, of words that are": "pump/pump.pump",
}


class Variant(NamedTuple):
    """A message as the tables have it."""

    number: int
    body: bytes
    words: str


class SearchCost(NamedTuple):
    """Seconds of one search."""

    wall_s: float
    cpu_s: float
    found: int


def added(text: str) -> MessageAdded:
    """A message of a person."""
    part = TextPart(id="p", text=text)
    return MessageAdded(message=Message(id="m", role="user", parts=(part,)))


def variants() -> list[Variant]:
    """The messages that sessions are made of."""
    author = Writer(1)
    made: list[Variant] = []
    for number in range(VARIANTS):
        text = f"pump {author.prose(600)}" + " quincunx" * (number == RARE)
        body = pack(json_of(added(text)), EVENT_WORDS)
        made.append(Variant(number, body, " ".join(sorted(words_of(text)))))
    return made


SQLITE: Final = """
INSERT INTO sessions (key, id, title, model, created, changed, listed, origin)
SELECT value, 's' || value, 'Session ' || value, 'model', value, value, value, '' FROM generated;
INSERT INTO events (id, at, body)
SELECT value << 32 | seq, value, body FROM generated, parts JOIN variants ON number = (value * 2 + seq) % {variants};
INSERT INTO texts (first, session, after, upto) SELECT value * 2, value, 0, 2 FROM generated;
INSERT INTO words (rowid, word)
SELECT value * 2 + seq, (value * 2 + seq >> 14) || ':' || replace(words, ' ', ' ' || (value * 2 + seq >> 14) || ':')
FROM generated, parts JOIN variants ON number = (value * 2 + seq) % {variants};
"""

POSTGRES: Final = """
INSERT INTO sessions (key, id, title, model, created, changed, listed, origin, seq) OVERRIDING SYSTEM VALUE
SELECT value, 's' || value, 'Session ' || value, 'model', value, value, value, '', 2
FROM generate_series({first}, {last}) AS g (value);
SELECT setval('sessions_key_seq', {last});
INSERT INTO events (session, seq, at, body)
SELECT value, seq, value, body FROM generate_series({first}, {last}) AS g (value)
CROSS JOIN generate_series(1, 2) AS h (seq) JOIN variants ON number = (value * 2 + seq) % {variants};
INSERT INTO texts (number, session, seq, words)
SELECT n, value, seq, array_to_tsvector(ARRAY(SELECT (n >> 14) || ':' || word FROM string_to_table(words, ' ') word))
FROM generate_series({first}, {last}) AS g (value) CROSS JOIN generate_series(1, 2) AS h (seq)
CROSS JOIN LATERAL (SELECT value * 2 + seq) AS i (n) JOIN variants ON number = n % {variants} ORDER BY n;
SELECT setval('texts_number', {last} * 2 + 2);
"""


def fill_sqlite(path: Path, first: int, last: int) -> int:
    """Add the sessions of these numbers; gives the bytes that the index takes."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA cache_size = -200000")
    database.execute(
        "CREATE TEMP TABLE variants (number INTEGER PRIMARY KEY, body, words)"
    )
    database.executemany("INSERT INTO variants VALUES (?, ?, ?)", variants())
    database.execute("CREATE TEMP TABLE parts AS SELECT 1 AS seq UNION SELECT 2")
    for begin in range(first, last + 1, AT_ONCE):
        end = min(begin + AT_ONCE - 1, last)
        database.execute("DROP TABLE IF EXISTS temp.generated")
        database.execute("CREATE TEMP TABLE generated (value INTEGER PRIMARY KEY)")
        numbers = ((number,) for number in range(begin, end + 1))
        database.executemany("INSERT INTO generated VALUES (?)", numbers)
        database.execute("BEGIN")
        for statement in SQLITE.format(variants=VARIANTS).split(";")[:-1]:
            database.execute(statement)
        database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = database.execute("SELECT sum(length(block)) FROM words_data").fetchone()[0]
    database.close()
    return int(size)


async def fill_postgres(url: str, first: int, last: int) -> int:
    """The same in PostgreSQL, whose index is with the words that it is made of."""
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE TEMP TABLE variants (number INT PRIMARY KEY, body BYTEA, words TEXT)"
    )
    await connection.copy_records_to_table("variants", records=variants())
    await connection.execute("ANALYZE variants")
    for begin in range(first, last + 1, AT_ONCE):
        end = min(begin + AT_ONCE - 1, last)
        script = POSTGRES.format(variants=VARIANTS, first=begin, last=end)
        await connection.execute(script, timeout=600)
    await connection.execute("VACUUM ANALYZE texts", timeout=600)
    size = await connection.fetchval("SELECT pg_total_relation_size('texts')")
    await connection.close()
    return int(size)


async def one(
    store: SessionStore, text: str, server: PostgresServer | None
) -> SearchCost:
    """What one search costs."""
    cpu = time.process_time() + (cpu_of(server) if server else 0.0)
    began = time.perf_counter()
    page = await search(store, text)
    wall_s = time.perf_counter() - began
    cpu_s = time.process_time() + (cpu_of(server) if server else 0.0) - cpu
    return SearchCost(wall_s, cpu_s, len(page.found))


async def measured(
    store: SessionStore, server: PostgresServer | None, sessions: int, size: int
) -> Table:
    """The costs of all searches as a table."""
    rows: list[tuple[str, ...]] = []
    for name, text in SEARCHES.items():
        first = await one(store, text, server)
        costs = [await one(store, text, server) for _ in range(TIMES)]
        wall_ms = median(cost.wall_s for cost in costs) * 1e3
        cpu_ms = sum(cost.cpu_s for cost in costs) / TIMES * 1e3
        rows.append(
            (
                name,
                str(first.found),
                f"{first.wall_s * 1e3:.1f}",
                f"{wall_ms:.1f}",
                f"{cpu_ms:.1f}",
            )
        )
    kind = "SQLite" if server is None else "PostgreSQL"
    title = f"Search in {sessions:,} sessions, {kind}: {size / sessions:,.0f} bytes of index a session"
    return Table(title, ("search", "found", "first, ms", "ms", "CPU, ms"), tuple(rows))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, nargs="+", default=[100, 50_000])
    parser.add_argument("--postgres", action="store_true")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place, server = stack.enter_context(
            store_place(folder, is_sqlite=not arguments.postgres)
        )
        store = store_at(place)
        await search(store, "anything")
        last = 0  # the number of the session that was made last
        for sessions in arguments.sessions:
            if server is None:
                size = fill_sqlite(Path(place), last + 1, sessions)
            else:
                size = await fill_postgres(place, last + 1, sessions)
            last = sessions + 1
            await store.create(f"last-{sessions}", [added("zinfandel")])
            print((await measured(store, server, sessions, size)).text(), flush=True)
        await store.close()
    print(machine())


if __name__ == "__main__":
    asyncio.run(main())
