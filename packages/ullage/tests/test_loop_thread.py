import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import threading

import pytest

from ullage import loop_thread
from ullage.errors import CommandRefused
from ullage.loop_thread import LoopInUse, LoopThread, ThreadClosed, run_to_end


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


def test_an_interrupted_start_may_make_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal's handler and a finalizer do."""
    thread = LoopThread("test")
    begin, calls = loop_thread.new_loop, [nothing]

    def interrupted() -> asyncio.AbstractEventLoop:
        if calls:
            thread.run(calls.pop())
        return begin()

    monkeypatch.setattr(loop_thread, "new_loop", interrupted)
    caller = threading.Thread(target=thread.run, args=(nothing,), daemon=True)
    caller.start()
    caller.join(60)
    assert not caller.is_alive()
    thread.close()


def test_an_interrupt_cancels_the_work_and_is_raised() -> None:
    async def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await forever()

    with pytest.raises(KeyboardInterrupt):
        run_to_end(interrupted())


def test_a_call_inside_the_thread_which_would_wait_for_itself_is_refused() -> None:
    thread = LoopThread("test")

    async def calls() -> None:
        assert thread.is_current
        thread.run(nothing)

    with pytest.raises(CommandRefused, match="would wait for itself"):
        thread.run(calls)
    assert not thread.is_current
    thread.close()


def test_an_interrupted_caller_waits_until_its_coroutine_has_ended() -> None:
    thread = LoopThread("test")
    main, has_ended = threading.get_ident(), threading.Event()

    async def interrupted() -> None:
        try:
            while True:  # Python drops one that comes while it looks for garbage
                signal.pthread_kill(main, signal.SIGINT)
                await asyncio.sleep(1)
        finally:
            await asyncio.sleep(0)
            has_ended.set()

    with pytest.raises(KeyboardInterrupt):
        thread.run(interrupted)
    assert has_ended.is_set()
    thread.run(nothing)
    thread.close()


def test_a_thread_that_the_system_refuses_is_tried_again_by_the_next_call() -> None:
    thread = LoopThread("test")
    usual = threading.stack_size(1 << 46)
    try:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="new thread"):
                thread.run(nothing)
    finally:
        threading.stack_size(usual)
    assert not thread.is_running
    thread.run(nothing)
    thread.close()


async def test_a_blocked_thread_is_left_at_the_end_of_the_process() -> None:
    thread = LoopThread("test")
    is_free = threading.Event()

    async def blocks() -> None:
        is_free.wait(60)

    waiting = asyncio.create_task(thread.run_async(blocks))
    await asyncio.sleep(0)
    await asyncio.to_thread(thread.close, within_s=0.01)
    is_free.set()
    async with asyncio.timeout(60):
        await asyncio.gather(waiting, return_exceptions=True)


async def test_an_object_of_one_loop_refuses_a_second_and_follows_a_closed_one() -> None:
    used = LoopInUse("The thing")

    async def enter() -> bool:
        return used.enter()

    assert used.enter() and not used.enter()
    with pytest.raises(CommandRefused, match="The thing is in use in another event loop"):
        await asyncio.to_thread(asyncio.run, enter())
    used.leave()
    used.leave()
    used.leave()  # once too often changes nothing
    assert await asyncio.to_thread(asyncio.run, enter())
    assert used.enter(), "that loop is closed, and its user with it"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_ends_threads_but_the_shared_one_which_begins_anew() -> None:
    quiet = "-Wignore:This process:DeprecationWarning"  # of Python 3.12, at each fork
    ended = subprocess.run(
        [sys.executable, quiet, "-c", FORKS], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["ThreadClosed", "ullage", "0", "test"]
    assert ended.stderr == ""


FORKS = """
import os
import threading
from ullage.loop_thread import SHARED, LoopThread, ThreadClosed

async def named():
    return threading.current_thread().name

thread = LoopThread("test")
thread.run(named)
SHARED.run(named)
child = os.fork()
if child == 0:
    try:
        thread.run(named)
    except ThreadClosed as problem:
        print(type(problem).__name__, flush=True)
    print(SHARED.run(named), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], flush=True)
print(thread.run(named))
"""


def test_the_shared_thread_does_not_begin_before_it_is_used() -> None:
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "import threading, ullage; ullage.Agent; print(threading.active_count())",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["1"]
