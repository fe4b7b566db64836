"""The open database of a store: its pool of connections, and its news."""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from ullage.errors import UllageError
from ullage.loop_thread import LoopThread, ThreadClosed
from ullage.store.changes import Change, Watchers
from ullage.store.leases import is_dead, process_of, this_process
from ullage.store.refusals import no_session, was_closed
from ullage.tasks import start, stop
from ullage_cluster.postgres.codes import answer_of
from ullage_cluster.postgres.connecting import (
    COMMAND_S,
    Failures,
    PgConnection,
    PgPool,
    PostgresAddress,
    Record,
    connect,
    drop,
    is_away,
    is_lost,
    pool_of,
)
from ullage_cluster.postgres.failures import failure, unknown_outcome
from ullage_cluster.postgres.news import LOOK_S, News
from ullage_cluster.postgres.records import TableRecords, probe
from ullage_cluster.postgres.tables import (
    call_of,
    make_tables,
    statements,
    write_of,
)

log = logging.getLogger("ullage.cluster")

T = TypeVar("T")

CONNECTIONS: Final = 8
"""Of the pool, in one process."""

READERS: Final = 3
"""Connections that read at once: reads never hold up all writes, and a long read does not hold up a short one."""

WAIT_S: Final = 15.0
"""How long a write or a read waits for a server that restarts, before it fails."""

READ_S: Final = WAIT_S + COMMAND_S
"""How long a read may take with its wait for a free connection, and for a server that restarts."""

CLOSE_S: Final = WAIT_S + 5.0
"""How long ``close`` waits for writes; those that are left are refused then."""

