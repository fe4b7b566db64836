"""URLs of databases, told from file names, and shown without their passwords."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

from ullage.errors import StoreUnavailable

POSTGRES: Final = ("postgresql://", "postgres://")
"""How a URL of PostgreSQL begins (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS)."""

BUS: Final = "bus"
"""The option of a PostgreSQL URL that names NATS servers."""

_BUS_SCHEMES: Final = ("nats://", "tls://")

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


def with_bus(place: str | Path, bus: str) -> str | Path:
    """The URL with this bus; the place as it is where none is named.

    Raises ``StoreUnavailable`` for a file, which has no use for a bus, and for an address that is none.
    """
    if not bus:
        return place
    if not is_database_url(place):
        raise StoreUnavailable(
            f"--bus carries news between servers of one PostgreSQL database, and {place} is a file. Leave --bus out, "
            "or name a database with --store postgresql://USER@HOST/DATABASE."
        )
    between = "&" if "?" in str(place) else "?"
    return f"{place}{between}{urlencode({BUS: checked_bus(bus)})}"


def checked_bus(bus: str) -> str:
    """The address of NATS servers as it is. Raises ``StoreUnavailable`` for one that is none."""
    for each in bus.split(",") if bus else ():
        if not each.startswith(_BUS_SCHEMES) or not _host_of(each):
            shown = each.rpartition("@")[2]
            raise StoreUnavailable(
                f"--bus {shown!r} is no address of a bus. Write it as nats://HOST:4222 or tls://HOST:4222, several "
                "with commas between."
            )
    return bus


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
