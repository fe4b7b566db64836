"""Runs blocking work in a thread that can be abandoned."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast

T = TypeVar("T")


class _Finished(NamedTuple):
    value: Any
    error: BaseException | None


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """What the function returns or raises, run beside the event loop.

    Each call has its own thread, so a function that hangs blocks no other call, and does not keep the process alive.
    Cancelling abandons the thread: it runs until the function ends, and its result is dropped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Finished] = loop.create_future()
    context = contextvars.copy_context()

    def settle(finished: _Finished) -> None:
        if not future.done():
            future.set_result(finished)

    def work() -> None:
        try:
            finished = _Finished(context.run(function, *args), None)
        except BaseException as error:  # noqa: BLE001 - raised where the call is awaited
            finished = _Finished(None, error)
        with suppress(RuntimeError):  # the loop has closed
            loop.call_soon_threadsafe(settle, finished)

    threading.Thread(
        target=work, name=f"tool {getattr(function, '__name__', '')}", daemon=True
    ).start()
    finished = await future
    if finished.error is not None:
        raise finished.error
    return cast(T, finished.value)
