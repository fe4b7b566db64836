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
"""

_COUNT = "UPDATE sessions SET seq = {last} WHERE id = '{session}';"
"""What PostgreSQL has beside the events themselves."""


def lose(place: StorePlace, session: str, *, last: int) -> None:
    """Remove the events behind the event ``last`` from the database of a store."""
    if isinstance(place, MemoryStore):
        stored = place._sessions[session]
        del stored.rows[last:]
        about = {**json.loads(stored.values[ABOUT]), "seq": last}
        stored.values[ABOUT] = json.dumps(about).encode()
        return
    assert isinstance(place, str)
    statements = _LOSE.format(last=last, session=session)
    if not is_database_url(place):
        with sqlite3.connect(place) as database:
            database.executescript(statements)
        database.close()
        return
    name = place.partition("?")[0].rpartition("/")[2]
    statements += _COUNT.format(last=last, session=session)
    shared_server().sql(statements, name)
