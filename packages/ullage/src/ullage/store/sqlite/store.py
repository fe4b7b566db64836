"""The store in one SQLite file. docs/store.md says what it guarantees, docs/why/index.md#sqlite why it is made so."""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

from ullage.directories import data_directory
from ullage.events import DraftPiece, Event
from ullage.messages import Message
from ullage.store.changes import Subscription, Watchers
from ullage.store.failures import UNREADABLE
from ullage.store.following import Follower, FoundEvents, is_same_event
from ullage.store.refusals import (
    changed_since,
    history_lost,
    not_kept,
    was_closed,
)
from ullage.store.rows import (
    counting,
    packed_checkpoint,
    session_row,
    to_checkpoint,
)
from ullage.store.sqlite import drafts, leases, ledger, queue, shared, words
from ullage.store.sqlite.failures import damaged
from ullage.store.sqlite.looking import look
from ullage.store.sqlite.opening import check_version, failure_of, opened
from ullage.store.sqlite.transaction import (
    Transaction,
    session_head,
    statements,
    time_of,
)
from ullage.store.sqlite.writer import WriterThread
from ullage.store.store import (
    DEFAULT_TENANT,
    Checkpoint,
    Lease,
    QueueKind,
    Receipt,
    Revise,
    SessionCursor,
    SessionRow,
    SessionStore,
    SharedKey,
    StandingCount,
    StoreObserver,
    TextPlace,
    Unattended,
    handle_of,
)
from ullage.turns.standing import StandingState

T = TypeVar("T")

FILE = "sessions.db"

READERS = 3
"""Threads that read at once: reading does not wait for writing, and a long read does not hold up a short one."""


