from __future__ import annotations

import asyncio

import pytest

from ullage.tasks import background, start, stop, to_completion


class Broken(Exception):
    pass


async def fail() -> None:
    raise Broken


async def test_work_in_the_background_is_cancelled_when_the_block_ends() -> None:
    async with background(asyncio.Event().wait()) as task:
        await asyncio.sleep(0)
    assert task.cancelled()


async def test_an_error_of_the_work_ends_the_block_and_is_raised_as_it_is() -> None:
    with pytest.raises(Broken):
        async with background(fail()):
            await asyncio.Event().wait()


async def test_the_cancel_of_the_block_is_not_shown_before_an_error() -> None:
    with pytest.raises(Broken) as raised:
        async with background(fail()):
            await asyncio.Event().wait()
    assert raised.value.__context__ is None


async def test_an_error_of_the_block_is_raised_as_it_is() -> None:
    with pytest.raises(Broken):
        async with background(asyncio.Event().wait()) as task:
            await fail()
    assert task.cancelled()


async def test_a_cancel_from_outside_is_not_lost_to_an_error_of_the_work() -> None:
    is_inside = asyncio.Event()

    async def fail_when_cancelled() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Broken from None

    async def block() -> None:
        async with background(fail_when_cancelled()):
            is_inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(block())
    await is_inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    assert isinstance(raised.value.__cause__, Broken)


async def test_a_cancelled_caller_completes_its_work_first() -> None:
    done: list[str] = []
    may_end = asyncio.Event()

    async def work() -> None:
        await may_end.wait()
        done.append("work")

    task = asyncio.create_task(to_completion(work()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["work"]


async def test_a_cancelled_caller_is_cancelled_although_its_work_failed() -> None:
    may_end = asyncio.Event()

    async def work() -> None:
        await may_end.wait()
        raise Broken

    task = asyncio.create_task(to_completion(work()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    assert isinstance(raised.value.__cause__, Broken)


async def test_no_task_is_stopped_at_once() -> None:
    await stop()


async def test_a_stopped_task_has_ended_and_its_error_is_dropped() -> None:
    ended: list[str] = []

    async def clean_up_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("slow")

    slow, broken = start(clean_up_slowly(), name="slow"), start(fail())
    await asyncio.sleep(0)
    await stop(slow, broken)
    assert ended == ["slow"]
    assert slow.get_name() == "slow"
    assert slow.cancelled()
    assert isinstance(broken.exception(), Broken)
