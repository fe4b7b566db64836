"""Group commit: the writes that wait share a transaction and the cost of one commit.

The writes of a session that wait are in one lane, so they happen in the order they were asked for. A refused write
gives a code and fails alone. All that is here runs in the store's own event loop.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Final

from ullage.errors import StoreUnavailable
from ullage.store.changes import Change
from ullage.store.postgres.codes import answer_of, answers_of
from ullage.store.postgres.connecting import (
    Failures,
    PgConnection,
    PostgresAddress,
    Record,
    connect,
    drop,
    is_lost,
)
from ullage.store.postgres.failures import failure, unknown_outcome

log = logging.getLogger("ullage.store")

LANES: Final = 4
"""Connections that write at once, in one process. The first one is for drafts."""

GATHER_S: Final = 0.005
"""Pause between two transactions of drafts, in which those of many sessions gather; after a longer one none waits."""

MOST_AT_ONCE: Final = 64
"""Writes in one transaction: 50 took 17 us of the client's CPU each, one alone 190 us (asyncpg 0.32, 2 rounds)."""

WAIT_S: Final = 15.0
"""How long a write waits for a server that restarts, before it fails."""

_PAUSES: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between the attempts to connect again; the last one repeats."""

SET_TENANT: Final = "SELECT set_config('ullage.tenant', $1, true)"
"""Limits a transaction to a tenant: see ``schema.sql``."""

Finish = Callable[[Any], tuple[Any, Change | None]]


@dataclass(slots=True, eq=False)
class PendingWrite:
    """A write that waits: a call of ``function``, or a ``job`` of several statements with a transaction of its own.

    ``again`` gives the values to call the function with once more, where its answer asks for that. ``finish`` makes the
    result after the commit, and the change to tell others of.
    """

    sessions: tuple[str, ...]
    durable: bool
    finish: Finish
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    function: str = ""
    values: tuple[Any, ...] = ()
    again: Callable[[Record], tuple[Any, ...] | None] | None = None
    job: Callable[[PgConnection], Awaitable[Any]] | None = None
    tenant: str = ""
    answer: Any = None
    result: Any = None
    problem: BaseException | None = None
    asked_at: float = field(default_factory=time.perf_counter)
    lane: WriteLane | None = None


def call_of(function: str, values: int) -> str:
    """The statement that calls a function with so many values."""
    marks = ", ".join(f"${number}" for number in range(1, values + 1))
    return f"SELECT * FROM {function}({marks})"  # noqa: S608 - a name in this package


def lone_call_of(function: str, values: int) -> str:
    """The statement that is a whole transaction: a call of a function that writes, whose first value is the session.

    Its own values are the lane, the number of the transaction, whether it is durable, and its tenant; it gives the
    answer as JSON.
    """
    marks = ", ".join(f"${number}" for number in range(6, values + 5))
    call = f"{function}(begin_write($5, $3, $4), {marks})"
    return f"SELECT end_write($1, $2, to_jsonb({call}))"


def groups(batch: Sequence[PendingWrite]) -> Iterator[list[PendingWrite]]:
    """Writes of the same function together; those of one session stay in their order."""
    remaining = list(batch)
    while remaining:
        function = remaining[0].function
        group: list[PendingWrite] = []
        later: list[PendingWrite] = []
        waiting: set[str] = set()
        for write in remaining:
            session = write.sessions[0]
            if write.function == function and session not in waiting:
                group.append(write)
                if write.again is not None:
                    waiting.add(session)
            else:
                later.append(write)
                waiting.add(session)
        yield group
        remaining = later


def values_together(drafts: Sequence[PendingWrite]) -> tuple[Any, ...]:
    """What ``add_pieces_together`` is called with behind its tenant, for several calls of ``add_pieces``."""
    heads = []
    rows = []
    for number, write in enumerate(drafts, 1):
        heads.append(write.values[:3])
        rows += [(number, *row) for row in zip(*write.values[3:], strict=True)]
    columns = zip(*rows, strict=True) if rows else ((),) * 5
    return (*zip(*heads, strict=True), *columns)


@dataclass(slots=True, eq=False)
class WriteLane:
    """One connection that writes, and what waits for it. Its transactions begin ``gather_s`` apart at least."""

    database: PostgresAddress
    tell: Callable[[list[Change]], None]
    waited: Callable[[float], None]
    waiting: deque[PendingWrite] = field(default_factory=deque)
    has_work: asyncio.Event = field(default_factory=asyncio.Event)
    gather_s: float = 0.0
    is_closing: bool = False
    connection: PgConnection | None = None
    was_connected: bool = False
    has_failed: bool = False
    """Whether the last writes could not be stored."""
    name: str = field(default_factory=lambda: token_hex(8))
    number: int = 0
    """Of the last transaction; PostgreSQL has the last one that was committed under the lane's ``name``."""

    last: dict[str, PendingWrite] = field(default_factory=dict)
    """The last write of each session that has unanswered ones; all lanes have the same."""

    def put(self, write: PendingWrite) -> None:
        write.lane = self
        self.last[write.sessions[0]] = write
        self.waiting.append(write)
        self.has_work.set()

    def refuse(self, problem: BaseException) -> None:
        """Fail all that waits."""
        batch = list(self.waiting)
        self.waiting.clear()
        _fail(batch, problem)
        self._answer(batch)

    async def run(self) -> None:
        """Write what comes, until the lane is closed and empty."""
        began_at = -math.inf
        while self.waiting or not self.is_closing:
            if not self.waiting:
                self.has_work.clear()
                await self.has_work.wait()
                continue
            left_s = began_at + self.gather_s - time.perf_counter()
            if left_s > 0:
                await asyncio.sleep(left_s)
            batch = self._next()
            now = began_at = time.perf_counter()
            for write in batch:
                self.waited(now - write.asked_at)
            await self._perform(batch)
        connection, self.connection = self.connection, None
        drop(connection)

    def _next(self) -> list[PendingWrite]:
        batch = [self.waiting.popleft()]
        while batch[0].job is None and self.waiting and len(batch) < MOST_AT_ONCE:
            following = self.waiting[0]
            if following.job is not None or following.tenant != batch[0].tenant:
                break
            batch.append(self.waiting.popleft())
        return batch

    async def _perform(self, batch: list[PendingWrite]) -> None:
        try:
            await self._commit_patiently(batch)
            self.has_failed = False
        except (*Failures, StoreUnavailable) as problem:
            if len(batch) > 1 and not isinstance(problem, StoreUnavailable):
                # The server has undone the whole transaction. One at a time, only the writes with an error fail.
                for write in batch:
                    await self._perform([write])
                return
            ours = failure(problem, self.database.shown)
            if ours is not problem:
                ours.__cause__ = problem
            self.has_failed = self.has_failed or isinstance(ours, StoreUnavailable)
            _fail(batch, ours)
        except asyncio.CancelledError:  # the store is closed, and waits no longer
            drop(self.connection)
            _fail(batch, unknown_outcome(self.database.shown))
            self._answer(batch)
            raise
        except BaseException as problem:  # noqa: BLE001 - the caller gets the error, and the lane continues for others
            drop(self.connection)
            _fail(batch, problem)
        self._answer(batch)

    def _answer(self, batch: list[PendingWrite]) -> None:
        for write in batch:
            if self.last.get(write.sessions[0]) is write:
                del self.last[write.sessions[0]]
        _answer(batch, self.tell)

    async def _commit_patiently(self, batch: list[PendingWrite]) -> None:
        """Commit, again after a lost connection if that did not. Raises ``StoreUnavailable`` when the time is over."""
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_S
        while True:
            self.number += 1
            attempt = _Attempt(self.name, self.number)
            try:
                connection = await self._connected(end)
                await attempt.commit(connection, batch)
            except Failures as problem:
                if not is_lost(self.connection, problem):
                    await self._undo()
                    raise
                drop(self.connection)
                if loop.time() >= end:
                    raise failure(problem, self.database.shown) from problem
                if not attempt.is_committing or not await self._was_committed(batch, end):
                    continue
            if not is_alone(batch):
                return
            values_again = _values_again(batch[0])
            if values_again is None:
                return
            batch[0].values = values_again

    async def _connected(self, end: float) -> PgConnection:
        """The lane's connection. The first one is made at once or not at all; a lost one is waited for."""
        pauses = iter(_PAUSES)
        while self.connection is None or self.connection.is_closed():
            try:
                self.connection = await connect(self.database)
                self.was_connected = True
            except Failures as problem:
                is_over = asyncio.get_running_loop().time() >= end
                if not self.was_connected or is_over or not is_lost(None, problem):
                    raise failure(problem, self.database.shown) from problem
                await asyncio.sleep(next(pauses, _PAUSES[-1]))
        return self.connection

    async def _was_committed(self, batch: list[PendingWrite], end: float) -> bool:
        """Whether the last transaction, whose commit got no answer, was committed; if not, it never will be.

        Waits for it if it is not over. What a transaction of one statement answered is looked up too.
        """
        while asyncio.get_running_loop().time() < end:
            try:
                connection = await self._connected(end)
                settled = await connection.fetchrow(
                    call_of("settle_write", 2), self.name, self.number
                )
            except Failures as problem:
                if not is_lost(self.connection, problem):
                    raise
                drop(self.connection)
            except StoreUnavailable as problem:
                raise unknown_outcome(self.database.shown) from problem
            else:
                if settled["is_done"]:
                    _take_answers(batch, settled["answer"])
                return bool(settled["is_done"])
        raise unknown_outcome(self.database.shown)

    async def _undo(self) -> None:
        try:
            if self.connection is not None:
                await self.connection.execute("ROLLBACK")
        except Failures:
            drop(self.connection)


