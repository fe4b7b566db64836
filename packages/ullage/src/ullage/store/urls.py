"""URLs of databases, told from file names, and shown without their passwords."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ullage.errors import StoreUnavailable

POSTGRES: Final = ("postgresql://", "postgres://")
"""How a URL of PostgreSQL begins (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS)."""

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_database_url(place: str | Path) -> bool:
    """Whether a place is the URL of a database, not a file. Raises ``StoreUnavailable`` for a URL of another kind."""
    if not isinstance(place, str) or _SCHEME.match(place) is None:
        return False
    if place.startswith(POSTGRES):
        return True
    scheme = place.partition("://")[0]
    raise StoreUnavailable(
        f"No store is kept at a URL that begins with {scheme}://. Name a file, or a PostgreSQL database as "
        "postgresql://USER@HOST/DATABASE."
    )


def shown_place(place: str | Path) -> str:
    """The place as it may be printed: a URL without its password and its options."""
    if not is_database_url(place):
        return str(place)
    scheme, _, rest = str(place).partition("://")
    where, _, _ = rest.partition("?")
    user, at, host = where.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host}"
