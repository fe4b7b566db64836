"""Which store a place names: a file of SQLite, or a database of PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ullage.errors import MissingExtra
from ullage.installation import extra_command
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Store
from ullage.store.urls import is_database_url

if TYPE_CHECKING:
    from ullage.store.postgres.calls import PostgresCalls


def store_at(place: str | Path) -> Store:
    """The store that a path or a URL ``postgresql://…`` names; nothing is opened before it is used.

    Raises ``StoreUnavailable`` for a URL of another kind, ``MissingExtra`` where the driver of PostgreSQL is missing.
    """
    if not is_database_url(place):
        return SqliteStore(Path(place))
    try:
        from ullage.store.postgres.store import PostgresStore
    except ImportError as problem:
        raise _missing() from problem
    return PostgresStore(str(place))


def calls_at(place: str | Path) -> PostgresCalls | None:
    """How processes of the store at this place call for a driver; ``None`` where they can't. Raises as ``store_at``."""
    if not is_database_url(place):
        return None
    try:
        from ullage.store.postgres.calls import PostgresCalls
    except ImportError as problem:
        raise _missing() from problem
    return PostgresCalls(str(place))


def _missing() -> MissingExtra:
    return MissingExtra(
        f"A store in PostgreSQL needs the extra postgres. Install it: {extra_command('postgres')}"
    )
