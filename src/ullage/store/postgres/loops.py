"""A thread with an event loop of its own, in which a store's connections live.

So one store serves several event loops, a write whose caller was cancelled goes on, and what waits is written when the
process ends.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StoreThread:
    """Begins with the first use, and ends with ``end``."""

    def __init__(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._last = last
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.is_closed = False

    def begin(self) -> asyncio.AbstractEventLoop | None:
        """The loop of the thread; ``None`` once it has ended."""
        if self._loop is not None and not self.is_closed:
            return self._loop
        with self._starting:
            if self.is_closed:
                return None
            if self._thread is None:
                loop = asyncio.new_event_loop()
                # A daemon, so that a store that was never closed does not keep the process alive.
                self._thread = threading.Thread(
                    target=self._run, args=(loop,), name="ullage postgres", daemon=True
                )
                self._thread.start()
                self._loop = loop
                atexit.register(self.end)
            return self._loop

    def end(self) -> None:
        """Run the last work, and end the thread. Blocks until then."""
        with self._starting:
            self.is_closed = True
            thread, self._thread = self._thread, None
        if thread is not None and self._loop is not None:
            done = asyncio.run_coroutine_threadsafe(self._last(), self._loop)
            try:
                done.result()
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                thread.join()
                self._loop.close()
        atexit.unregister(self.end)

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
