"""The writer thread of a store.

All waiting writes share one transaction and the cost of one commit. Each has its own savepoint, so that a refused write
fails alone. While there are watchers, the thread checks between writes for commits of other processes.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import math
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakSet

from ullage.errors import StoreUnavailable, UllageError
from ullage.store.changes import Change, Watchers
from ullage.store.failures import UNREADABLE
from ullage.store.refusals import was_closed, was_forked
from ullage.store.sqlite.failures import (
    LEAST_FREE_BYTES,
    damaged,
    disk_full,
    failure,
    free_bytes,
    primary_code,
)
from ullage.store.sqlite.opening import LOG_PAGES, failure_of, open_for_writing
from ullage.store.sqlite.transaction import Transaction, statements

log = logging.getLogger("ullage.store")

T = TypeVar("T")

_SessionState = tuple[object, ...]
"""What the statement ``states`` gives of a session: another one after each write that its watchers look for."""

MOST_AT_ONCE = 256
"""Writes in one transaction: bounds how long the first of them waits for its answer."""

POLL_S = 0.05
"""The interval of checks for commits of other processes, while there are watchers."""


@dataclass(slots=True, eq=False)
class _Write:
    work: Callable[[Transaction], Any] | None
    """``None``: open the database and check for commits of other processes."""
    durable: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    changes: list[Change] = field(default_factory=list)
    result: Any = None
    problem: BaseException | None = None
    asked_at: float = field(default_factory=time.perf_counter)


_writers: Final[WeakSet[WriterThread]] = WeakSet()


def _check_path(path: Path) -> None:
    """Raise ``StoreUnavailable`` for a file that was open when this process was forked: its locks would fail here.

    https://www.sqlite.org/howtocorrupt.html#_carrying_an_open_database_file_across_a_fork_
    """
    if any(writer.is_forked and writer.path == path for writer in tuple(_writers)):
        raise was_forked(str(path))


class WriterThread:
    """See the head of the file. The thread begins with the first write and ends with ``close``."""

    def __init__(self, path: Path, watchers: Watchers) -> None:
        self.path = path
        self._watchers = watchers
        self._waiting: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_closed = False
        self._process = 0
        """The process that has the thread; 0 if there is none."""
        self._database: sqlite3.Connection | None = None
        self._inode = 0
        self.was_opened = False
        """Whether the database could be opened, so that readers find its tables."""
        self._has_failed = False
        """Whether the last writes could not be stored."""
        self._data_version = -1
        self._seen: dict[str, _SessionState] = {}
        """The watched sessions as they were at the last look."""
        self._polled = 0.0

    async def perform(
        self, work: Callable[[Transaction], T], *, durable: bool = False
    ) -> T:
        """The result of ``work``, once it is stored. Cancelling does not undo it: the work is performed anyway.

        ``work`` may run twice, the second time after the first one was undone. Raises what ``work`` raises, a
        ``StopIteration`` as the cause of a ``RuntimeError``, and ``StoreUnavailable``.
        """
        return await self._enqueue(work, durable=durable)  # type: ignore[no-any-return]

    async def open(self) -> None:
        """Open the database if it is not, without writing. Raises ``StoreUnavailable``.

        From then on watchers are notified of every commit of another process.
        """
        await self._enqueue(None)

    async def check(self) -> None:
        """Raises ``StoreUnavailable`` where the last writes could not be stored, and a small one still can't.

        Without a failed write before, nothing is written.
        """
        if not self._has_failed:
            return
        room = free_bytes(self.path)
        if room is not None and room < LEAST_FREE_BYTES:
            raise disk_full(self.path)
        await self.perform(_write_version, durable=True)

    async def give_room_back(self) -> None:
        """Return free pages to the file system, a few megabytes at a time. Raises ``StoreUnavailable``."""
        free, before = await self.perform(_free_pages), math.inf
        while 0 < free < before:  # a file without `auto_vacuum` keeps them
            await self.perform(_vacuum)
            free, before = await self.perform(_free_pages), free

    def _enqueue(
        self,
        work: Callable[[Transaction], Any] | None,
        *,
        durable: bool = False,
    ) -> asyncio.Future[Any]:
        """Hand the work to the thread, and start the thread with the first one."""
        self.check_process()
        loop = asyncio.get_running_loop()
        write = _Write(work, durable, loop, loop.create_future())
        with self._starting:
            if self._is_closed:
                raise was_closed(str(self.path))
            if self._thread is None:
                _check_path(self.path)
                _writers.add(self)
                # A daemon, so that a store that was never closed does not keep the process alive; what is waiting
                # when the process ends is still written.
                thread = threading.Thread(
                    target=self._run, name="ullage store", daemon=True
                )
                thread.start()  # may fail: then the next write tries again
                self._thread = thread
                self._process = os.getpid()
                atexit.register(self.finish)
            self._waiting.put(write)
        return write.future

    def check_process(self) -> None:
        """Raises ``StoreUnavailable`` in a process that was forked from the one that opened the store."""
        if self.is_forked:
            raise was_forked(str(self.path))

    @property
    def is_forked(self) -> bool:
        """Whether another process opened the store, of which this one was forked."""
        return self._process not in (0, os.getpid())

    def finish(self) -> None:
        """Perform what is waiting, and end the thread. Blocks until then. Does nothing in a forked process."""
        if self.is_forked:
            return
        with self._starting:
            self._is_closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._waiting.put(None)
            thread.join()
        self._process = 0
        atexit.unregister(self.finish)

    # -- in the thread --

    def _run(self) -> None:
        is_open = True
        while is_open:
            writes: list[_Write] = []
            looks: list[_Write] = []
            # Wait for the first write, then take what else is waiting.
            wait_s = POLL_S if self._watchers.is_listening() else None
            with suppress(queue.Empty):
                next_write = self._waiting.get(timeout=wait_s)
                while next_write is not None:
                    kind = looks if next_write.work is None else writes
                    kind.append(next_write)
                    if len(writes) + len(looks) >= MOST_AT_ONCE:
                        break
                    next_write = self._waiting.get_nowait()
                is_open = next_write is not None
            if writes:
                now = time.perf_counter()
                for write in writes:
                    self._watchers.observer.waited(now - write.asked_at)
                self._perform(writes)
            if looks:
                self._open_for(looks)
            if (
                is_open
                and self._watchers.is_listening()
                and time.monotonic() - self._polled >= POLL_S
            ):
                self._poll()
        if self._database is not None:
            self._database.close()
            self._database = None

    def _perform(self, writes: list[_Write]) -> None:
        try:
            self._commit(writes)
        except StoreUnavailable as problem:
            _fail(writes, problem)
        except sqlite3.Error as problem:
            if len(writes) > 1 and primary_code(problem) != sqlite3.SQLITE_BUSY:
                # SQLite may have undone the whole transaction. One at a time, only the writes with an error fail.
                for write in writes:
                    self._perform([write])
                return
            ours = failure_of(problem, self._database, self.path)
            ours.__cause__ = problem
            _fail(writes, ours)
        except BaseException as problem:  # noqa: BLE001 - the caller gets the error, and the thread continues for others
            _fail(writes, problem)
        self._note(writes)
        stored = [
            change
            for write in writes
            if write.problem is None
            for change in write.changes
        ]
        if stored:
            self._tell(self._watchers.tell, stored)
        _answer(writes)

    def _note(self, writes: list[_Write]) -> None:
        """What became of the writes, for ``check``. A refused write says nothing of the disk."""
        problems = [write.problem for write in writes]
        if any(isinstance(problem, StoreUnavailable) for problem in problems):
            self._has_failed = True
        elif None in problems:
            self._has_failed = False

    def _commit(self, writes: list[_Write]) -> None:
        database = self._opened()
        durable = any(write.durable for write in writes)
        database.execute(
            "PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL"
        )
        # What is written goes between pages that are read again: whoever overwrote the file is noticed (some 20 us).
        database.execute("PRAGMA shrink_memory")
        database.execute("BEGIN IMMEDIATE")
        try:
            if self._watchers.is_listening():
                self._look_around(database)
            for write in writes:
                self._one(database, write)
            own: dict[str, _SessionState] = {}
            if self._watchers.is_listening():
                changes = [change for write in writes for change in write.changes]
                changed = {change.session for change in changes}
                own = _states(database, changed.intersection(self._watchers.sessions()))
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise
        self._seen.update(own)

    def _one(self, database: sqlite3.Connection, write: _Write) -> None:
        write.result = write.problem = None
        write.changes = []
        database.execute("SAVEPOINT one")
        try:
            transaction = Transaction(database)
            assert write.work is not None, "a look is no write"
            write.result = write.work(transaction)
            write.changes = transaction.changes
        except UNREADABLE as problem:
            database.execute("ROLLBACK TO one")
            write.problem = damaged(problem, self.path)
            write.problem.__cause__ = problem
        except (UllageError, sqlite3.IntegrityError) as problem:
            database.execute("ROLLBACK TO one")
            write.problem = (
                failure(problem, self.path)
                if isinstance(problem, sqlite3.Error)
                else problem
            )
        except sqlite3.Error:
            raise
        except BaseException as problem:  # noqa: BLE001 - an error of the caller's work must reach the caller, not end the thread
            database.execute("ROLLBACK TO one")
            write.problem = problem
        database.execute("RELEASE one")

    def _opened(self) -> sqlite3.Connection:
        """The connection. Raises ``StoreUnavailable`` when its file is no longer the one that was opened."""
        if self._database is None:
            self._database = open_for_writing(self.path)
            self._inode = os.stat(self.path).st_ino
            self.was_opened = True
        try:
            inode = os.stat(self.path).st_ino
        except OSError:
            inode = -1
        if inode != self._inode:
            raise StoreUnavailable(
                f"The database {self.path} was moved or deleted while it was in use. Nothing was written. Put it back, "
                "or start this program again."
            )
        return self._database

    # -- other processes --

    def _open_for(self, looks: list[_Write]) -> None:
        try:
            self._opened()
        except StoreUnavailable as problem:
            _fail(looks, problem)
        except sqlite3.Error as problem:
            _fail(looks, failure(problem, self.path))
        except BaseException as problem:  # noqa: BLE001 - as for writes
            _fail(looks, problem)
        else:
            self._poll()
        _answer(looks)

    def _poll(self) -> None:
        try:
            self._look_around(self._opened())
        except Exception:  # noqa: BLE001 - no caller waits for this
            self._polled = time.monotonic()  # the next write says what is wrong

    def _look_around(self, database: sqlite3.Connection) -> None:
        """Notify watchers of commits of other processes since the last check.

        ``data_version`` of a connection changes with every commit but its own
        (https://www.sqlite.org/pragma.html#pragma_data_version).
        """
        self._polled = time.monotonic()
        version = database.execute("PRAGMA data_version").fetchone()[0]
        if version == self._data_version:
            return
        watched = set(self._watchers.sessions())
        before, self._seen = self._seen, _states(database, watched)
        self._data_version = version  # not before: a look that fails is made again
        news = [
            Change(session)
            for session in watched
            if session not in before or self._seen.get(session) != before[session]
        ]
        if news:
            self._tell(self._watchers.tell, news)

    def _tell(self, tell: Callable[[T], None], what: T) -> None:
        try:
            tell(what)
        except Exception:
            log.exception(
                "The watchers of %s could not be notified of stored events", self.path
            )


def _write_version(inside: Transaction) -> None:
    """Write the page with the number of the schema, which stays as it is."""
    database = inside.database
    version = database.execute("PRAGMA user_version").fetchone()[0]
    database.execute(f"PRAGMA user_version = {version:d}")


def _free_pages(inside: Transaction) -> int:
    return int(inside.database.execute("PRAGMA freelist_count").fetchone()[0])


def _vacuum(inside: Transaction) -> None:
    inside.database.execute(f"PRAGMA incremental_vacuum({LOG_PAGES})").fetchall()


def _states(
    database: sqlite3.Connection, sessions: Collection[str]
) -> dict[str, _SessionState]:
    """The states of those of the sessions that there are."""
    if not sessions:
        return {}
    rows = database.execute(statements()["states"], (json.dumps(list(sessions)),))
    return {session: tuple(state) for session, *state in rows}


def _fail(writes: list[_Write], problem: BaseException) -> None:
    for write in writes:
        write.problem = problem


def _answer(writes: list[_Write]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_Write]] = {}
    for write in writes:
        by_loop.setdefault(write.loop, []).append(write)
    for loop, answered in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed and has no waiting callers
            loop.call_soon_threadsafe(_settle, answered)


def _settle(writes: list[_Write]) -> None:
    for write in writes:
        problem = write.problem
        if write.future.done():
            continue
        if problem is None:
            write.future.set_result(write.result)
        elif isinstance(
            problem, StopIteration
        ):  # a future refuses it (https://peps.python.org/pep-0479/)
            ours = RuntimeError(
                "What was to be stored raised StopIteration. Nothing of it was written."
            )
            ours.__cause__ = problem
            write.future.set_exception(ours)
        else:
            write.future.set_exception(problem)
