"""``Agent.run_sync`` and the other synchronous calls: many threads, other event loops, forks, ends of processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import CLAUDE, agent_for, generated, script
from ullage import Compactor
from ullage.errors import CommandRefused
from ullage.events import Event, ToolEnded
from ullage.loop_thread import SHARED
from ullage_agent.runtime.agent import Agent
from ullage_agent.tools.tool import ToolContext
from ullage_simulators import Server, running
from ullage_simulators.scenario import read

THREADS = 8
CALLS = 3
ENOUGH_S = 120


@pytest.fixture
def server() -> Iterator[Server]:
    """A simulator that repeats what the user said."""
    with running(read({"server": {"delay_s": 0.01}})) as simulator:
        yield simulator


def agent_at(path: Path, server: Server, **settings: Any) -> Agent:
    return agent_for(path / "s.db", server=server, **{**CLAUDE.settings(), **settings})


def together(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """What the function gives in as many threads at once, each of which begins when all are there."""
    begin = threading.Barrier(threads)

    def one(number: int) -> Any:
        begin.wait(ENOUGH_S)
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return [
            each.result(ENOUGH_S)
            for each in [pool.submit(one, n) for n in range(threads)]
        ]


@pytest.mark.parametrize("stream", [True, False])
def test_many_threads_use_one_agent(stream: bool, tmp_path: Path, server: Server) -> None:
    agent = agent_at(tmp_path, server, stream=stream)

    def work(number: int) -> list[str]:
        said: list[str] = []
        for call in range(CALLS):
            result = agent.run_sync(f"{number}.{call}", session=f"of-{number}")
            said.append(result.text)
        return said

    for number, said in enumerate(together(work)):
        found = [f"{number}.{call}" in text for call, text in enumerate(said)]
        assert found == [True] * CALLS
    rows = asyncio.run(agent.sessions())
    assert sorted(row.id for row in rows) == [f"of-{n}" for n in range(THREADS)]


def test_a_tool_that_is_no_coroutine_may_ask_another_agent(tmp_path: Path) -> None:
    asks = {
        "when": {"contains": "outer", "after": "user"},
        "calls": [{"name": "ask_inner", "arguments": {}}],
    }
    with running(script(asks, {"text": "That is all."})) as server:
        inner = agent_at(tmp_path, server)

        def ask_inner() -> str:
            """Ask."""
            return inner.run_sync("inner").text

        outer = agent_at(tmp_path, server, tools=[ask_inner])
        given = together(lambda number: outer.run_sync("outer").reason)
        assert given == ["finished"] * THREADS
        assert len(generated(server)) == 3 * THREADS


def test_an_async_tool_is_told_what_to_write_instead(tmp_path: Path) -> None:
    asks = {
        "when": {"contains": "outer", "after": "user"},
        "calls": [{"name": "ask_inner", "arguments": {}}],
    }
    problems: list[BaseException] = []
    with running(script(asks, {"text": "That is all."})) as server:
        inner = agent_at(tmp_path, server)

        async def ask_inner() -> str:
            """Ask."""
            with pytest.raises(CommandRefused, match=r"await agent\.ask") as raised:
                inner.run_sync("inner")
            problems.append(raised.value)
            return (await inner.ask("inner")).text

        outer = agent_at(tmp_path, server, tools=[ask_inner])
        assert outer.run_sync("outer").reason == "finished"
    assert len(problems) == 1


async def test_it_works_inside_a_running_loop(tmp_path: Path, server: Server) -> None:
    agent = agent_at(tmp_path, server)
    assert "one" in agent.run_sync("one").text
    assert "two" in (await agent.ask("two")).text
    assert "three" in agent.run_sync("three").text


async def test_threads_and_a_loop_use_one_agent(tmp_path: Path, server: Server) -> None:
    agent = agent_at(tmp_path, server)
    async with agent.session("mine") as session:
        await session.ask("first")
        in_threads = asyncio.to_thread(
            together, lambda number: agent.run_sync(f"{number}").reason
        )
        given, mine = await asyncio.gather(in_threads, session.ask("second"))
    assert given == ["finished"] * THREADS and mine.reason == "finished"


async def test_two_event_loops_of_the_programs_own_at_once_are_refused_in_words(
    tmp_path: Path, server: Server
) -> None:
    agent = agent_at(tmp_path, server)
    async with agent.session("mine"):
        with pytest.raises(CommandRefused, match=r"another event loop.*run_sync"):
            await asyncio.to_thread(asyncio.run, agent.ask("other"))
        assert await asyncio.to_thread(lambda: agent.run_sync("third").reason)
    other = await asyncio.to_thread(asyncio.run, agent.ask("one after the other"))
    assert other.reason == "finished"


def test_a_loop_that_ended_with_an_open_session_does_not_lock_the_agent(
    tmp_path: Path, server: Server
) -> None:
    agent = agent_at(tmp_path, server)

    async def left_open() -> None:
        await agent.session("left").__aenter__()

    asyncio.run(left_open())
    assert "after" in asyncio.run(agent.ask("after")).text
    assert "again" in agent.run_sync("again").text


def test_deps_and_the_context_of_the_caller_reach_the_tools(tmp_path: Path) -> None:
    asks = {
        "when": {"contains": "please", "after": "user"},
        "calls": [{"name": "who", "arguments": {}}],
    }
    seen: list[object] = []
    with running(script(asks, {"text": "Done."})) as server:

        def who(context: ToolContext[int]) -> str:
            """Who asks."""
            seen.append(context.deps)
            return "noted"

        agent = agent_at(tmp_path, server, tools=[who])
        together(lambda number: agent.run_sync("please", deps=number).reason)
    assert sorted(seen, key=str) == list(range(THREADS))


PROGRAM = """
import os, signal, sys, threading, time
sys.path.insert(0, os.getcwd())
from pathlib import Path
from ullage import Agent
def agent(**more):
    return Agent("openai:gpt-4.1", base_url=sys.argv[1], environment={"OPENAI_API_KEY": "k"}, config=False,
                 store=Path(sys.argv[2]) / "s.db", **more)
