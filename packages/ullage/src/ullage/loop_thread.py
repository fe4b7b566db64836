"""Event loops: uvloop's where it is installed; and one in a thread of its own, for callers without a loop.

``SHARED`` is the one of the process, in which every synchronous call to an agent does its work: any thread may wait for
it, also one whose own event loop stands still meanwhile. A shared thread begins with the first call, ends with the
process, and begins anew in a process that was forked while no call was under way.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import thread as pools
from contextlib import suppress
from typing import Any, Final, Generic, NamedTuple, TypeVar
from weakref import WeakSet

from ullage.errors import CommandRefused
from ullage.tasks import start

log = logging.getLogger("ullage")

T = TypeVar("T")

AsyncWork = Callable[[], Coroutine[Any, Any, T]]
"""Makes a coroutine in the event loop that runs it."""

CANCEL_S: Final = 5.0
"""How long a thread that is closed, or a caller that is interrupted, waits for the coroutines that it cancelled."""

EXIT_S: Final = 2 * CANCEL_S
"""How long the end of the process waits for the shared thread, whatever blocks it."""

FORKED: Final = (
    "This process was forked from one in which other threads had running calls: their locks and open files are here, "
    "and the calls never end. Fork while no call runs, or start processes by `spawn`. Nothing was sent."
)

INSIDE: Final = (
    "A synchronous call was made by a function that runs in the event loop of such calls, which would wait for itself. "
    "In an async function write await agent.ask(…) or await compactor.fit(…). A tool may also be a function that is "
    "not async. Nothing was sent."
)

_changing: Final = threading.RLock()
"""Held for a few instructions while a thread begins or ends, gets work, or changes its loop; and during a fork. What
interrupts these instructions, a signal's handler or a finalizer, may make calls itself."""


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
    of the thread. A fork leaves the child without the thread: there it is ended. With ``begins_anew`` another one is
    started by the first coroutine, unless the fork came while some coroutine had a caller.
    """

    def __init__(self, name: str, *, begins_anew: bool = False) -> None:
        self._name = name
        self._begins_anew = begins_anew
        self._serving: _Serving | None = None
        self._is_ended = False
        self._was_forked_in_calls = False
        _threads.add(self)

    @property
    def is_running(self) -> bool:
        """Whether the thread was started and not closed since."""
        return self._serving is not None

    @property
    def is_ended(self) -> bool:
        """Whether the thread was ended for good, by ``end`` or by a fork."""
        return self._is_ended

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        serving = self._serving
        return serving is not None and serving.thread is threading.current_thread()

    def run(self, make: AsyncWork[T]) -> T:
        """What the coroutine returns or raises. An interrupt of the caller (Ctrl-C) cancels it and waits for its end.

        Raises ``CommandRefused`` in the thread itself, and ``ThreadClosed`` where the thread was closed before the
        coroutine ended.
        """
        if self.is_current:
            raise CommandRefused(INSIDE)
        submitted = self._submit(make)
        try:
            return submitted.future.result()
        except BaseException:
            if submitted.future.cancel():
                submitted.ended.wait(CANCEL_S)
            raise

    async def run_async(self, make: AsyncWork[T]) -> T:
        """The same for a caller in another event loop. A cancel of the caller cancels it."""
        serving = self._serving
        if serving is not None and asyncio.get_running_loop() is serving.loop:
            return await make()
        return await asyncio.wrap_future(self._submit(make).future)

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the thread, in the order of these calls and of the coroutines. Raises ``ThreadClosed``."""
        with _changing:
            self._started().loop.call_soon_threadsafe(function)

    def close(self, *, within_s: float | None = None) -> None:
        """End the thread; a later coroutine starts another one.

        What still runs in it is cancelled, and given up if it has not ended after ``CANCEL_S``. A thread that is
        blocked is left after ``within_s``.
        """
        with _changing:
            serving, self._serving = self._serving, None
            if serving is None:
                return
            # Under the lock, so that everything submitted before comes before it, and nothing behind it.
            serving.loop.call_soon_threadsafe(serving.loop.stop)
        serving.thread.join(within_s)

    def end(
        self, last: Callable[[], Coroutine[Any, Any, None]], *, within_s: float
    ) -> None:
        """Run the last coroutine for at most ``within_s`` seconds, and end the thread for good. Blocks until then."""
        with _changing:
            future = None
            if self._serving is not None and not self._is_ended:
                future = _submitted(self._serving, last).future
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

    def _forget(self) -> None:
        """In the child of a fork: the thread is not here."""
        serving, self._serving = self._serving, None
        if serving is None:
            return
        _left_behind.append(serving)
        self._was_forked_in_calls = bool(serving.waiting)
        self._is_ended |= self._was_forked_in_calls or not self._begins_anew

    def _submit(self, make: AsyncWork[T]) -> _Submitted[T]:
        with _changing:
            _callers.add(threading.current_thread())
            return _submitted(self._started(), make)

    def _started(self) -> _Serving:
        if self._was_forked_in_calls:
            raise CommandRefused(FORKED)
        if self._is_ended or sys.is_finalizing():  # no thread begins or goes on then
            raise ThreadClosed
        if self._serving is None:
            serving = _Serving(self._name)
            serving.thread.start()  # may fail: then the next call tries again
            if self._serving is None:
                self._serving = serving
            else:  # begun by what interrupted this
                serving.loop.call_soon_threadsafe(serving.loop.stop)
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
        # Python 3.12 starts no thread while it ends, not even this one; by then it has ended the threads of pools.
        # https://github.com/python/cpython/blob/v3.12.11/Python/pylifecycle.c (Py_FinalizeEx)
        with suppress(RuntimeError):
            loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


