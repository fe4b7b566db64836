"""The open database of a store: its lanes, its connections that read, and its news."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from ullage.errors import UllageError
from ullage.store.changes import Change, Watchers
from ullage.store.postgres.connecting import (
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
    LANES,
    WAIT_S,
    PendingWrite,
    WriteLane,
    lane_of,
)
from ullage.store.postgres.loops import StoreThread
from ullage.store.postgres.migrating import check_state, migrate, state_of, statements
from ullage.store.postgres.news import News
from ullage.store.refusals import no_session, was_closed
from ullage.tasks import start, stop

T = TypeVar("T")

READERS: Final = 3
"""Connections that read at once: a long read does not hold up a short one."""

_PAUSE_S: Final = 0.2


class OpenDatabase:
    """Hands work to the thread in which the connections live. Nothing is opened before it is used."""

    def __init__(self, database: PostgresAddress, watchers: Watchers) -> None:
        self.database = database
        self._watchers = watchers
        self._thread = StoreThread(self._end)
        self._opening: asyncio.Lock | None = None
        self._is_open = False
        self._lanes: list[WriteLane] = []
        self._writing: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None
        self._free: list[PgConnection] = []
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
    ) -> asyncio.Future[T]:
        """The result of a write, once it is stored. Writes of a session happen in the order of these calls."""
        loop = asyncio.get_running_loop()
        ours = self._thread.begin()
        if ours is None:
            raise was_closed(self.database.shown)
        future: asyncio.Future[T] = loop.create_future()
        write = PendingWrite(
            sessions, durable, finish, loop, future, function, values, again, job
        )
        try:
            ours.call_soon_threadsafe(self._put, write)
        except RuntimeError as problem:
            raise was_closed(self.database.shown) from problem
        return future

    async def read(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """What ``work`` gives; it is done again on another connection when its own is lost.

        Raises what it raises, and ``StoreUnavailable``.
        """
        return await self.run(lambda: self._read(work))

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What a coroutine gives that is run in the thread."""
        ours = self._thread.begin()
        if ours is None:
            raise was_closed(self.database.shown)
        try:
            done = asyncio.run_coroutine_threadsafe(work(), ours)
        except RuntimeError as problem:
            raise was_closed(self.database.shown) from problem
        return await asyncio.wrap_future(done)

    async def open(self) -> None:
        """Open the database if it is not. Raises ``StoreUnavailable``."""
        await self.run(self._open)

    async def watch(self, session: str) -> None:
        """Notice what changes in a session from here on. Raises ``SessionNotFound``."""

        async def work(connection: PgConnection) -> Record | None:
            return await connection.fetchrow(statements()["states"], [session])

        async def watching() -> None:
            state = await self._read(work)
            if state is None:
                raise no_session(session)
            assert self._news is not None
            self._news.watch_from(session, state)

        await self.run(watching)

    def close(self) -> None:
        """Write what waits, and close the connections. Blocks until then."""
        self._thread.end()

    # -- in the thread --

    def _put(self, write: PendingWrite) -> None:
        if not self._lanes:
            self._lanes = [WriteLane(self.database, self._tell) for _ in range(LANES)]
            self._writing = [start(self._run(each)) for each in self._lanes]
        lane_of(write.sessions[0], self._lanes).put(write)

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
        if self._is_open:
            return
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            if self._is_open:
                return
            await self._prepare()
            news = News(self.database, self._watchers)
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
            state = await state_of(connection)
            if state.version == 0:
                await migrate(connection, self.database.shown)
            else:
                check_state(state, self.database.shown)
                await connection.execute(statements()["forget_lanes"])
        except Failures as problem:
            raise failure(problem, self.database.shown) from problem
        finally:
            drop(connection)

    async def _read(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        await self._open()
        assert self._reading is not None
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_S
        async with self._reading:
            while True:
                connection = None
                try:
                    connection = self._free.pop() if self._free else None
                    if connection is None or connection.is_closed():
                        connection = await connect(self.database)
                    async with connection.transaction(
                        isolation="repeatable_read", readonly=True
                    ):
                        result = await work(connection)
                    self._free.append(connection)
                    return result
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

    def _tell(self, changes: list[Change]) -> None:
        self._watchers.tell(changes)
        if self._news is not None:
            self._news.tell(changes)

    async def _end(self) -> None:
        for lane in self._lanes:
            lane.is_closing = True
            lane.has_work.set()
        await asyncio.gather(*self._writing, return_exceptions=True)
        if self._news is not None:
            await self._news.end()
        if self._listening is not None:
            await stop(self._listening)
        for connection in self._free:
            drop(connection)
