"""Who wrote each event: the lease that a driver showed with a write, logged by the test's own database.

The rows of events do not say it. So the functions that append are wrapped here: what a driver claims (owner and
generation, as it sent them) is stored with the numbers of the events that it wrote, and with each write that was
refused because the lease was another one by then. For an SQLite file the programs write such a log: see ``logged``.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import NamedTuple

from tests.postgres import PostgresServer

LOG = """
CREATE TABLE claims (
    session TEXT NOT NULL, owner TEXT NOT NULL, generation BIGINT NOT NULL, first BIGINT NOT NULL, last BIGINT NOT NULL,
    is_refused BOOLEAN NOT NULL
);
CREATE INDEX ON claims (session, first);
DO $$
DECLARE each RECORD;
BEGIN
    FOR each IN
        SELECT oid, pg_get_function_arguments(oid) AS arguments, (
            SELECT string_agg('$' || n, ', ') FROM generate_series(1, pronargs) n
        ) AS given
        FROM pg_proc WHERE proname = 'append_events'
    LOOP
        EXECUTE replace(pg_get_functiondef(each.oid), 'append_events', 'append_unlogged');
        EXECUTE format(
            'CREATE OR REPLACE FUNCTION append_events(%s) LANGUAGE plpgsql AS $f$ BEGIN '
            'SELECT * INTO code, seq, at, owner, message, what, state FROM append_unlogged(%s); '
            'IF p_owner IS NOT NULL AND code IN (0, 2) AND cardinality(p_bodies) > 0 THEN '
            'INSERT INTO claims '
            'VALUES (p_session, p_owner, p_generation, seq + 1, seq + cardinality(p_bodies), code = 2); '
            'END IF; END $f$', each.arguments, each.given);
    END LOOP;
END $$;
"""


class Claim(NamedTuple):
    """A driver's write: its lease, and the events that it wrote or would have written."""

    owner: str
    generation: int
    first: int
    last: int
    is_refused: bool


def log_claims(server: PostgresServer, database: str) -> None:
    """Log them from now on. Before anything connects: a connection may remember the functions as they were."""
    server.sql(LOG, database)


def claims_of(server: PostgresServer, database: str) -> dict[str, list[Claim]]:
    """The claims of each session, in the order of the events."""
    rows = server.sql(
        "SELECT session, owner, generation, first, last, is_refused::int FROM claims ORDER BY first, generation",
        database,
    )
    found: dict[str, list[Claim]] = defaultdict(list)
    for row in rows.splitlines():
        session, owner, generation, first, last, refused = row.split("|")
        claim = Claim(owner, int(generation), int(first), int(last), refused == "1")
        found[session].append(claim)
    return found


def claims_of_file(file: sqlite3.Connection) -> dict[str, list[Claim]]:
    """The claims of each session in the order of their commits. How many events a write had is not known."""
    rows = file.execute(
        "SELECT session, owner, generation, first FROM claims ORDER BY rowid"
    )
    found: dict[str, list[Claim]] = defaultdict(list)
    for session, owner, generation, first in rows:
        claim = Claim(owner, generation, first, first - 1, is_refused=False)
        found[session].append(claim)
    return found


def judge_claims(claims: list[Claim]) -> None:
    """No two drivers wrote: an event has one writer, a generation one owner, and none writes behind a later one."""
    wrote = [claim for claim in claims if not claim.is_refused]
    owners: dict[int, str] = {}
    newest, last = 0, 0
    for claim in wrote:
        assert claim.first > last, f"two drivers wrote event {claim.first}: {claim}"
        assert claim.generation >= newest, (
            f"generation {claim.generation} wrote behind generation {newest}: {claim}"
        )
        assert owners.setdefault(claim.generation, claim.owner) == claim.owner, (
            f"two owners wrote in generation {claim.generation}: {claim}"
        )
        newest, last = claim.generation, claim.last
