"""Which store a place names: a file of SQLite, or a database of PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from ullage.installation import part
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Store
from ullage.store.urls import is_database_url


def store_at(place: str | Path) -> Store:
    """The store that a path or a URL ``postgresql://…`` names; nothing is opened before it is used.

    Raises ``StoreUnavailable`` for a URL of another kind, ``MissingExtra`` where ullage-cluster is not installed.
    """
    if not is_database_url(place):
        return SqliteStore(Path(place))
    store: Store = part("ullage_cluster.postgres.store").PostgresStore(str(place))
    return store
