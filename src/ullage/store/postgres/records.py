"""Records of a service in a table that all its machines share: see ``ullage.store.records``."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from ullage.errors import CommandRefused, StoreUnavailable
from ullage.store.postgres.codes import Code
from ullage.store.postgres.connecting import PgConnection
from ullage.store.postgres.lanes import call_of
from ullage.store.postgres.tables import statements
from ullage.store.records import (
    LARGEST_RECORD,
    MOST_RECORDS,
    RecentRecords,
    RecordChange,
)

T = TypeVar("T")

STALE_S: Final = 60.0
"""How long records may be used that could not be looked at: a server that restarts takes less."""


class BlockingRead(Protocol):
    """Performs work on a connection, and blocks until it is done."""

    def __call__(self, work: Callable[[PgConnection], Awaitable[T]]) -> T: ...


class TableRecords:
    """``Records`` in the database. A kind that ``recent`` was asked for is looked at each second from then on.

    ``begin`` has work done on a connection without waiting for it; it does nothing while such work is under way.
    """

    def __init__(
        self,
        read: BlockingRead,
        begin: Callable[[Callable[[PgConnection], Awaitable[None]]], None],
        shown: str,
    ) -> None:
        self._read = read
        self._begin = begin
        self.shown = shown
        self._asked: set[str] = set()
        self._copies: dict[str, RecentRecords] = {}
        self._looked: dict[str, float] = {}

    def all(self, kind: str) -> dict[str, bytes]:
        """See ``Records.all``."""
        return self._read(lambda connection: _all(connection, kind))

    def recent(self, kind: str) -> RecentRecords:
        """See ``Records.recent``. Raises ``StoreUnavailable`` where no look succeeded in the last ``STALE_S``."""
        if kind not in self._asked:
            self._asked.add(kind)  # also where it fails: only the first call waits
            self._read(lambda connection: self._look(connection, kind))
        if kind not in self._copies:
            self._begin(self.look)
            raise StoreUnavailable(
                f"{self.shown} could not be asked for {kind} yet. Check that the database runs."
            )
        if time.monotonic() - self._looked[kind] > STALE_S:
            raise StoreUnavailable(
                f"{self.shown} could not be asked for {kind} for {STALE_S:.0f} s. Check that the database runs."
            )
        return self._copies[kind]

    def change(self, kind: str, key: str, change: RecordChange) -> None:
        """See ``Records.change``. Raises ``CommandRefused`` for a record that is too large, or one too many."""
        while True:
            old = self._read(lambda connection: _body(connection, kind, key))
            new = change(old)
            if new == old:
                return
            if new is not None and len(new) > LARGEST_RECORD:
                raise CommandRefused(
                    f"{key!r} takes {len(new):,} bytes, and a record of {kind} at most {LARGEST_RECORD:,}. "
                    "Make it shorter. Nothing was changed."
                )
            code = self._read(
                lambda connection, old=old, new=new: _change(  # type: ignore[misc]
                    connection, kind, key, old, new
                )
            )
            if code == Code.TOO_MANY:
                raise CommandRefused(
                    f"{self.shown} has {MOST_RECORDS:,} records of {kind}, and takes no more. Delete some first."
                )
            if code == Code.DONE:
                break
        if kind in self._asked:
            self._read(lambda connection: self._look(connection, kind))

    async def look(self, connection: PgConnection) -> None:
        """Bring the copies of all kinds that were asked for up to date. For the store's thread."""
        for kind in tuple(self._asked):
            await self._look(connection, kind)

    async def _look(self, connection: PgConnection, kind: str) -> None:
        began = time.monotonic()
        state = tuple(await connection.fetchrow(statements()["records_state"], kind))
        copy = self._copies.get(kind)
        if copy is None or copy.version != state:
            self._copies[kind] = RecentRecords(state, await _all(connection, kind))
        self._looked[kind] = began


async def _all(connection: PgConnection, kind: str) -> dict[str, bytes]:
    return dict(await connection.fetch(statements()["records"], kind))


async def _body(connection: PgConnection, kind: str, key: str) -> bytes | None:
    found: bytes | None = await connection.fetchval(statements()["record"], kind, key)
    return found


async def _change(
    connection: PgConnection, kind: str, key: str, old: bytes | None, new: bytes | None
) -> int:
    code: int = await connection.fetchval(
        call_of("change_record", 5), kind, key, old, new, MOST_RECORDS
    )
    return code
