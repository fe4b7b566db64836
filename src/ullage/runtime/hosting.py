"""Many sessions in one process: opened when they are needed, driven whoever is connected, closed when nobody cares."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from ullage.errors import SessionBusy, SessionNotFound, UllageError
from ullage.runtime.agent import Agent
from ullage.runtime.opening import folded
from ullage.runtime.session import Session

IDLE_S: Final = 300.0
"""Seconds an idle session stays open: opening one costs milliseconds, keeping one costs its messages in memory."""

RECOVERED: Final = 1_000
"""Newest sessions that are looked at for unfinished work when a host starts."""


class Host:
    """Sessions of one agent, for faces that come and go. Use as ``async with``. Belongs to one event loop."""

    def __init__(self, agent: Agent, *, idle_s: float = IDLE_S) -> None:
        self.agent = agent
        self._idle_s = idle_s
        self._sessions: dict[str, Session] = {}
        self._used: dict[str, float] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._sweeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Host:
        await self.agent.enter()
        self._sweeping = asyncio.create_task(self._sweep())
        return self

    async def __aexit__(self, *problem: object) -> None:
        """Stop all sessions without losing anything: what is under way is gone on with by the next process."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
        await self.agent.leave()

    async def begin(self, session: str = "", **settings: Any) -> Session:
        """A new session. Raises ``SettingError``, ``StoreUnavailable``."""
        return await self._opened(self.agent.session(session, **settings))

    async def session(self, session: str) -> Session:
        """A session that is there, opened if it is not. Raises ``SessionNotFound``, ``StoreUnavailable``."""
        if session not in self._sessions:
            shared = await self.agent.enter()
            try:
                await shared.store.about(session)
            finally:
                await self.agent.leave()
        return await self._opened(self.agent.session(session))

    async def _opened(self, session: Session) -> Session:
        lock = self._opening.setdefault(session.id, asyncio.Lock())
        async with lock:
            held = self._sessions.get(session.id)
            if held is None:
                held = await session.__aenter__()
                self._sessions[session.id] = held
            self._used[session.id] = time.monotonic()
            return held

    async def forget(self, session: str) -> None:
        """Close a session that is open here, at once."""
        held = self._sessions.pop(session, None)
        self._used.pop(session, None)
        if held is not None:
            await held.close()

    async def recover(self) -> list[str]:
        """Go on with the sessions that a crash or a restart left in the middle of something; gives their ids."""
        shared = await self.agent.enter()
        found: list[str] = []
        try:
            for row in await shared.store.sessions(limit=RECOVERED):
                try:
                    loop = (await folded(shared.store, row.id)).loop
                    if (loop.turn and not loop.paused) or loop.queue or loop.cancel:
                        await self.session(row.id)
                        found.append(row.id)
                except (SessionNotFound, SessionBusy):
                    continue
                except UllageError:
                    continue  # one session that can't be opened says so to whoever asks for it
        finally:
            await self.agent.leave()
        return found

    @property
    def open_sessions(self) -> int:
        """How many sessions are open here."""
        return len(self._sessions)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(self._idle_s, 30.0))
            now = time.monotonic()
            for name, session in list(self._sessions.items()):
                if session.is_idle and now - self._used.get(name, now) > self._idle_s:
                    await self.forget(name)
