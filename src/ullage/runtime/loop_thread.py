"""An event loop in a thread of its own, for callers without one, and for what may not change its event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from ullage.tasks import start

T = TypeVar("T")


class LoopThread:
    """Runs coroutines in a thread of its own, which is started by the first and ended by ``close``.

    The thread does not keep the process alive.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether the thread was started and not closed since."""
        return self._loop is not None

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine returns or raises. An interrupt of the caller (Ctrl-C) cancels it."""
        future = self._submit(make)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def run_async(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The same for a caller in another event loop. A cancel of the caller cancels it."""
        if asyncio.get_running_loop() is self._loop:
            return await make()
        return await asyncio.wrap_future(self._submit(make))

    def close(self) -> None:
        """End the thread. What still runs in it is cancelled."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def _submit(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        loop = self._started()
        future: Future[T] = Future()
        context = contextvars.copy_context()
        loop.call_soon_threadsafe(_start, loop, make, future, context=context)
        return future

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


class _Exit(NamedTuple):
    """What ends a program, raised by a coroutine."""

    error: SystemExit | KeyboardInterrupt


async def _outcome(make: Callable[[], Coroutine[Any, Any, T]]) -> T | _Exit:
    try:
        return await make()
    except (SystemExit, KeyboardInterrupt) as error:
        return _Exit(error)


def _start(
    loop: asyncio.AbstractEventLoop,
    make: Callable[[], Coroutine[Any, Any, T]],
    future: Future[T],
) -> None:
    """Run the coroutine in a task of this loop, and tell ``future`` how it ends.

    A ``SystemExit`` inside would end the loop and leave its caller waiting: it is raised there instead.
    """
    task = start(_outcome(make))

    def cancel(waiting: Future[T]) -> None:
        if waiting.cancelled():
            loop.call_soon_threadsafe(task.cancel)

    def settle(done: asyncio.Task[T | _Exit]) -> None:
        if future.cancelled():
            if not done.cancelled():
                done.exception()
            return
        if done.cancelled():
            future.cancel()
        elif (error := done.exception()) is not None:
            future.set_exception(error)
        else:
            result = done.result()
            if isinstance(result, _Exit):
                future.set_exception(result.error)
            else:
                future.set_result(result)

    future.add_done_callback(cancel)
    task.add_done_callback(settle)