class _Exit(NamedTuple):
    """What ends a program, raised by a coroutine."""

    error: SystemExit | KeyboardInterrupt


async def _outcome(make: AsyncWork[T]) -> T | _Exit:
    try:
        return await make()
    except (SystemExit, KeyboardInterrupt) as error:
        return _Exit(error)


class _Submitted(NamedTuple, Generic[T]):
    """The answer that a caller waits for; ``ended`` is set when the coroutine has ended, also after its cancel."""

    future: Future[T]
    ended: threading.Event


def _submitted(serving: _Serving, make: AsyncWork[T]) -> _Submitted[T]:
    future: Future[T] = Future()
    submitted = _Submitted(future, threading.Event())
    serving.waiting.add(future)
    future.add_done_callback(serving.waiting.discard)
    context = contextvars.copy_context()
    serving.loop.call_soon_threadsafe(
        _start, serving.loop, make, submitted, context=context
    )
    return submitted


def _start(
    loop: asyncio.AbstractEventLoop,
    make: AsyncWork[T],
    submitted: _Submitted[T],
) -> None:
    """Run the coroutine in a task of this loop, and tell the caller how it ends.

    A ``SystemExit`` inside would end the loop and leave its caller waiting: it is raised there instead.
    """
    task = start(_outcome(make))
    future = submitted.future

    def cancel(waiting: Future[T]) -> None:
        if waiting.cancelled():
            with suppress(RuntimeError):  # the loop is closed, and the task has ended
                loop.call_soon_threadsafe(task.cancel)

    def settle(done: asyncio.Task[T | _Exit]) -> None:
        submitted.ended.set()
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


class LoopInUse:
    """In which event loop an object is in use that belongs to one at a time."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        self._users = 0

    def enter(self) -> bool:
        """Count a user in the running loop. True if it is another loop than before, whose locks and tasks are void.

        Raises ``CommandRefused`` while another loop uses it. A closed loop uses nothing, nor does one that a fork left.
        """
        loop, process = asyncio.get_running_loop(), os.getpid()
        with _changing:
            before = self._loop
            is_same = before is loop and self._process == process
            if not is_same:
                is_void = before is None or before.is_closed()
                if self._users and not is_void and self._process == process:
                    raise CommandRefused(
                        f"{self._what} is in use in another event loop. Use agent.run_sync(…), which every thread may "
                        "call at the same time, or make another one for each event loop. Nothing was sent."
                    )
                self._loop, self._process, self._users = loop, process, 0
            self._users += 1
        return not is_same

    def leave(self) -> None:
        """Count one user less."""
        with _changing:
            self._users = max(0, self._users - 1)


_threads: Final[WeakSet[LoopThread]] = WeakSet()
_callers: Final[WeakSet[threading.Thread]] = WeakSet()
"""Threads that have made calls."""

_left_behind: Final[list[_Serving]] = []
"""What a fork left of the parent's threads, kept as it is: a collected loop would close what the parent uses."""


def _forget_threads() -> None:
    for thread in _threads:
        thread._forget()
    _changing.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_changing.acquire,
        after_in_parent=_changing.release,
        after_in_child=_forget_threads,
    )


def shared_thread(name: str) -> LoopThread:
    """A thread for the whole process, made once where a module is imported."""
    thread = LoopThread(name, begins_anew=True)
    atexit.register(thread.close, within_s=EXIT_S)
    return thread


SHARED: Final = shared_thread("ullage")
"""The thread of all synchronous calls to agents."""


def _await_callers() -> None:
    """Wait for the program's threads, as Python does too, but before it takes no more work into thread pools.

    A thread of a class of its own may wait for what comes behind this, so it is one that has made calls. Calls of
    daemons are given up here: what is registered by ``atexit`` closes the stores that they write to.
    """
    while waited_for := [each for each in threading.enumerate() if _may_call(each)]:
        for thread in waited_for:
            thread.join()
    for shared in tuple(_threads):
        if shared._begins_anew:
            shared.close(within_s=EXIT_S)


def _may_call(thread: threading.Thread) -> bool:
    """Not one of a pool: it ends behind this, and is known as the pool's only after it has begun to work."""
    own = threading.current_thread(), threading.main_thread()
    if thread.daemon or thread in own or thread in pools._threads_queues:
        return False
    return thread in _callers or type(thread) is threading.Thread


# Private, but without another way: what is registered by `atexit` comes after the pools (`concurrent.futures.thread`).
# https://github.com/python/cpython/blob/main/Lib/concurrent/futures/thread.py
if hasattr(threading, "_register_atexit"):
    with suppress(RuntimeError):  # imported while the process ends
        threading._register_atexit(_await_callers)
