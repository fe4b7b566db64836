"""Many sessions in one process: opened on demand, driven with or without clients, closed when idle.

async with Host(agent) as host:
    session = await host.session("notes")       # open from now on; opening it drives nothing
    await session.send("Go on.")                # a command drives it, and no client has to stay for the answer
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Final

from ullage.errors import SessionNotFound, UllageError
from ullage.events import (
    CancelAsked,
    CompactAsked,
    Event,
    FirstCall,
    RowDamaged,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)
from ullage.runtime.agent import Agent, new_session_id
from ullage.runtime.opening import folded
from ullage.runtime.session import Session
from ullage.runtime.session_runtime import AgentRuntime
from ullage.store.store import SessionRow, Store
from ullage.tasks import start, stop

log = logging.getLogger("ullage.runtime")

IDLE_S: Final = 300.0
"""Seconds an idle session stays open: opening one costs milliseconds, keeping one costs its messages in memory."""

RECOVERED: Final = 1_000
"""How many of the newest sessions a host searches for unfinished work when it starts."""

TAIL: Final = 32
"""Events at a session's end that usually show whether it rests; if they don't, the whole ledger is folded."""


class Host:
    """Sessions of one agent, for interfaces that come and go. Use as ``async with``. Belongs to one event loop."""

    def __init__(self, agent: Agent, *, idle_s: float = IDLE_S) -> None:
        self.agent = agent
        self._idle_s = idle_s
        self._shared: AgentRuntime | None = None
        self._sessions: dict[str, Session] = {}
        self._used: dict[str, float] = {}
        self._locks: dict[str, _Lock] = {}
        self._sweeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Host:
        self._shared = await self.agent._enter()
        self._sweeping = start(self._sweep(), name="host: closing idle sessions")
        return self

    async def __aexit__(self, *problem: object) -> None:
        """Stop all sessions without loss: the next process resumes unfinished turns."""
        if self._sweeping is not None:
            await stop(self._sweeping)
        sessions, self._sessions = list(self._sessions.values()), {}
        closed = await asyncio.gather(
            *(session.close() for session in sessions), return_exceptions=True
        )
        for session, how in zip(sessions, closed, strict=True):
            if isinstance(how, Exception):
                log.error("The session %s did not close: %s", session.id, how)
        self._shared = None
        await self.agent._leave()

    @property
    def store(self) -> Store:
        """The store of the sessions."""
        return self._open.store

    def first_calls(self) -> tuple[FirstCall, ...]:
        """What earlier sessions' first calls held beyond their logs, as the user's store has it. Reads files."""
        return self.agent._first_calls()

    @property
    def _open(self) -> AgentRuntime:
        if self._shared is None:
            raise RuntimeError("The host is not open: use `async with`.")
        return self._shared

    async def begin(
        self, session: str = "", settings: Mapping[str, object] | None = None
    ) -> Session:
        """A new session. Raises ``CommandRefused`` for a taken id, ``SettingError``, ``StoreUnavailable``."""
        own = {
            name: value for name, value in (settings or {}).items() if value is not None
        }
        resolved = self._open.commanded(own)
        self.agent._check_settings(resolved)
        name = session or new_session_id()
        events = await self.agent._first_events(resolved, own)
        await self.store.create(name, events)
        return await self.session(name, drives=True)

    async def session(self, session: str, *, drives: bool = False) -> Session:
        """A session of the store, opened if it is not. Raises ``SessionNotFound``, ``StoreUnavailable``.

        Only commands drive it. With ``drives`` its unfinished work is resumed at once, except in a tool call's own
        session: that belongs to the session that made the call.
        """
        held = self._sessions.get(session)
        if held is None:
            async with _Locked(self._locks, session):
                held = self._sessions.get(session)
                if held is None:
                    await self.store.about(session)
                    held = self.agent.session(session, resume=False)
                    self._sessions[session] = await held.__aenter__()
        if drives and not is_child(session):
            held.drive()
        self._used[session] = time.monotonic()
        return held

    async def forget(self, session: str) -> None:
        """Close an open session at once; its work in progress is left as by a crash."""
        async with _Locked(self._locks, session):
            held = self._sessions.pop(session, None)
            self._used.pop(session, None)
            if held is not None:
                await held.close()

    async def recover(self) -> list[str]:
        """Resume the sessions that drivers of this store left unfinished, by a crash or a restart; returns their ids.

        Sessions with queued messages are among them. An imported session with a turn that no driver of this store began
        is left as it is; so is a session that can't be opened.
        """
        found: list[str] = []
        for row in await self.store.sessions(limit=RECOVERED):
            try:
                if not is_child(row.id) and await is_left_here(self.store, row):
                    await self.session(row.id, drives=True)
                    found.append(row.id)
            except SessionNotFound:
                continue
            except UllageError as problem:
                log.warning("The session %s can't be resumed: %s", row.id, problem)
        return found

    @property
    def open_sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    @property
    def busy_sessions(self) -> int:
        """How many of them are at work."""
        return sum(not session.is_idle for session in self._sessions.values())

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(self._idle_s, 30.0))
            now = time.monotonic()
            for name, session in list(self._sessions.items()):
                if session.is_idle and now - self._used.get(name, now) > self._idle_s:
                    await self.forget(name)


def is_child(session: str) -> bool:
    """Whether a session belongs to a tool call of another one."""
    return "/" in session


async def is_left_here(store: Store, row: SessionRow) -> bool:
    """Whether a session has unfinished work that drivers or senders of this store began."""
    if not await is_unfinished(store, row):
        return False
    if row.drivers:
        return True
    loop = (await folded(store, row.id)).loop
    return not (loop.turn or loop.open or loop.is_abandoned)


async def is_unfinished(store: Store, row: SessionRow) -> bool:
    """Whether a session has an open turn, or something queued that begins one."""
    if await store.pending(row.id):
        return True
    is_left = _is_left_by(await store.read(row.id, after=max(0, row.seq - TAIL)))
    if is_left is None:
        loop = (await folded(store, row.id)).loop
        return bool(
            loop.cancel
            or loop.compact_asked is not None
            or (loop.turn and not loop.paused)
        )
    return is_left


def _is_left_by(tail: list[Event]) -> bool | None:
    """Whether the last events show unfinished work; ``None`` if only the whole ledger shows it."""
    for event in reversed(tail):
        match event:
            case TurnEnded():
                return False
            case TurnStarted() | TurnResumed():
                return True
            case TurnPaused() | CancelAsked() | CompactAsked() | RowDamaged():
                return None
            case _:
                continue
    return None


class _Lock:
    """A lock, and how many tasks hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class _Locked:
    """A lock by name; it is dropped after its last user."""

    def __init__(self, locks: dict[str, _Lock], name: str) -> None:
        self._locks = locks
        self._name = name
        self._lock = locks.setdefault(name, _Lock())

    async def __aenter__(self) -> None:
        self._lock.users += 1
        try:
            await self._lock.lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *problem: object) -> None:
        self._lock.lock.release()
        self._leave()

    def _leave(self) -> None:
        self._lock.users -= 1
        if not self._lock.users:
            self._locks.pop(self._name, None)
