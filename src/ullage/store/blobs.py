"""Bytes beside the ledger: stored once, however many sessions keep them."""

from __future__ import annotations

import sqlite3
from hashlib import sha256

from ullage.errors import SessionNotFound
from ullage.store.transaction import SessionHead, Transaction, statements


def handle_of(data: bytes) -> str:
    """The handle of these bytes: the first 128 bits of their SHA-256."""
    return sha256(data).hexdigest()[:32]


def keep(work: Transaction, where: SessionHead, handle: str, data: bytes) -> str:
    """See ``Store.keep``."""
    work.run("add_blob", handle, data)
    work.run("keep", where.key, handle)
    return handle


def kept(database: sqlite3.Connection, where: SessionHead, handle: str, start: int, size: int | None) -> bytes:
    """See ``Store.kept``; only the requested range is read."""
    row = database.execute(statements()["kept"], (where.key, handle)).fetchone()
    if row is None:
        raise SessionNotFound(f"Session {where.session!r} keeps nothing under {handle!r}.")
    with database.blobopen("blobs", "data", row[0], readonly=True) as blob:
        first = min(max(start, 0), len(blob))
        blob.seek(first)
        return blob.read(len(blob) - first if size is None else max(size, 0))


def handles(database: sqlite3.Connection, where: SessionHead) -> list[str]:
    """The handles of all kept bytes of a session."""
    return [row[0] for row in database.execute(statements()["kept_handles"], (where.key,))]
