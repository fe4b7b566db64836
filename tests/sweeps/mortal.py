"""Points at which a process can die, made countable from outside the product: its store, its event loop, its tools."""

from __future__ import annotations

import asyncio
import inspect
import os
import resource
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextvars import Context
from pathlib import Path
from typing import Any, TypeVarTuple, cast

from tests.sweeps.orders import Order
from ullage.store.store import SessionStore

Ts = TypeVarTuple("Ts")


class Switch:
    """Counts the points that are reached, and does at the one it was told what it was told: see ``Kill``."""

    def __init__(self, order: Order) -> None:
        self._kill = order.kill
        self._log = order.database.with_name(f"{order.database.name}-wal")
        self._database = order.database
        self.counts: Counter[str] = Counter()

    def reach(self, kind: str) -> None:
        self.counts[kind] += 1
        if kind != self._kill.kind or self.counts[kind] != self._kill.at:
            return
        match self._kill.does:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "cramp":
                cramp(self._log.stat().st_size if self._log.exists() else 0)
            case "spoil":
                for file in (self._database, self._log):
                    spoil(file)


def cramp(size: int | None) -> None:
    """No file of this process may grow beyond this many bytes; ``None``: there is room again."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (most if size is None else size, most))


def spoil(file: Path) -> None:
    """Overwrite all of a file but its length."""
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.write(b"\xa5" * size)


class FakeMortalStore:
    """A store with a point before and after each of its methods, and behind each frame it gives to who follows."""

    def __init__(self, store: SessionStore, switch: Switch) -> None:
        self._store = store
        self._switch = switch

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name == "follow":
            return self._followed(method)
        return self._counted(method) if inspect.iscoroutinefunction(method) else method

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def counted(*args: Any, **more: Any) -> Any:
            self._switch.reach("store")
            value = await method(*args, **more)
            self._switch.reach("store")
            return value

        return counted

    def _followed(
        self, method: Callable[..., AsyncIterator[Any]]
    ) -> Callable[..., AsyncIterator[Any]]:
        async def followed(*args: Any, **more: Any) -> AsyncIterator[Any]:
            async for each in method(*args, **more):
                yield each
                self._switch.reach("shown")

        return followed


def mortal(store: SessionStore, switch: Switch) -> SessionStore:
    return cast(SessionStore, FakeMortalStore(store, switch))


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop with a point whenever it is given a callback: a coroutine goes on by no other way."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        super().__init__()

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        self._switch.reach("loop")
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        self._switch.reach("loop")
        return super().call_soon_threadsafe(callback, *args, context=context)
