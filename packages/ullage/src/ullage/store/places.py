"""Which store a place names: memory, a file of SQLite, a database of PostgreSQL, or a store of the caller's own."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, cast

from ullage.errors import SettingError
from ullage.installation import part
from ullage.isolation import current_test, is_before_tests
from ullage.store.adapter import StoreAdapter
from ullage.store.memory import MemoryStore
from ullage.store.protocol import METHODS, Store
from ullage.store.sqlite.store import FILE, SqliteStore
from ullage.store.store import SessionStore
from ullage.store.urls import is_database_url, shown_place

P = TypeVar("P")

StorePlace: TypeAlias = Store | SessionStore | Path | str
"""What users give for ``store``."""


class Unset(Enum):
    """For a keyword that was not given, where ``None`` means something."""

    UNSET = "the user's own database"


UNSET: Final = Unset.UNSET

_INHERITED: Final = ("wait", "close")
"""The methods that ``Store`` has written."""

_LEASES: Final = "acquire"
"""A method that every ``SessionStore`` has, and no ``Store``."""

_MEMORY: Final = re.compile(
    r"(sqlite(\+\w+)?:/+)?(file:)?:memory:(\?.*)?|sqlite(\+\w+)?://(\?.*)?"
)
"""What SQLite and SQLAlchemy call a database in memory."""


def is_memory(place: object) -> bool:
    """Whether a place is no file, but memory: ``:memory:``, and what else SQLite takes for that."""
    return isinstance(place, str | Path) and bool(_MEMORY.fullmatch(str(place)))


def checked_place(place: P) -> P | MemoryStore:
    """The place; memory as a store, so that whoever opens the place again finds what is in it.

    Raises ``SettingError`` for what is no place.
    """
    if is_memory(place):
        return MemoryStore()
    if place is None or isinstance(place, str | Path | Unset) or hasattr(place, _LEASES):
        return place
    lacking = [name for name in METHODS if not _has(place, name)]
    if lacking:
        raise SettingError(
            f"store: {place!r} is no store: it has no {', '.join(lacking)}. Give a path, ':memory:', None for nothing "
            "stored, or an object of a subclass of ullage.Store."
        )
    return place


def _has(place: object, name: str) -> bool:
    """Whether a store has written a method, or may inherit it."""
    found = getattr(place, name, None)
    is_unwritten = getattr(found, "__func__", None) is getattr(Store, name)
    return callable(found) and (name in _INHERITED or not is_unwritten)


def place_of_agent(place: P) -> P | MemoryStore | Unset:
    """The place that an agent is given, checked. The file or database of one that a module of tests imports is left
    alone: each test has the default, its memory."""
    if isinstance(place, str | Path) and is_before_tests():
        return UNSET
    return checked_place(place)


def default_place(data: Path) -> StorePlace:
    """Where sessions are stored unless it is said: in a file of the data directory; in a run of tests in memory."""
    test = current_test()
    return _memory_of(test) if test else data / FILE


@lru_cache(maxsize=1)
def _memory_of(test: str) -> MemoryStore:
    """What the agents of this test share."""
    return MemoryStore()


def store_at(place: StorePlace, *, awaits_server: bool = False) -> SessionStore:
    """The store that a place names; nothing is opened before it is used.

    Closing it closes what it has opened itself, and no ``Store`` that was given. With ``awaits_server`` the first use
    waits some seconds for a database that is starting, as later ones do. Raises ``StoreUnavailable`` for a URL
    of another kind, ``MissingExtra`` where ullage-cluster is not installed, ``SettingError`` for what is no store.
    """
    place = checked_place(place)
    if isinstance(place, str | Path):
        if not is_database_url(place):
            return SqliteStore(Path(place))
        kind = part("ullage_cluster.postgres.store").PostgresStore
        store: SessionStore = kind(str(place), awaits_server=awaits_server)
        return store
    if hasattr(place, _LEASES):
        return cast(SessionStore, place)
    return StoreAdapter(place)


def shown_store(place: object) -> str:
    """Where sessions are stored, for a person. The URL of a database is without its password."""
    if place is None:
        return "nowhere"
    if isinstance(place, MemoryStore):
        return "memory"
    if isinstance(place, str | Path):
        return shown_place(place)
    return str(getattr(place, "path", "") or getattr(place, "shown", "") or repr(place))
