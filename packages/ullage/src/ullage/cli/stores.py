"""The option ``--store``."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from ullage.display.text import printable
from ullage.errors import StoreUnavailable
from ullage.store.places import is_memory, store_at
from ullage.store.records import FileRecords, Records
from ullage.store.sqlite.ownership import require_own
from ullage.store.urls import is_database_url, shown_place


def place_of(name: str) -> Path | str:
    """The file or the URL of a database that ``--store`` names; who may use a database is the database's own matter.

    Raises ``ForeignStore`` for a file that others own or may change, ``StoreUnavailable``.
    """
    return name if is_memory(name) or is_database_url(name) else own_file(name)


def place_option(option: str, place: str) -> str:
    """The option, such as `` --store URL``, behind a command in a message, so that the command acts on the same place.

    Empty where the user gave none. A URL is without its passwords.
    """
    if not place:
        return ""
    _, _, query = place.partition("?") if is_database_url(place) else ("", "", "")
    options = [each for each in query.split("&") if "password" not in unquote(each)]
    shown = "?".join(filter(None, (shown_place(place), "&".join(options))))
    return f" {option} {shlex.quote(printable(shown))}"


@contextmanager
def records_at(place: str) -> Iterator[Records]:
    """The records of the service whose database the URL names; without one those of the user's data directory.

    Raises ``StoreUnavailable``, also for a file.
    """
    if not place:
        yield FileRecords()
        return
    store = store_at(place_of(place))
    try:
        records = store.records()
        if records is None:
            raise StoreUnavailable(
                f"{place} is a file: its tokens, grants and calibration are in your data directory. Leave --store "
                "out, or name a database as postgresql://USER@HOST/DATABASE."
            )
        yield records
    finally:
        asyncio.run(store.close())


def own_file(name: str) -> Path:
    """The file that ``--store`` names. Raises ``ForeignStore`` for one that others own or may change."""
    path = Path(name).expanduser()
    require_own(path)
    return path
