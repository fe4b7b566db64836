"""The option ``--store``, and ``ullage adopt``, which takes over a store that somebody else made or its owner moved."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ullage.directories import data_directory
from ullage.display.text import counted, printable
from ullage.errors import StoreUnavailable
from ullage.runtime.copying import harmless
from ullage.store.places import store_at
from ullage.store.records import Records
from ullage.store.sqlite.ownership import adopt, mark_of, require_own
from ullage.store.urls import is_database_url, shown_place


def place_of(name: str) -> Path | str:
    """The file or the URL of a database that ``--store`` names; who may use a database is the database's own matter.

    Raises ``ForeignStore`` for a file that somebody else made, ``StoreUnavailable``.
    """
    return name if is_database_url(name) else own_file(name)


def place_option(option: str, place: str) -> str:
    """The option, such as `` --store URL``, behind a command in a message, so that the command acts on the same place.

    Empty where the user gave none. A URL is without its password and its options.
    """
    return f" {option} {shlex.quote(printable(shown_place(place)))}" if place else ""


@contextmanager
def records_at(place: str) -> Iterator[Records]:
    """The records of the service whose database the URL names. Raises ``StoreUnavailable``, also for a file."""
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
    """The file that ``--store`` names. Raises ``ForeignStore`` where somebody else made it, ``StoreUnavailable``."""
    path, data = Path(name).expanduser(), data_directory()
    require_own(path, data)
    mark_of(path, data)  # makes the secret, so that a store made now is marked
    return path


def run(args: argparse.Namespace) -> int:
    """0 when the store can be used. Raises ``StoreUnavailable``."""
    path = Path(args.store).expanduser()
    keep = None if args.unfinished else harmless
    sessions = adopt(path, data_directory(os.environ), keep=keep)
    count = counted(len(sessions), "session")
    if args.unfinished:
        print(
            f"{printable(str(path))} is yours now: {count}. Unfinished work in it is resumed by the next server."
        )
        return 0
    print(f"{printable(str(path))} is yours now: {count}, all at rest.")
    for one in sessions:
        if one.dropped:
            print(
                f"  {printable(one.session)} does not have: {printable('; '.join(one.dropped))}"
            )
    return 0
