"""Points at which a process can die, made countable from outside the product: its store, its event loop, its tools."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextvars import Context
from typing import Any, cast

from tests.sweeps.orders import Kill
from ullage.store.store import Store


class Switch:
    """Counts the points that are reached, and at the one it was told kills the process, or stops it."""

    def __init__(self, kill: Kill) -> None:
        self._kill = kill
        self.counts: Counter[str] = Counter()

    def reach(self, kind: str) -> None:
        self.counts[kind] += 1
        if kind == self._kill.kind and self.counts[kind] == self._kill.at:
            os.kill(os.getpid(), signal.SIGSTOP if self._kill.stops else signal.SIGKILL)


class FakeMortalStore:
    """A store with a point before and after each of its methods, and behind each frame it gives to who follows."""

    def __init__(self, store: Store, switch: Switch) -> None:
        self._store = store
        self._switch = switch

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name == "watch":
            return method
        return self._followed(method) if name == "follow" else self._counted(method)

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def counted(*args: Any, **more: Any) -> Any:
            self._switch.reach("store")
            value = await method(*args, **more)
            self._switch.reach("store")
            return value

        return counted

    def _followed(self, method: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        async def followed(*args: Any, **more: Any) -> AsyncIterator[Any]:
            async for each in method(*args, **more):
                yield each
                self._switch.reach("shown")

        return followed


def mortal(store: Store, switch: Switch) -> Store:
    """The store with its points."""
    return cast(Store, FakeMortalStore(store, switch))


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop with a point whenever it is given a callback: a coroutine goes on by no other way."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        super().__init__()

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        self._switch.reach("loop")
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        self._switch.reach("loop")
        return super().call_soon_threadsafe(callback, *args, context=context)
