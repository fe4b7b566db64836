"""The stored fold of a session: one at a time, in the place of the last."""

from __future__ import annotations

import sqlite3
import zlib
from typing import NamedTuple

from ullage.store.rows import LEVEL
from ullage.store.store import Checkpoint
from ullage.store.transaction import SessionHead, Transaction, statements


class PackedCheckpoint(NamedTuple):
    """A checkpoint as it is stored."""

    seq: int
    made_by: str
    is_packed: bool
    data: bytes


def pack_checkpoint(checkpoint: Checkpoint) -> PackedCheckpoint:
    """Compressed where that makes it smaller. Takes milliseconds a megabyte, so it is done outside the writer."""
    packed = zlib.compress(checkpoint.data, LEVEL)
    is_packed = len(packed) < len(checkpoint.data)
    return PackedCheckpoint(checkpoint.seq, checkpoint.made_by, is_packed, packed if is_packed else checkpoint.data)


def save_checkpoint(work: Transaction, where: SessionHead, packed: PackedCheckpoint) -> None:
    """See ``Store.save_checkpoint``."""
    work.run("save_checkpoint", where.key, *packed)


def read_checkpoint(database: sqlite3.Connection, where: SessionHead, made_by: str) -> Checkpoint | None:
    """See ``Store.checkpoint``."""
    row = database.execute(statements()["checkpoint"], (where.key, made_by)).fetchone()
    if row is None:
        return None
    packed = PackedCheckpoint(*row)
    try:
        data = zlib.decompress(packed.data) if packed.is_packed else packed.data
    except (zlib.error, TypeError):
        return None  # it saves time and nothing else: the ledger is folded instead
    return Checkpoint(packed.seq, packed.made_by, data)
