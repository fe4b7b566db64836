"""The open database of a store: its lanes, its connections that read, and its news."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from ullage.errors import UllageError
from ullage.loop_thread import LoopThread, ThreadClosed
from ullage.store.changes import Change, Watchers
from ullage.store.postgres.connecting import (
    COMMAND_S,
    Failures,
    PgConnection,
    PostgresAddress,
    Record,
    connect,
    drop,
    is_lost,
)
from ullage.store.postgres.failures import failure
from ullage.store.postgres.lanes import (
    GATHER_S,
    LANES,
    WAIT_S,
    PendingWrite,
    WriteLane,
    lane_of,
)
from ullage.store.postgres.news import LOOK_S, News
from ullage.store.postgres.records import TableRecords
from ullage.store.postgres.shared import probe
from ullage.store.postgres.tables import make_tables, statements
from ullage.store.refusals import no_session, was_closed
from ullage.tasks import start, stop

T = TypeVar("T")

READERS: Final = 3
"""Connections that read at once: a long read does not hold up a short one."""

READ_S: Final = WAIT_S + COMMAND_S
"""How long a read may take with its wait for a free connection, and for a server that restarts."""

CLOSE_S: Final = WAIT_S + 5.0
"""How long ``close`` waits for writes; those that are left are refused then."""

_PAUSE_S: Final = 0.2


class OpenDatabase:
    """Hands work to the thread in which the connections live. Nothing is opened before it is used."""

    def __init__(self, database: PostgresAddress, watchers: Watchers) -> None:
        self.database = database
        self.records = TableRecords(self.read_now, self.begin_read, database.shown)
        self._watchers = watchers
        self._thread = LoopThread("ullage postgres")
        self._handing = threading.Lock()
        self._handed: deque[PendingWrite] = deque()
        self._is_taking = False
        """Whether the thread was told of what is in ``_handed``: it is woken once for many writes."""
        self._is_closed = False
        self._opening: asyncio.Task[None] | None = None
        self._is_open = False
        self._lanes: list[WriteLane] = []
        self._writing: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None
        self._free: list[PgConnection] = []
        self._begun: asyncio.Task[None] | None = None
        """The work of ``begin_read``."""
        self._reading: asyncio.Semaphore | None = None
        self._news: News | None = None

    def write(
        self,
        sessions: tuple[str, ...],
        finish: Callable[[Any], tuple[T, Change | None]],
        *,
        durable: bool = False,
        function: str = "",
        values: tuple[Any, ...] = (),
        again: Callable[[Any], tuple[Any, ...] | None] | None = None,
        job: Callable[[PgConnection], Awaitable[Any]] | None = None,
        tenant: str = "",
    ) -> asyncio.Future[T]:
        """The result of a write, once it is stored. Writes of a session happen in the order of these calls.

        With a ``tenant`` the policies of the database limit it to this one's sessions.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        write = PendingWrite(
            sessions, durable, finish, loop, future, function, values, again, job, tenant
        )
        self._begin()
        with self._handing:
            if self._is_closed or self._thread.is_ended:
                raise was_closed(self.database.shown)
            self._handed.append(write)
            if not self._is_taking:
                self._is_taking = True
                self._thread.call(self._take)
        return future

    async def read(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """What ``work`` gives; it is done again on another connection when its own is lost.

        Raises what it raises, and ``StoreUnavailable``.
        """
        return await self.run(lambda: self._read(work))

    def read_now(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """The same for a caller that waits without an event loop."""
        self._begin()
        try:
            return self._thread.run(lambda: self._read(work))
        except ThreadClosed as problem:
            raise was_closed(self.database.shown) from problem

    def begin_read(self, work: Callable[[PgConnection], Awaitable[None]]) -> None:
        """Have work done without waiting for it, unless such work is under way. Its failures are dropped."""

        async def attempt() -> None:
            with suppress(UllageError):
                await self._read(work)

        def begin() -> None:
            if self._begun is None or self._begun.done():
                self._begun = start(attempt())

        self._begin()
        with suppress(ThreadClosed):
            self._thread.call(begin)

    async def check_writing(self) -> None:
        """Raises ``StoreUnavailable`` where the last writes of a lane could not be stored, and a small one still can't.

        Without a failed write before, nothing is written.
        """
        failed = [lane for lane in self._lanes if lane.has_failed]
        if failed:
            await self.read(probe)
            for lane in failed:
                lane.has_failed = False

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What a coroutine gives that is run in the thread."""
        self._begin()
        try:
            return await self._thread.run_async(work)
        except ThreadClosed as problem:
            raise was_closed(self.database.shown) from problem

    async def open(self) -> None:
        """Open the database if it is not. Raises ``StoreUnavailable``."""
        await self.run(self._open)

    async def watch(self, session: str) -> None:
        """Notice what changes in a session from here on. Raises ``SessionNotFound``."""

        async def work(connection: PgConnection) -> Record | None:
            return await connection.fetchrow(statements()["states"], [session])

        async def watching() -> None:
            await self._open()
            assert self._news is not None
            state = await self._read(work)
            if state is None:
                raise no_session(session)
            self._news.watch_from(session, state)

        await self.run(watching)

    def close(self) -> None:
        """Write what waits, and close the connections. Blocks until then, at most for ``CLOSE_S`` and a few seconds.

        What could not be written is refused, and reads under way too.
        """
        with self._handing:
            self._is_closed = True
        self._thread.end(self._end, within_s=CLOSE_S + LOOK_S)
        atexit.unregister(self.close)

    def _begin(self) -> None:
        if not (self._thread.is_running or self._is_closed):
            atexit.register(self.close)

    # -- in the thread --

    def _take(self) -> None:
        if not self._lanes:
            self._lanes = self._new_lanes()
            self._writing = [start(self._run(each)) for each in self._lanes]
        self._is_taking = False
        while self._handed:
            write = self._handed.popleft()
            lane_of(write.sessions[0], self._lanes, write.function).put(write)

    def _new_lanes(self) -> list[WriteLane]:
        last: dict[str, PendingWrite] = {}
        return [
            WriteLane(
                self.database,
                self._tell,
                self._watchers.observer.waited,
                gather_s=0.0 if number else GATHER_S,
                last=last,
            )
            for number in range(LANES)
        ]

    async def _run(self, lane: WriteLane) -> None:
        """Open the database before the lane's first write; where that fails, its writes fail."""
        while not self._is_open:
            if not lane.waiting:
                if lane.is_closing:
                    return
                lane.has_work.clear()
                await lane.has_work.wait()
                continue
            try:
                await self._open()
            except UllageError as problem:
                lane.refuse(problem)
        await lane.run()

    async def _open(self) -> None:
        """Open the database once: who comes meanwhile waits for the same attempt, and gets its error."""
        if self._is_open:
            return
        if self._opening is None or self._opening.done():
            self._opening = start(self._open_now())
        await asyncio.shield(self._opening)

    async def _open_now(self) -> None:
        await self._prepare()
        news = News(self.database, self._watchers, self.records.look)
        await news.begin()
        self._news = news
        self._listening = start(news.run())
        self._reading = asyncio.Semaphore(READERS)
        self._is_open = True

    async def _prepare(self) -> None:
        """Check the schema; an empty database gets one."""
        connection = None
        try:
            connection = await connect(self.database, direct=True)
            if not await make_tables(connection, self.database.shown):
                await connection.execute(statements()["forget_lanes"])
        except Failures as problem:
            raise failure(problem, self.database.shown) from problem
        finally:
            drop(connection)

    async def _read(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        await self._open()
        assert self._reading is not None
        try:
            async with asyncio.timeout(READ_S), self._reading:
                return await self._read_patiently(work)
        except TimeoutError as problem:
            raise failure(problem, self.database.shown) from problem

    async def _read_patiently(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_S
        while True:
            connection = None
            try:
                connection = self._free.pop() if self._free else None
                if connection is None or connection.is_closed():
                    connection = await connect(self.database)
                result = await work(connection)
            except Failures as problem:
                gone = is_lost(connection, problem)
                drop(connection)
                if not gone or loop.time() >= end:
                    raise failure(problem, self.database.shown) from problem
                await asyncio.sleep(_PAUSE_S)
            except UllageError:
                if connection is not None:
                    self._free.append(connection)
                raise
            except BaseException:
                drop(connection)
                raise
            else:
                self._free.append(connection)
                return result

    def _tell(self, changes: list[Change]) -> None:
        self._watchers.tell(changes)
        if self._news is not None:
            self._news.tell(changes)

    async def _end(self) -> None:
        for lane in self._lanes:
            lane.is_closing = True
            lane.has_work.set()
        if self._writing:
            _, late = await asyncio.wait(self._writing, timeout=CLOSE_S)
            if late:
                await stop(*late)
        for lane in self._lanes:
            lane.refuse(was_closed(self.database.shown))
        if self._news is not None:
            await self._news.end()
        if self._listening is not None:
            await stop(self._listening)
        for connection in self._free:
            drop(connection)