class SqliteStore:
    """A store in a file of SQLite.

    Nothing is opened before it is used. What the file holds is believed, its approvals too: name no file of somebody
    else's. Usable from several event loops and threads; any number of processes may use one file. Close it, or what
    is waiting is written when the process ends.

    Args:
        path: The file, which is made where it does not exist; by default one in the user's data directory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = data_directory() / FILE if path is None else Path(path)
        self._watchers = Watchers()
        self._writer = WriterThread(self.path, self._watchers)
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="ullage store reader")
        self._mine = threading.local()
        self._connections: list[sqlite3.Connection] = []

    def observe(self, observer: StoreObserver) -> None:
        self._watchers.observer = observer

    async def check(self) -> None:
        await self._read(lambda database: check_version(database, self.path))
        await self._writer.check()

    def limited_to(self, tenant: str) -> SessionStore:
        """The store itself: SQLite has no policies."""
        return self

    def records(self) -> None:
        """None: a file is of one machine, whose programs share the user's data directory."""

    # -- sessions --

    async def create(
        self,
        session: str,
        events: Sequence[Event] = (),
        *,
        origin: str = "",
        tenant: str = DEFAULT_TENANT,
        place: str = "",
        keeps_of: str = "",
    ) -> tuple[Event, ...]:
        def work(inside: Transaction) -> tuple[Event, ...]:
            head = ledger.create(
                inside, session, origin, events, tenant=tenant, place=place
            )
            if keeps_of:
                source = session_head(inside.database, keeps_of)
                inside.run("copy_kept", head.key, source.key)
            return ledger.write(inside, head, events, strict=False)

        return await self._writer.perform(work, durable=True)

    async def delete(self, session: str, *, changed_before: float = math.inf) -> None:
        def work(inside: Transaction) -> None:
            where = session_head(inside.database, session)
            row = session_row(inside.run("about_session", session).fetchone())
            if row.changed >= changed_before:
                raise changed_since(session)
            ledger.delete(inside, where)

        await self._writer.perform(work, durable=True)
        await self._writer.give_room_back()

    async def sessions(
        self,
        *,
        limit: int = 100,
        before: SessionCursor | None = None,
        tenant: str = "",
        states: Sequence[StandingState] = (),
    ) -> list[SessionRow]:
        name = "list_sessions"
        values: tuple[object, ...] = (*(before or SessionCursor(math.inf, 0)), limit)
        if states:
            name, values = "list_in_state", (*values, json.dumps(states))
        if tenant:  # reads another index
            name, values = f"{name}_of", (*values, tenant)
        return [session_row(row) for row in await self._rows(name, *values)]

    async def standing_counts(
        self, tenant: str = ""
    ) -> Mapping[StandingState, StandingCount]:
        rows = await self._rows(*counting(tenant))
        return {state: StandingCount(*count) for state, *count in rows}

    async def _rows(self, name: str, *values: object) -> list[Any]:
        return await self._read(
            lambda database: database.execute(statements()[name], values).fetchall()
        )

    async def about(self, session: str) -> SessionRow:
        def work(database: sqlite3.Connection) -> SessionRow:
            session_head(database, session)
            return session_row(
                database.execute(statements()["about_session"], (session,)).fetchone()
            )

        return await self._read(work)

    async def read(
        self, session: str, *, after: int = 0, limit: int | None = None, at: float = 0.0
    ) -> list[Event]:
        def work(database: sqlite3.Connection) -> list[Event]:
            where = session_head(database, session)
            if at and not is_same_event(at, time_of(database, where, after)):
                raise history_lost(session, after)
            return list(ledger.read(database, where, after=after, limit=limit))

        return await self._read(work)

    async def read_these(self, session: str, seqs: Sequence[int]) -> list[Event]:
        return await self._read(
            lambda database: ledger.read_these(
                database, session_head(database, session), seqs
            )
        )

    async def find(
        self, terms: Sequence[str], *, before: int, tenant: str
    ) -> list[TextPlace]:
        return await self._read(
            lambda database: words.find(database, terms, tenant, before)
        )

    # -- the driver --

    async def unattended(
        self, limit: int, places: Sequence[str] | None = None
    ) -> list[Unattended]:
        return await self._read(
            lambda database: leases.unattended(database, limit, places)
        )

    async def acquire(self, session: str, owner: str, *, ttl_s: float) -> Lease:
        def work(inside: Transaction) -> tuple[Lease, str]:
            where = session_head(inside.database, session)
            lease = leases.acquire(inside, where, owner, ttl_s)
            return lease, where.owner

        lease, before = await self._writer.perform(work)
        if before not in ("", owner):
            self._watchers.observer.took_over()
        return lease

    async def renew(self, lease: Lease, *, ttl_s: float) -> None:
        await self._writer.perform(lambda inside: leases.renew(inside, lease, ttl_s))

    async def release(
        self, lease: Lease, *, rests_at: int | None = None, due_at: float | None = None
    ) -> None:
        await self._writer.perform(
            lambda inside: leases.release(inside, lease, rests_at, due_at)
        )

    async def append(
        self,
        lease: Lease,
        events: Sequence[Event],
        *,
        after: int,
        exact: bool = False,
        durable: bool = False,
        ends_draft: str = "",
    ) -> tuple[Event, ...]:
        def work(inside: Transaction) -> tuple[Event, ...]:
            where = leases.held(inside, lease)
            return ledger.append(
                inside, where, events, after=after, exact=exact, ends_draft=ends_draft
            )

        return await self._writer.perform(work, durable=durable)

    async def draft(
        self,
        lease: Lease,
        pieces: Sequence[DraftPiece],
        *,
        after: int = 0,
        at: float = 0.0,
    ) -> int:
        def work(inside: Transaction) -> int:
            where = leases.held(inside, lease)
            return drafts.draft(inside, where, pieces, after=after, at=at)

        return await self._writer.perform(work)

    async def read_draft(self, session: str, *, call: str = "") -> list[DraftPiece]:
        def work(database: sqlite3.Connection) -> list[DraftPiece]:
            rows = drafts.read_drafts(database, session_head(database, session))
            pieces = (piece for row in rows for piece in row.pieces)
            return [piece for piece in pieces if call in ("", piece.call)]

        return await self._read(work)

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        packing = asyncio.get_running_loop().run_in_executor(
            self._pool, packed_checkpoint, checkpoint.data
        )
        seq, made_by, _ = checkpoint
        packed = await packing

        def work(inside: Transaction) -> None:
            where = leases.held(inside, lease)
            inside.run("save_checkpoint", where.key, seq, made_by, *packed)

        await self._writer.perform(work)

    async def checkpoint(self, session: str, made_by: str) -> Checkpoint | None:
        def work(database: sqlite3.Connection) -> Checkpoint | None:
            where = session_head(database, session)
            row = database.execute(
                statements()["checkpoint"], (where.key, made_by)
            ).fetchone()
            return None if row is None else to_checkpoint(*row)

        return await self._read(work)

    # -- everybody --

    async def command(self, session: str, events: Sequence[Event]) -> tuple[Event, ...]:
        def work(inside: Transaction) -> tuple[Event, ...]:
            where = session_head(inside.database, session)
            leases.make_due(inside, where)
            return ledger.write(inside, where, events)

        return await self._writer.perform(work, durable=True)

    async def send(
        self, session: str, message: Message, kind: QueueKind, *, trace: str = ""
    ) -> Receipt:
        def work(inside: Transaction) -> Receipt:
            where = session_head(inside.database, session)
            receipt, queued = queue.send(inside, where, message, kind, trace)
            if queued is not None:
                leases.make_due(inside, where)
                ledger.write(inside, where, [queued])
            return receipt

        return await self._writer.perform(work, durable=True)

    async def receipt(self, session: str, message_id: str) -> Receipt | None:
        def work(database: sqlite3.Connection) -> Receipt | None:
            key = session_head(database, session).key
            row = queue.queued(database, key, message_id)
            if row is None:
                return None
            return queue.receipt(database, key, message_id, row)

        return await self._read(work)

    async def pending(self, session: str) -> list[tuple[Receipt, Message, QueueKind]]:
        return await self._read(
            lambda database: queue.pending(database, session_head(database, session))
        )

    async def keep(self, session: str, data: bytes) -> str:
        handle = await asyncio.get_running_loop().run_in_executor(
            self._pool, handle_of, data
        )

        def work(inside: Transaction) -> None:
            where = session_head(inside.database, session)
            inside.run("add_blob", handle, data)
            inside.run("keep", where.key, handle)

        await self._writer.perform(work)
        return handle

    async def kept(
        self, session: str, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        def work(database: sqlite3.Connection) -> bytes:
            where = session_head(database, session)
            row = database.execute(statements()["kept"], (where.key, handle)).fetchone()
            if row is None:
                raise not_kept(session, handle)
            # Only the requested range is read.
            with database.blobopen("blobs", "data", row[0], readonly=True) as blob:
                first = min(max(start, 0), len(blob))
                blob.seek(first)
                most = len(blob) - first if size is None else max(size, 0)
                return blob.read(most)

        return await self._read(work)

    async def handles(self, session: str) -> list[str]:
        def work(database: sqlite3.Connection) -> list[str]:
            where = session_head(database, session)
            return [
                row[0]
                for row in database.execute(statements()["kept_handles"], (where.key,))
            ]

        return await self._read(work)

    async def shared(
        self, kind: str, names: Sequence[str] | None = None
    ) -> Mapping[str, str]:
        return await self._read(lambda database: shared.read(database, kind, names))

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        return await self._writer.perform(
            lambda inside: shared.revise(inside, keys, change), durable=True
        )

    def watch(
        self, session: str, *, has_pieces: bool = False
    ) -> AbstractAsyncContextManager[Subscription]:
        async def begin() -> None:
            await self._writer.open()
            await self._read(lambda database: session_head(database, session))

        return self._watchers.watching(session, begin, has_pieces=has_pieces)

    def follow(
        self, session: str, *, after: int = 0, offset: int = -1, at: float = 0.0
    ) -> AsyncIterator[Event | DraftPiece]:
        follower = Follower(session, after, offset, at)

        def seen() -> Awaitable[FoundEvents]:
            return self._read(
                lambda database: look(
                    database, session, follower.seq, follower.row, follower.limit
                )
            )

        return follower.follow(self.watch(session, has_pieces=True), seen)

    async def close(self) -> None:
        self._watchers.end()
        await asyncio.to_thread(self._close)

    # -- inside --

    def _close(self) -> None:
        if self._writer.is_forked:
            return
        self._pool.shutdown()
        while self._connections:
            self._connections.pop().close()
        # last, since only a connection that writes can put the log (-wal) into the file and remove it
        self._writer.finish()

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What ``work`` gives, of one state of the database. Raises what it raises, and ``StoreUnavailable``."""
        self._writer.check_process()
        if not self._writer.was_opened:
            await self._writer.open()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, self._inside, work)
        except RuntimeError as problem:
            raise was_closed(str(self.path)) from problem

    def _inside(self, work: Callable[[sqlite3.Connection], T]) -> T:
        database: sqlite3.Connection | None = getattr(self._mine, "database", None)
        try:
            if database is None:
                database = self._mine.database = opened(
                    self.path, "mode=ro", check_version
                )
                self._connections.append(database)
            database.execute("BEGIN")
            try:
                return work(database)
            finally:
                database.execute("COMMIT")
        except sqlite3.Error as problem:
            raise failure_of(problem, database, self.path) from problem
        except UNREADABLE as problem:
            raise damaged(problem, self.path) from problem