@dataclass(slots=True)
class _Attempt:
    """One transaction of a lane. ``is_committing`` says that its end was asked for."""

    lane: str
    number: int
    is_committing: bool = False

    async def commit(self, connection: PgConnection, batch: list[PendingWrite]) -> None:
        if is_alone(batch):
            await self._commit_alone(connection, batch[0])
        elif are_drafts(batch):
            await self._commit_drafts(connection, batch)
        else:
            await self._commit_together(connection, batch)

    async def _commit_alone(self, connection: PgConnection, write: PendingWrite) -> None:
        statement = lone_call_of(write.function, len(write.values))
        self.is_committing = True
        answer = await connection.fetchval(
            statement,
            self.lane,
            self.number,
            write.durable,
            write.tenant,
            *write.values,
        )
        _take_answers([write], answer)

    async def _commit_drafts(
        self, connection: PgConnection, batch: list[PendingWrite]
    ) -> None:
        values = (self.lane, self.number, batch[0].tenant, *values_together(batch))
        statement = call_of("add_pieces_together", len(values))
        self.is_committing = True
        _take_answers(batch, await connection.fetchval(statement, *values))

    async def _commit_together(
        self, connection: PgConnection, batch: list[PendingWrite]
    ) -> None:
        sessions = sorted({name for write in batch for name in write.sessions})
        durable = any(write.durable for write in batch)
        await connection.execute("BEGIN")
        if batch[0].tenant:
            await connection.execute(SET_TENANT, batch[0].tenant)
        await connection.execute(
            "SELECT begin_writes($1, $2, $3, $4)",
            sessions,
            durable,
            self.lane,
            self.number,
        )
        job = batch[0].job
        if job is not None:
            batch[0].answer = await job(connection)
        else:
            for group in groups(batch):
                await _call(connection, group)
        self.is_committing = True
        await connection.execute("COMMIT")


