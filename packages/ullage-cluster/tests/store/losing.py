"""What a crash or a failover of the database may do: the last events are gone, and nobody is told."""

from __future__ import annotations

import json
import sqlite3

from tests.postgres import shared_server
from ullage.store.memory import MemoryStore
from ullage.store.places import StorePlace
from ullage.store.protocol import ABOUT
from ullage.store.urls import is_database_url

_LOSE = """
DELETE FROM events WHERE seq > {last} AND session = (SELECT key FROM sessions WHERE id = '{session}');
DELETE FROM drafts WHERE {drafts} AND (seq > {last} OR first >= {pieces});
"""

_DRAFTS = {
    "postgres": "session = (SELECT key FROM sessions WHERE id = '{session}')",
    "sqlite": "id >> 32 = (SELECT key FROM sessions WHERE id = '{session}')",
}

_COUNT = "UPDATE sessions SET seq = {last} WHERE id = '{session}';"
"""What PostgreSQL has beside the events themselves."""


def lose(place: StorePlace, session: str, *, last: int, pieces: int = 0) -> None:
    """Remove the events behind the event ``last`` from the database of a store, and all but the first rows of pieces:
    those that begin before the offset ``pieces``."""
    if isinstance(place, MemoryStore):
        stored = place._sessions[session]
        del stored.rows[last:]
        about = {**json.loads(stored.values[ABOUT]), "seq": last}
        # Each row of the tests that lose pieces holds one.
        left = {"rows": pieces, "next": pieces}
        about["drafts"] = dict.fromkeys(about.get("drafts", {}), left) if pieces else {}
        stored.values[ABOUT] = json.dumps(about).encode()
        return
    assert isinstance(place, str)
    kind = "postgres" if is_database_url(place) else "sqlite"
    drafts = _DRAFTS[kind].format(session=session)
    statements = _LOSE.format(last=last, session=session, drafts=drafts, pieces=pieces)
    if kind == "sqlite":
        with sqlite3.connect(place) as database:
            database.executescript(statements)
        database.close()
        return
    name = place.partition("?")[0].rpartition("/")[2]
    statements += _COUNT.format(last=last, session=session)
    shared_server().sql(statements, name)
