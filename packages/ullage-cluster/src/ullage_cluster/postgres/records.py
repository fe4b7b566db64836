"""What all processes of a store know beside its sessions: ``SessionStore.revise`` and ``Records``, in one table."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from secrets import token_hex
from typing import Final, Protocol, TypeVar

from ullage.errors import CommandRefused, StoreUnavailable
from ullage.store.records import (
    LARGEST_RECORD,
    MOST_RECORDS,
    RecentRecords,
    RecordChange,
)
from ullage.store.store import SPENT_BY, Revise, Revision, SharedKey
from ullage_cluster.postgres.connecting import PgConnection
from ullage_cluster.postgres.tables import statements

T = TypeVar("T")

PROBE_BYTES: Final = 65_536
"""Of chance, which PostgreSQL can't compress: some 16 pages of 8 KiB."""

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

        def revised(values: tuple[str, ...], now: float) -> Revision[bool]:
            old = values[0].encode() or None
            new = change(old)
            if new is not None and len(new) > LARGEST_RECORD:
                raise CommandRefused(
                    f"{key!r} takes {len(new):,} bytes, and a record of {kind} at most {LARGEST_RECORD:,}. "
                    "Make it shorter. Nothing was changed."
                )
            return Revision(((new or b"").decode(),), old is None and new is not None)

        async def work(connection: PgConnection) -> None:
            async with connection.transaction():
                is_more = await revise(connection, [SharedKey(kind, key)], revised)
                count = statements()["count_records"]
                if is_more and await connection.fetchval(count, kind) > MOST_RECORDS:
                    raise CommandRefused(
                        f"{self.shown} has {MOST_RECORDS:,} records of {kind}, and takes no more. Delete some first."
                    )

        self._read(work)
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
    return {key: value.encode() for key, value in (await read(connection, kind)).items()}


async def read(
    connection: PgConnection, kind: str, keys: Sequence[str] | None = None
) -> Mapping[str, str]:
    """See ``SessionStore.shared``."""
    of = None if keys is None else list(keys)
    return dict(await connection.fetch(statements()["records"], kind, of))


async def revise(
    connection: PgConnection, keys: Sequence[SharedKey], change: Revise[T]
) -> T:
    """See ``SessionStore.revise``. Rows are locked in one order, so that no two transactions wait for each other."""
    async with connection.transaction():
        found: dict[SharedKey, str] = {}
        now = 0.0
        for key in sorted(set(keys)):
            row = await connection.fetchrow(statements()["lock_record"], *key)
            found[key], now = row["value"], row["now"]
        revised = change(tuple(found[key] for key in keys), now)
        for key, new in zip(keys, revised.values, strict=True):
            if not new:
                await connection.execute(statements()["unset_record"], *key)
            elif new != found[key]:
                await connection.execute(statements()["set_record"], *key, new)
    return revised.result


async def forget(connection: PgConnection, session: str) -> None:
    """Delete what was counted of a session that was deleted."""
    await connection.execute(statements()["unset_record"], SPENT_BY, session)


async def probe(connection: PgConnection) -> None:
    """Write a value that needs new pages on the disk, and undo it."""
    key = SharedKey("probe", token_hex(8))
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.fetchrow(statements()["lock_record"], *key)
        await connection.execute(statements()["set_record"], *key, token_hex(PROBE_BYTES))
    finally:
        await transaction.rollback()
