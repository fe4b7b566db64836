"""Blocking work in a thread of its own, which may be given up."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast

T = TypeVar("T")


class _Done(NamedTuple):
    value: Any
    error: BaseException | None


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """What the function gives or raises, run beside the event loop.

    Each call has its own thread, so that one that hangs holds up no other, and it does not keep the process alive.
    Cancelling gives the thread up: it runs on until the function ends, and what it gives is dropped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Done] = loop.create_future()
    context = contextvars.copy_context()

    def settle(done: _Done) -> None:
        if not future.done():
            future.set_result(done)

    def work() -> None:
        try:
            done = _Done(context.run(function, *args), None)
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            done = _Done(None, error)
        with suppress(RuntimeError):  # the loop was closed meanwhile, and nobody waits
            loop.call_soon_threadsafe(settle, done)

    threading.Thread(target=work, name=f"tool {getattr(function, '__name__', '')}", daemon=True).start()
    done = await future
    if done.error is not None:
        raise done.error
    return cast(T, done.value)