"""


def ran(body: str, server: Server, path: Path, *, code: int = 0) -> list[str]:
    """The lines that a program prints, which ends in time and says nothing on standard error."""
    ended = subprocess.run(
        [
            sys.executable,
            "-Wignore:This process:DeprecationWarning",  # of Python 3.12, at each fork
            "-c",
            PROGRAM + body,
            server.url("openai"),
            str(path),
        ],
        capture_output=True,
        text=True,
        timeout=ENOUGH_S,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    assert ended.stderr == ""
    return ended.stdout.splitlines()


def test_a_process_ends_behind_its_calls_and_loses_nothing(
    tmp_path: Path, server: Server
) -> None:
    body = """
a = agent()
print(a.run_sync("one", session="s").reason)
print(a.run_sync("two", session="s").reason)
"""
    assert ran(body, server, tmp_path) == ["finished"] * 2
    again = agent_at(tmp_path, server)
    rows = asyncio.run(again.sessions())
    assert [(row.id, bool(row.held_by)) for row in rows] == [("s", False)]


def test_threads_that_outlive_the_main_program_get_their_answers(
    tmp_path: Path, server: Server
) -> None:
    body = """
a = agent()
def work(n):
    for call in range(3):
        print(a.run_sync(f"{n}.{call}").reason + chr(10), end="", flush=True)
for n in range(4):
    threading.Thread(target=work, args=(n,)).start()
"""
    assert ran(body, server, tmp_path) == ["finished"] * 12


def test_a_pool_of_threads_that_was_not_shut_down_does_not_keep_the_process(
    tmp_path: Path, server: Server
) -> None:
    body = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
print(pool.submit(agent().run_sync, "one").result().reason)
"""
    assert ran(body, server, tmp_path) == ["finished"]


def test_a_finalizer_s_call_at_the_end_is_refused(tmp_path: Path, server: Server) -> None:
    body = """
class Last:
    def __del__(self, agent=agent()):
        try:
            agent.run_sync("late")
        except Exception as error:
            print(type(error).__name__, flush=True)
last = Last()
last.itself = last
"""
    assert ran(body, server, tmp_path) == ["ThreadClosed"]


