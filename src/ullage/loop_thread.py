"""Event loops: uvloop's where it is installed; and one in a thread of its own, for callers without a loop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

from ullage.tasks import start

log = logging.getLogger("ullage")

T = TypeVar("T")

CANCEL_S: Final = 5.0
"""How long a thread that is closed waits for the coroutines that it cancelled."""


def new_loop() -> asyncio.AbstractEventLoop:
    """An event loop of uvloop where that is installed (extra ``server``), otherwise of asyncio."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``, in a loop of ``new_loop``."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(work)


class ThreadClosed(RuntimeError):
    """The thread of a coroutine was closed before the coroutine ended."""

    def __init__(self) -> None:
        super().__init__("The thread of this coroutine was closed. Open its owner again.")


class LoopThread:
    """Runs coroutines in a thread of its own, which is started by the first and ended by ``close`` or ``end``.

    The thread does not keep the process alive. Everything that is submitted gets an answer, also when it meets the end
    of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._serving: _Serving | None = None
        self._is_ended = False

    @property
    def is_running(self) -> bool:
        """Whether the thread was started and not closed since."""
        return self._serving is not None

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine returns or raises. An interrupt of the caller (Ctrl-C) cancels it.

        Raises ``ThreadClosed`` where the thread was closed before the coroutine ended.
        """
        future = self._submit(make)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def run_async(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The same for a caller in another event loop. A cancel of the caller cancels it."""
        serving = self._serving
        if serving is not None and asyncio.get_running_loop() is serving.loop:
            return await make()
        return await asyncio.wrap_future(self._submit(make))

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the thread, in the order of these calls and of the coroutines. Raises ``ThreadClosed``."""
        with self._lock:
            self._started().loop.call_soon_threadsafe(function)

    def close(self) -> None:
        """End the thread; a later coroutine starts another one.

        What still runs in it is cancelled, and given up if it has not ended after ``CANCEL_S``.
        """
        with self._lock:
            serving, self._serving = self._serving, None
            if serving is None:
                return
            # Under the lock, so that everything submitted before comes before it, and nothing behind it.
            serving.loop.call_soon_threadsafe(serving.loop.stop)
        serving.thread.join()

    def end(
        self, last: Callable[[], Coroutine[Any, Any, None]], *, within_s: float
    ) -> None:
        """Run the last coroutine for at most ``within_s`` seconds, and end the thread for good. Blocks until then."""
        with self._lock:
            future = None
            if self._serving is not None and not self._is_ended:
                future = _submitted(self._serving, last)
            self._is_ended = True
        try:
            if future is not None:
                future.result(within_s)
        except TimeoutError:
            log.warning(
                "The thread %r was ended after %s s in its last work",
                self._name,
                within_s,
            )
        finally:
            self.close()

    def _submit(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        with self._lock:
            return _submitted(self._started(), make)

    def _started(self) -> _Serving:
        if self._is_ended:
            raise ThreadClosed
        if self._serving is None:
            self._serving = _Serving(self._name)
            self._serving.thread.start()
        return self._serving


class _Serving:
    """One run of a thread. ``waiting`` are the answers that callers wait for."""

    def __init__(self, name: str) -> None:
        self.loop = new_loop()
        self.waiting: set[Future[Any]] = set()
        self.thread = threading.Thread(
            target=_serve, args=(self,), name=name, daemon=True
        )


def _serve(serving: _Serving) -> None:
    loop = serving.loop
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for future in tuple(serving.waiting):
            with suppress(InvalidStateError):
                future.set_exception(ThreadClosed())
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=CANCEL_S))
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


def _submitted(
    serving: _Serving, make: Callable[[], Coroutine[Any, Any, T]]
) -> Future[T]:
    future: Future[T] = Future()
    serving.waiting.add(future)
    future.add_done_callback(serving.waiting.discard)
    context = contextvars.copy_context()
    serving.loop.call_soon_threadsafe(_start, serving.loop, make, future, context=context)
    return future


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
            with suppress(RuntimeError):  # the loop is closed, and the task has ended
                loop.call_soon_threadsafe(task.cancel)

    def settle(done: asyncio.Task[T | _Exit]) -> None:
        if done.cancelled():
            future.cancel()
            return
        error, result = done.exception(), None
        if error is None:
            result = done.result()
            if isinstance(result, _Exit):
                error = result.error
        with suppress(InvalidStateError):  # cancelled, or answered by the thread's end
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

    future.add_done_callback(cancel)
    task.add_done_callback(settle)
