"""Values that all processes of a store share, in SQLite: see ``SessionStore.revise``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TypeVar

from ullage.store.sqlite.transaction import Transaction, statements
from ullage.store.store import Revise, SharedKey

T = TypeVar("T")


def read(
    database: sqlite3.Connection, kind: str, names: Sequence[str] | None
) -> Mapping[str, str]:
    """See ``SessionStore.shared``."""
    of = None if names is None else json.dumps(list(names))
    return dict(database.execute(statements()["records"], (kind, of)))


def revise(work: Transaction, keys: Sequence[SharedKey], change: Revise[T]) -> T:
    """See ``SessionStore.revise``: the writer has the file alone."""
    before = []
    for key in keys:
        found = read(work.database, key.kind, [key.name])
        before.append(found.get(key.name, ""))
    now = work.run("now").fetchone()[0]
    revised = change(tuple(before), now)
    for key, old, new in zip(keys, before, revised.values, strict=True):
        if new and new != old:
            work.run("set_record", *key, new)
        elif old and not new:
            work.run("unset_record", *key)
    return revised.result