def test_a_daemon_in_a_call_does_not_keep_the_process(tmp_path: Path) -> None:
    with running(read({"server": {"delay_s": ENOUGH_S * 2}})) as server:
        body = """
from ullage import Hook
begun = threading.Event()
class Begun(Hook):
    async def before_call(self, request, reading): begun.set()
a = agent(hooks=[Begun()])
def work():
    try:
        a.run_sync("never")
    except BaseException:
        pass
threading.Thread(target=work, daemon=True).start()
begun.wait()
print("left")
"""
        assert ran(body, server, tmp_path) == ["left"]


FORKS = """
a = agent()
{before}
child = os.fork()
if child == 0:
    print(a.run_sync("in the child").reason, flush=True)
    out = []
    ts = [threading.Thread(target=lambda: out.append(a.run_sync("t").reason)) for _ in range(3)]
    [t.start() for t in ts]; [t.join() for t in ts]
    print(*out, flush=True)
    {leaves}
print(os.waitpid(child, 0)[1], flush=True)
print(a.run_sync("in the parent").reason, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("leaves", ["os._exit(0)", "sys.exit(0)"])
@pytest.mark.parametrize("before", ["", "a.run_sync('before')"])
def test_a_forked_process_has_a_loop_of_its_own(
    before: str, leaves: str, tmp_path: Path, server: Server
) -> None:
    body = FORKS.format(before=before, leaves=leaves)
    child = ["finished", "finished finished finished"]
    assert ran(body, server, tmp_path) == [*child, "0", "finished"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_process_that_was_forked_in_the_midst_of_a_call_is_refused_in_words(
    tmp_path: Path, server: Server
) -> None:
    body = """
import asyncio
from ullage import Hook
from ullage.errors import CommandRefused, StoreUnavailable
begun, forked = threading.Event(), threading.Event()
class Begun(Hook):
    async def before_call(self, request, reading):
        begun.set()
        await asyncio.to_thread(forked.wait)
a = agent(hooks=[Begun()])
beside = threading.Thread(target=lambda: print(a.run_sync("beside").reason, flush=True))
beside.start()
begun.wait()
child = os.fork()
if child == 0:
    try:
        a.run_sync("in the child")
    except CommandRefused as problem:
        print("forked from one" in str(problem), flush=True)
    try:
        asyncio.run(agent().ask("in the child"))
    except StoreUnavailable as problem:
        print("forked from another" in str(problem), flush=True)
    sys.exit(0)
print(os.waitpid(child, 0)[1], flush=True)
forked.set()
beside.join()
print(a.run_sync("in the parent").reason, flush=True)
"""
    lines = ran(body, server, tmp_path)
    assert lines == ["True", "True", "0", "finished", "finished"]


def test_an_interrupt_cancels_the_call_and_what_it_runs(tmp_path: Path) -> None:
    asks = {
        "when": {"contains": "wait", "after": "user"},
        "calls": [{"name": "slow", "arguments": {}}],
    }
    body = """
import asyncio
ended = threading.Event()
async def slow():
    "Wait."
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await asyncio.sleep(3600)
    finally:
        ended.set()
a = agent(tools=[slow])
try:
    a.run_sync("wait", session="s")
except KeyboardInterrupt:
    print("interrupted", ended.is_set(), flush=True)
print(a.run_sync("other").reason)
"""
    with running(script(asks, {"text": "Done."})) as server:
        assert ran(body, server, tmp_path) == ["interrupted True", "finished"]
    assert not SHARED.is_current


def test_a_compactor_may_be_called_by_an_async_tool_of_an_agent(tmp_path: Path) -> None:
    asks = {
        "when": {"contains": "fit", "after": "user"},
        "calls": [{"name": "fits", "arguments": {}}],
    }
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hello."}]}
    with running(script(asks, {"text": "Done."})) as server:
        compactor = Compactor(
            "openai:gpt-4.1", store=tmp_path / "c.db", session="conversation"
        )

        async def fits() -> str:
            """Fit."""
            return str(compactor.fit_sync(body).body == body)

        agent = agent_at(tmp_path, server, tools=[fits])
        result = agent.run_sync("fit", session="s")
        compactor.close()
    assert result.reason == "finished"
    (ended,) = [
        event for event in asyncio.run(history(agent)) if isinstance(event, ToolEnded)
    ]
    assert ended.outcome == "finished"


async def history(agent: Agent) -> list[Event]:
    async with agent.session("s") as session:
        return await session.history()
