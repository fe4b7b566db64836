"""Tasks with an owner, so that none is left over and no cancel is lost.

A task belongs to a block (``asyncio.TaskGroup``, ``background``), to a call (``to_completion``), or to an object that
outlives the call: such an object gets the task from ``start`` and ends it with ``stop`` when it is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def background(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Run ``work`` beside the block, and cancel it when the block ends.

    If ``work`` fails first, the block is cancelled and raises the error of ``work``. If the block fails, its own error
    is raised. A cancel from outside is raised as such, whatever failed beside it: the error is its cause.
    """
    owner = asyncio.current_task()
    assert owner is not None, "a task runs this"
    cancels_before = owner.cancelling()
    error: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            yield task
            task.cancel()
    except BaseExceptionGroup as errors:
        error = errors.exceptions[0]
    if error is None:
        return
    if owner.cancelling() > cancels_before:
        raise asyncio.CancelledError from error
    context = error.__context__
    try:
        raise error
    finally:  # without the cancel of the block, which a traceback would show first
        error.__context__ = context


async def to_completion(work: Awaitable[T]) -> T:
    """Complete ``work`` even if the caller is cancelled meanwhile; the cancel is raised afterwards.

    The cancel is raised even if ``work`` fails, since a caller that is to end must not continue because of an error.
    The error is its cause.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as problem:
            if task.cancelled():
                raise
            cancelled = problem
        except Exception:  # noqa: BLE001 - the error of ``work``, which ``result`` raises below
            break
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()


def start(work: Awaitable[T], *, name: str = "") -> asyncio.Task[T]:
    """Run ``work`` in a task of its own. The owner keeps the task and ends it with ``stop``."""
    task = asyncio.ensure_future(work)
    if name:
        task.set_name(name)
    return task


async def stop(*tasks: asyncio.Task[Any]) -> None:
    """Cancel these tasks and return after they have ended. An error of theirs is dropped; see ``Task.exception``."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not report it as lost
