"""News between processes: after each commit a NOTIFY of the session and its last event, or of the pieces of an answer.

Who hears of events reads them from the tables. Pieces that stream are in the notification itself: where every follower
read them from there, its server took 3.0 times the CPU, and PostgreSQL 2.0 times (``bench.live --streams 20``).

NOTIFY takes a lock of the whole database until its transaction ends, so it is never inside a write's transaction: there
it took 4.6 times the commits (pgbench, 16 clients, fsync on, 2 rounds). A look once a second finds what a process that
ended before its notification stored.

The connection on which a process listens also shows that the process lives: it holds an advisory lock there, which
PostgreSQL frees some milliseconds after the process has ended, on whichever machine. All of the process's stores share
the lock, and so do the connections of the pool, so that the end of one connection alone does not free it. Behind a
pooler only this connection is the process's own. Who looks takes no lock.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from ullage.events import DraftPiece
from ullage.store.changes import Change, Watchers
from ullage_cluster.postgres.connecting import (
    Failures,
    PgConnection,
    PostgresAddress,
    Record,
    connect,
    drop,
    lock_of,
    show_living,
)
from ullage_cluster.postgres.failures import failure
from ullage_cluster.postgres.tables import statements

log = logging.getLogger("ullage.cluster")

CHANNEL: Final = "ullage"

GATHER_S: Final = 0.003
"""Pause between two statements that notify, in which changes gather; after a longer one none waits."""

LARGEST_BYTES: Final = 7_000
"""Of one notification; PostgreSQL takes 7,999 (https://www.postgresql.org/docs/current/sql-notify.html)."""

LOOK_S: Final = 1.0
"""The interval of looks at the watched sessions, which find what no notification told of, and at records."""

MOST_PIECES: Final = 10**9
"""Of one answer: a client's position in it has nine digits."""

HEARD_S: Final = 5.0
"""How long a statement of the news may take."""

ENDED_S: Final = 0.4
"""How long the lock of a process has to be free until the process counts as ended: one that lives and lost all of its
connections takes its lock again on a new one."""

STEADY_S: Final = 3.0
"""How old the oldest connection to the database has to be until a process counts as ended: after a restart or failover
of the server all of them are made again. Judged by bench.blips, as is ``ENDED_S``."""

_States = dict[tuple[str, str], tuple[float, ...]]
"""By session and what it is of: the number of the last event, or that behind which the last piece was stored, and the
piece's offset. A lease is of neither: who waits for it to be free asks again and again, since its driver may die.
"""

GONE: Final = (math.inf,)
"""Where the last event of a deleted session would stand."""

_decode: Final = msgspec.json.Decoder(tuple[str, int, int, list[DraftPiece]]).decode
"""Session, last event, offset of the last piece or -1, and the pieces that were stored, if they are few."""


class News:
    """Tells other processes of changes, and the watchers of this one of theirs. Runs in the store's event loop."""

    def __init__(
        self,
        database: PostgresAddress,
        watchers: Watchers,
        look: Callable[[PgConnection], Awaitable[None]],
    ) -> None:
        self._database = database
        self._watchers = watchers
        self._look_beside = look
        """What else is looked at each time, on the same connection."""
        self._changes: list[Change] = []
        """Those that others are still to be told of."""
        self._has_changes = asyncio.Event()
        self._is_lost = asyncio.Event()
        self.listens = asyncio.Event()
        """Set while the connection is there, with its lock."""
        self._ended: set[str] = set()
        """The processes that were found to have ended."""
        self._connection: PgConnection | None = None
        self._own = 0
        """The process of the server that has it, by which its own news are known when they come back."""
        self._lock = asyncio.Lock()
        self._seen: _States = {}
        """As the last look found them, or as they were when the watching began."""
        self._told: _States = {}
        """What watchers were told of since the last look."""
        self._due: _States = {}
        """What the last look found of which nothing had told yet."""
        self._is_closed = False

    async def begin(self) -> None:
        """Listen. Raises ``StoreUnavailable``."""
        try:
            await self._listen()
        except Failures as problem:
            raise failure(problem, self._database.shown) from problem

    def tell(self, change: Change) -> None:
        """This was committed here: other processes are told soon."""
        self._mark_told(change.session, change.seq, last_piece(change))
        self._changes.append(change)
        self._has_changes.set()

    def watch_from(self, state: Record) -> None:
        """A session is watched whose state is this now: the next look compares with it."""
        for key, newest in _states(*state).items():
            self._seen.setdefault(key, newest)

    async def run(self) -> None:
        """Send, look and connect again, until the task is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send_all())
            tasks.create_task(self._look_all())
            tasks.create_task(self._reconnect())

    async def end(self) -> None:
        """Send what is gathered, and close the connection."""
        self._is_closed = True
        with suppress(*Failures):
            async with asyncio.timeout(LOOK_S):
                await self._send()
        drop(self._connection)

    async def ended(self, processes: set[str]) -> set[str]:
        """Those of these processes that have ended: their locks are free, now and ``ENDED_S`` before.

        None in the first ``STEADY_S`` after all were connected anew, nor when the own connection is lost.
        """
        connection = self._connection
        if connection is None:
            return set()
        try:
            free = await self._free(connection, processes)
            if free - self._ended:
                await asyncio.sleep(ENDED_S)
                free = await self._free(connection, free)
        except Failures as problem:
            log.debug("It is unknown which processes have ended: %s", problem)
            return set()
        self._ended = (self._ended - processes) | free
        return free

    async def _free(self, connection: PgConnection, processes: set[str]) -> set[str]:
        """Those of these processes that hold no lock."""
        locks = {lock_of(process): process for process in processes}
        async with self._lock:
            keys = await connection.fetch(
                statements()["free_locks"], list(locks), STEADY_S, timeout=HEARD_S
            )
        return {locks[key] for (key,) in keys}

    async def _listen(self) -> None:
        drop(self._connection)
        connection = await connect(self._database, direct=True)

        def ended(_: object) -> None:
            if self._connection is connection:
                self._mark_lost()

        self._is_lost.clear()
        try:
            connection.add_termination_listener(ended)
            async with asyncio.timeout(HEARD_S):
                await show_living(connection)
                # A notification is not on the disk at all: its transaction does not wait for that either.
                await connection.execute("SET synchronous_commit = off")
                await connection.add_listener(CHANNEL, self._hear)
        except BaseException:
            drop(connection)
            raise
        self._connection = connection
        self._own = connection.get_server_pid()
        self.listens.set()
        if connection.is_closed():
            self._mark_lost()

    def _mark_lost(self) -> None:
        self.listens.clear()
        self._is_lost.set()

    def _lose(self, problem: BaseException) -> None:
        """A statement failed or had no answer in time: the connection is made again."""
        log.debug("The connection for news is made again: %s", problem)
        drop(self._connection)
        self._mark_lost()

    def _hear(
        self, _connection: PgConnection, sender: int, _channel: str, payload: str
    ) -> None:
        """News of another process; its own come back too. Who can connect can send any."""
        if sender == self._own:
            return
        try:
            session, seq, last, pieces = _decode(payload)
        except msgspec.MsgspecError:
            return  # no process of ours said this
        if not all(0 <= piece.offset < MOST_PIECES for piece in pieces):
            return  # nor this
        self._mark_told(session, seq, last)
        self._watchers.tell([Change(session, seq, tuple(pieces))])

    def _mark_told(self, session: str, seq: int, last: int) -> None:
        newest = _states(session, seq, (seq, last) if last >= 0 else ())
        for key, each in newest.items():
            self._told[key] = max(each, self._told.get(key, ()))

    async def _send_all(self) -> None:
        while True:
            await self._has_changes.wait()
            try:
                await self._send()
            except Failures as problem:
                self._lose(problem)
            except Exception:  # what can't be told is found by the look
                log.exception("A notification could not be written")
            await asyncio.sleep(GATHER_S)

    async def _send(self) -> None:
        changes, self._changes = self._changes, []
        self._has_changes.clear()
        payloads = [payload_of(change) for change in changes]
        if payloads and self._connection is not None:
            async with self._lock:
                await self._connection.execute(
                    "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload WHERE payload <> ''",
                    CHANNEL,
                    payloads,
                    timeout=HEARD_S,
                )

    async def _look_all(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            watched = self._watchers.sessions()
            try:
                if self._connection is not None:
                    await self._look(self._connection, watched)
            except Failures as problem:
                self._lose(problem)
            except Exception:
                log.exception("Watched sessions could not be looked at")

    async def _look(self, connection: PgConnection, watched: list[str]) -> None:
        """A notification comes some milliseconds behind its commit, so what one look finds is lost if it was not told
        of until the next.
        """
        told, self._told = self._told, {}
        rows = []
        async with self._lock, asyncio.timeout(HEARD_S):
            await self._look_beside(connection)
            if watched:
                rows = await connection.fetch(statements()["states"], watched)
        found: _States = {(session, "events"): GONE for session in watched}
        for row in rows:
            found |= _states(*row)
        due, self._due = self._due, {}
        lost = set()
        for key, newest in found.items():
            heard = told.get(key, ())
            if due.get(key, ()) > heard:
                lost.add(key[0])
            elif newest > heard and newest != self._seen.get(key, newest):
                self._due[key] = newest
        self._seen |= found
        for key in [*self._seen]:
            if not self._watchers.is_watched(key[0]):
                del self._seen[key]
        if lost:
            self._watchers.observer.lost_notifications(len(lost))
            self._watchers.tell([Change(each) for each in lost])

    async def _reconnect(self) -> None:
        while True:
            await self._is_lost.wait()
            if self._is_closed:
                return
            try:
                await self._listen()
            except Exception as problem:  # noqa: BLE001 - without a connection there would be no news for ever
                log.debug("There is no connection for news: %s", problem)
                self._is_lost.set()
                await asyncio.sleep(LOOK_S / 4)
                continue
            # What was told meanwhile was not heard.
            self._watchers.tell([Change(each) for each in self._watchers.sessions()])


def _states(session: str, seq: int, piece: Sequence[int] | None) -> _States:
    return {(session, "events"): (seq,), (session, "pieces"): tuple(piece or ())}


def last_piece(change: Change) -> int:
    """The offset of the last piece that a change stored, or -1."""
    last = change.stored[-1] if change.stored else None
    return last.offset if isinstance(last, DraftPiece) else -1


def payload_of(change: Change) -> str:
    """The notification of a change, without its pieces where these are too long; empty for an id that is too long."""
    pieces = [each for each in change.stored if isinstance(each, DraftPiece)]
    for told in (pieces, []):
        payload = msgspec.json.encode(
            (change.session, change.seq, last_piece(change), told)
        )
        if len(payload) <= LARGEST_BYTES:
            return payload.decode()
    return ""