_PAUSES: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between the attempts on a lost connection; the last one repeats."""


Job = Callable[[PgConnection], Awaitable[Any]]
"""Several statements of one transaction."""


@dataclass(slots=True, eq=False)
class PendingWrite:
    """A write to a session that waits: a call of ``function``, or a ``job``.

    ``again`` gives the values to call the function with once more, as long as its answer asks for that. ``finish``
    makes the result after the commit, and the change to tell others of.
    """

    session: str
    finish: Callable[[Any], tuple[Any, Change | None]]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    durable: bool = False
    function: str = ""
    values: tuple[Any, ...] = ()
    again: Callable[[Record], tuple[Any, ...] | None] | None = None
    job: Job | None = None
    tenant: str = ""
    is_sent: bool = False
    """Whether the database may have stored it."""

    asked_at: float = field(default_factory=time.perf_counter)

    def answer(self, result: Any = None, problem: BaseException | None = None) -> None:
        """Give this to the caller, who may have ended."""

        def settle() -> None:
            if self.future.done():
                return
            if problem is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(problem)

        with suppress(RuntimeError):  # the loop is closed and has no waiting callers
            self.loop.call_soon_threadsafe(settle)


@dataclass(slots=True, eq=False)
class _Writer:
    """What one write at a time is numbered by, so that a lost connection can be asked about: see ``settle_write``."""

    name: str = field(default_factory=lambda: token_hex(8))
    number: int = 0

    def next(self) -> int:
        self.number += 1
        return self.number


class OpenDatabase:
    """Hands work to the thread in which the connections live. Nothing is opened before it is used."""

    def __init__(
        self, database: PostgresAddress, watchers: Watchers, *, awaits_server: bool
    ) -> None:
        self.database = database
        self.records = TableRecords(self.read_now, self.begin_read, database.shown)
        self._watchers = watchers
        self._thread = LoopThread("ullage postgres")
        self._handing = threading.Lock()
        self._is_closed = False
        self._opening: asyncio.Task[None] | None = None
        self._is_open = False
        self._awaits_server = awaits_server
        self._has_failed = False
        """Whether the last write could not be stored."""
        self._pool: PgPool | None = None
        self._writers: list[_Writer] = []
        """Those that no write has."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """One of each session with writes, which take it in the order they were asked for."""
        self._writing: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._begun: asyncio.Task[None] | None = None
        """The work of ``begin_read``."""
        self._reading = asyncio.Semaphore(READERS)
        self._news: News | None = None

    def write(
        self,
        session: str,
        finish: Callable[[Any], tuple[T, Change | None]],
        **how: Any,
    ) -> asyncio.Future[T]:
        """The result of a ``PendingWrite``, once it is stored. Writes of a session happen in the order of these calls.

        With a ``tenant`` the policies of the database limit it to this one's sessions.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        write = PendingWrite(session, finish, loop, future, **how)
        self._begin()
        with self._handing:
            if self._is_closed or self._thread.is_ended:
                raise was_closed(self.database.shown)
            self._thread.call(partial(self._take, write))
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
        """Raises ``StoreUnavailable`` where the last write could not be stored, and a small one still can't.

        Without a failed write before, nothing is written.
        """
        if self._has_failed:
            await self.read(probe)
            self._has_failed = False

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

    async def dead_among(self, owners: Sequence[str]) -> list[str]:
        """Those of these drivers whose process has ended, here or on another machine.

        Takes ``ENDED_S`` where it was unknown until now that a process of another machine has ended. Raises
        ``StoreUnavailable``.
        """
        dead = [owner for owner in owners if is_dead(owner)]
        others = [owner for owner in owners if owner not in dead]
        processes = {process_of(owner) for owner in others} - {"", this_process()}
        if not processes:
            return dead

        async def look() -> set[str]:
            await self._open()
            assert self._news is not None
            return await self._news.ended(processes)

        ended = await self.run(look)
        return dead + [owner for owner in others if process_of(owner) in ended]

    async def until_seen(self) -> None:
        """Return while others can see that this process lives: who drives sessions without that loses them.

        Raises ``StoreUnavailable`` where they can't for ``WAIT_S``.
        """
        if self._news is None or not self._news.listens.is_set():
            await self.run(self._until_listening)

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
            self._news.watch_from(state)

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

    def _take(self, write: PendingWrite) -> None:
        task = start(self._perform(write))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _perform(self, write: PendingWrite) -> None:
        """Write, tell of it and answer. The caller may be gone: a write that was taken is not given up for that."""
        lock = self._locks.setdefault(write.session, asyncio.Lock())
        try:
            async with lock:
                answer = await self._written(write)
                result, change = write.finish(answer)
                if change is not None:
                    self._tell(change)
            write.answer(result)
        except asyncio.CancelledError:  # the store is closed, and waits no longer
            shown = self.database.shown
            write.answer(
                problem=(unknown_outcome if write.is_sent else was_closed)(shown)
            )
            raise
        except BaseException as problem:  # noqa: BLE001 - the caller's: a refusal, or what can't be stored
            write.answer(problem=problem)

    async def _written(self, write: PendingWrite) -> Any:
        """The answer of the database to a write that is committed. Raises ``StoreUnavailable``."""
        await self._open()
        writer = self._writers.pop() if self._writers else _Writer()
        try:
            answer = await self._write_once(write, writer)
            # Others write meanwhile, so new values may come too late as often as that happens.
            while (values := write.again and write.again(answer)) is not None:
                write.values = values
                answer = await self._write_once(write, writer)
        except UllageError as problem:
            self._has_failed |= isinstance(problem.__cause__, Failures)
            raise
        finally:
            self._writers.append(writer)
        self._has_failed = False
        return answer

    async def _write_once(self, write: PendingWrite, writer: _Writer) -> Any:
        """Commit, again where the connection was lost and did not: what was sent is first asked about."""
        number = writer.next()
        answer: Any = None
        write.is_sent = False

        async def attempt(connection: PgConnection) -> Any:
            nonlocal number, answer
            if write.is_sent:
                settled = await connection.fetchrow(
                    call_of("settle_write", 3), writer.name, number, writer.next()
                )
                if settled["is_done"]:
                    return answer if write.job else answer_of(settled["answer"])
                number = writer.next()
            else:
                self._watchers.observer.waited(time.perf_counter() - write.asked_at)
            if write.job is None:
                write.is_sent = True
                statement = write_of(write.function, len(write.values))
                head = (writer.name, number, write.durable, write.tenant)
                return answer_of(
                    await connection.fetchval(statement, *head, *write.values)
                )
            async with connection.transaction():
                await connection.execute(
                    statements()["begin_job"], write.durable, write.tenant
                )
                answer = await write.job(connection)
                await connection.execute(statements()["end_job"], writer.name, number)
                write.is_sent = True
            return answer

        return await self._patiently(attempt, lambda: write.is_sent)

    async def _read(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        await self._open()
        try:
            async with asyncio.timeout(READ_S), self._reading:
                return await self._patiently(work)
        except TimeoutError as problem:
            raise failure(problem, self.database.shown) from problem

    async def _patiently(
        self,
        work: Callable[[PgConnection], Awaitable[T]],
        is_unknown: Callable[[], bool] = lambda: False,
    ) -> T:
        """What work on a connection gives, on another one when its own is lost. Raises ``StoreUnavailable``."""
        assert self._pool is not None
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_S
        pauses = iter(_PAUSES)
        while True:
            is_gone = True
            try:
                async with self._pool.acquire() as connection:
                    try:
                        return await work(connection)
                    except Failures as problem:
                        is_gone = is_lost(connection, problem)
                        if is_gone:
                            drop(connection)
                        raise
            except Failures as problem:
                if not is_gone:
                    raise failure(problem, self.database.shown) from problem
                if loop.time() >= end:
                    shown = self.database.shown
                    ours = (
                        unknown_outcome(shown)
                        if is_unknown()
                        else failure(problem, shown)
                    )
                    raise ours from problem
                await asyncio.sleep(next(pauses, _PAUSES[-1]))

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
        self._pool = await pool_of(self.database, CONNECTIONS)
        self._is_open = True

    async def _until_listening(self) -> None:
        await self._open()
        assert self._news is not None
        try:
            async with asyncio.timeout(WAIT_S):
                await self._news.listens.wait()
        except TimeoutError as problem:
            raise failure(problem, self.database.shown) from problem

    async def _prepare(self) -> None:
        """Check the schema; an empty database gets one."""
        connection = None
        try:
            connection = await self._first_connection()
            if not await make_tables(connection, self.database.shown):
                await connection.execute(statements()["forget_writers"])
        except Failures as problem:
            raise failure(problem, self.database.shown) from problem
        finally:
            drop(connection)

    async def _first_connection(self) -> PgConnection:
        loop = asyncio.get_running_loop()
        end = loop.time() + (WAIT_S if self._awaits_server else 0.0)
        self._awaits_server = False  # once: what is asked for next fails at once
        pauses = iter(_PAUSES)
        while True:
            try:
                return await connect(self.database, direct=True)
            except Failures as problem:
                pause_s = next(pauses, _PAUSES[-1])
                if not is_away(problem) or loop.time() + pause_s > end:
                    raise
                if pause_s == _PAUSES[0]:
                    told = failure(problem, self.database.shown)
                    log.warning("%s It is waited for, up to %.0f s.", told, WAIT_S)
                await asyncio.sleep(pause_s)

    def _tell(self, change: Change) -> None:
        try:
            self._watchers.tell([change])
            if self._news is not None:
                self._news.tell(change)
        except Exception:
            log.exception("Watchers could not be notified of stored events")

    async def _end(self) -> None:
        if self._writing:
            _, late = await asyncio.wait(self._writing, timeout=CLOSE_S)
            if late:
                await stop(*late)
        if self._news is not None:
            await self._news.end()
        if self._listening is not None:
            await stop(self._listening)
        if self._pool is not None:
            self._pool.terminate()
