"""Sessions in the memory of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ullage.store.protocol import ABOUT, Store


@dataclass(slots=True)
class _MemorySession:
    version: int = 0
    rows: list[bytes] = field(default_factory=list)
    values: dict[str, bytes] = field(default_factory=dict)


class MemoryStore(Store):
    """Keeps sessions as long as it lives itself, and writes no file. For tests, and for agents that forget.

    Agents that are given the same one share their sessions. Usable from several event loops and threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, _MemorySession] = {}
        self._waiting: list[tuple[str, asyncio.Event, asyncio.AbstractEventLoop]] = []

    def __repr__(self) -> str:
        return f"MemoryStore({len(self._sessions)} sessions)"

    def _at(self, session: str) -> _MemorySession:
        return self._sessions.get(session) or _MemorySession()

    async def read_values(
        self, session: str, names: Sequence[str]
    ) -> tuple[int, Mapping[str, bytes]]:
        with self._lock:
            found = self._at(session)
            here = found.values.keys() & names
            return found.version, {name: found.values[name] for name in here}

    async def read_rows(self, session: str, *, after: int, limit: int) -> list[bytes]:
        with self._lock:
            return self._at(session).rows[after : after + limit]

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        with self._lock:
            found = self._at(session)
            if found.version != version:
                return False
            found.version += 1
            found.rows += rows
            for name, value in values.items():
                found.values.pop(name, None)
                if value is not None:
                    found.values[name] = value
            self._sessions[session] = found
            self._wake(session)
            return True

    async def delete(self, session: str, version: int) -> bool:
        with self._lock:
            is_there = 0 < version == self._at(session).version
            if is_there:
                del self._sessions[session]
                self._wake(session)
            return is_there

    async def sessions(self, *, after: str, limit: int) -> list[tuple[str, bytes]]:
        with self._lock:
            names = sorted(name for name in self._sessions if name > after)[:limit]
            return [(name, self._at(name).values.get(ABOUT, b"")) for name in names]

    async def wait(self, session: str, version: int, timeout_s: float) -> None:
        waiter = session, asyncio.Event(), asyncio.get_running_loop()
        with self._lock:
            if self._at(session).version != version:
                return
            self._waiting.append(waiter)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await waiter[1].wait()
        finally:
            with self._lock:
                self._waiting.remove(waiter)

    def _wake(self, session: str) -> None:
        for waiting, event, loop in self._waiting:
            if waiting == session:
                with suppress(RuntimeError):  # its loop is closed
                    loop.call_soon_threadsafe(event.set)
