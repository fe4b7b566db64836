import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import threading

import pytest

from ullage.loop_thread import LoopThread, ThreadClosed, run_to_end


async def forever() -> None:
    await asyncio.Event().wait()


async def nothing() -> None:
    pass


def test_a_coroutine_gives_its_result_and_its_error() -> None:
    thread = LoopThread("test")

    async def named() -> str:
        return threading.current_thread().name

    async def fails() -> None:
        raise ValueError("no")

    assert thread.run(named) == "test"
    with pytest.raises(ValueError, match="no"):
        thread.run(fails)
    thread.close()
    assert not thread.is_running


def test_a_closed_thread_is_started_again_and_an_ended_one_is_not() -> None:
    thread = LoopThread("test")
    thread.run(nothing)
    thread.close()
    thread.run(nothing)
    thread.end(nothing, within_s=60)
    with pytest.raises(ThreadClosed):
        thread.run(nothing)
    with pytest.raises(ThreadClosed):
        thread.call(print)


async def test_what_runs_at_the_end_of_the_thread_gets_an_answer() -> None:
    thread = LoopThread("test")
    waiting = [asyncio.create_task(thread.run_async(forever)) for _ in range(3)]
    await asyncio.sleep(0)
    thread.close()
    async with asyncio.timeout(60):
        given = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in given] == [ThreadClosed] * 3


async def test_everything_that_meets_the_end_of_the_thread_gets_an_answer() -> None:
    for _ in range(30):
        thread = LoopThread("test")
        thread.run(nothing)
        ending = asyncio.create_task(asyncio.to_thread(thread.end, nothing, within_s=60))
        given: list[BaseException | None] = []
        while not ending.done():
            waiting = [thread.run_async(nothing) for _ in range(5)]
            async with asyncio.timeout(60):
                given += await asyncio.gather(*waiting, return_exceptions=True)
        await ending
        assert {type(each) for each in given} <= {type(None), ThreadClosed}


async def test_last_work_that_does_not_end_is_given_up() -> None:
    thread = LoopThread("test")
    thread.run(nothing)
    waiting = asyncio.create_task(thread.run_async(forever))
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await asyncio.to_thread(thread.end, forever, within_s=0.01)
        with pytest.raises(ThreadClosed):
            await waiting


async def test_a_coroutine_that_ignores_its_cancel_keeps_no_caller_waiting() -> None:
    thread = LoopThread("test")
    has_begun, is_ignoring = threading.Event(), threading.Event()

    async def ignores() -> None:
        has_begun.set()
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                is_ignoring.set()

    waiting = asyncio.create_task(thread.run_async(ignores))
    assert await asyncio.to_thread(has_begun.wait, 60)
    closing = asyncio.create_task(asyncio.to_thread(thread.close))
    async with asyncio.timeout(60):
        with pytest.raises(ThreadClosed):
            await waiting
        await closing
    assert is_ignoring.is_set()


async def test_a_cancel_of_the_caller_cancels_the_coroutine() -> None:
    thread = LoopThread("test")
    has_begun, was_cancelled = threading.Event(), threading.Event()

    async def waits() -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            was_cancelled.set()

    waiting = asyncio.create_task(thread.run_async(waits))
    await asyncio.to_thread(has_begun.wait, 60)
    waiting.cancel()
    assert await asyncio.to_thread(was_cancelled.wait, 60)
    thread.close()


def test_loops_are_of_uvloop_where_it_is_installed_and_otherwise_of_asyncio() -> None:
    module = (importlib.util.find_spec("uvloop") and "uvloop") or "asyncio.unix_events"
    for hidden, expected in (("", module), ("uvloop", "asyncio.unix_events")):
        program = f"import sys; sys.modules.update({{name: None for name in {hidden!r}.split()}})\n{LOOPS}"
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert ended.stdout.split() == [expected, expected]


LOOPS = """
import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
from ullage.loop_thread import LoopThread, run_to_end

async def name():
    return type(asyncio.get_running_loop()).__module__

thread = LoopThread("test")
print(run_to_end(name()), thread.run(name))
thread.close()
"""


def test_an_interrupt_cancels_the_work_and_is_raised() -> None:
    async def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await forever()

    with pytest.raises(KeyboardInterrupt):
        run_to_end(interrupted())
