import asyncio
import contextvars
import threading

import pytest

from ullage.threads import in_thread


async def test_what_a_function_gives_or_raises_comes_back() -> None:
    assert await in_thread(max, 3, 5) == 5
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


async def test_functions_that_hang_hold_up_no_other() -> None:
    gate = threading.Event()
    hanging = [asyncio.ensure_future(in_thread(gate.wait)) for _ in range(100)]
    await asyncio.sleep(0)
    assert await in_thread(len, "abc") == 3
    gate.set()
    assert await asyncio.gather(*hanging) == [True] * 100


async def test_a_cancel_gives_the_thread_up() -> None:
    gate, done = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait()
        done.set()

    task = asyncio.ensure_future(in_thread(work))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert done.wait(60)
    await asyncio.sleep(0)  # what it gives finds nobody, and that is no error


def test_a_loop_that_closed_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    gate, done = threading.Event(), threading.Event()

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_thread(gate.wait), 0.01)

    asyncio.run(leave())
    before = threading.active_count()
    gate.set()
    done.wait(0.1)
    assert threading.active_count() <= before
    assert capfd.readouterr().err == ""


async def test_the_thread_sees_the_caller_s_context() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who")
    who.set("s1")
    assert await in_thread(who.get) == "s1"