async def _call(connection: PgConnection, group: list[PendingWrite]) -> None:
    statement = call_of(group[0].function, len(group[0].values))
    if len(group) == 1:
        group[0].answer = await connection.fetchrow(statement, *group[0].values)
    else:
        values = [write.values for write in group]
        answers = await connection.fetchmany(statement, values)
        for write, answer in zip(group, answers, strict=True):
            write.answer = answer
    for write in group:
        values_again = _values_again(write)
        if values_again is not None:
            write.answer = await connection.fetchrow(statement, *values_again)


def _values_again(write: PendingWrite) -> tuple[Any, ...] | None:
    return None if write.again is None else write.again(write.answer)


def is_alone(batch: Sequence[PendingWrite]) -> bool:
    """Whether a write is a transaction of its own, of one statement."""
    return len(batch) == 1 and batch[0].job is None


def are_drafts(batch: Sequence[PendingWrite]) -> bool:
    """Whether all of these are drafts, which are one statement together."""
    return all(write.function == "add_pieces" for write in batch)


def _take_answers(batch: Sequence[PendingWrite], data: str | None) -> None:
    """Give the writes of a transaction of one statement what that answered."""
    if is_alone(batch):
        assert data is not None
        batch[0].answer = answer_of(data)
    elif are_drafts(batch):
        assert data is not None
        for write, answer in zip(batch, answers_of(data), strict=True):
            write.answer = answer


def lane_of(session: str, lanes: Sequence[WriteLane], function: str = "") -> WriteLane:
    """The lane of a session's next write: that of its last one which waits, else the same one each time.

    Drafts have a lane of their own, so that a few connections' worth of them make large transactions, and none waits
    for the disk.
    """
    before = lanes[0].last.get(session)
    if before is not None and before.lane is not None:
        return before.lane
    if function == "add_pieces":
        return lanes[0]
    return lanes[1 + zlib.crc32(session.encode("utf-8", "replace")) % (len(lanes) - 1)]


def _fail(batch: list[PendingWrite], problem: BaseException) -> None:
    for write in batch:
        write.problem = problem


def _answer(batch: list[PendingWrite], tell: Callable[[list[Change]], None]) -> None:
    changes: list[Change] = []
    by_loop: dict[asyncio.AbstractEventLoop, list[PendingWrite]] = {}
    for write in batch:
        by_loop.setdefault(write.loop, []).append(write)
        if write.problem is not None:
            continue
        try:
            write.result, change = write.finish(write.answer)
        except BaseException as problem:  # noqa: BLE001 - a refusal is the caller's
            write.problem = problem
            continue
        if change is not None:
            changes.append(change)
    if changes:
        try:
            tell(changes)
        except Exception:
            log.exception("Watchers could not be notified of stored events")
    for loop, answered in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, answered)
        except RuntimeError:  # the loop is closed and has no waiting callers
            log.debug("The caller of a write ended before it was answered")


def _settle(batch: list[PendingWrite]) -> None:
    for write in batch:
        if write.future.done():
            continue
        if write.problem is None:
            write.future.set_result(write.result)
        else:
            write.future.set_exception(write.problem)
