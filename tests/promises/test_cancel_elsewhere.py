"""A cancel while tools run, while a call waits to be tried again, during a compaction, at rest, and twice."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import (
    CLAUDE,
    SIX,
    Shown,
    Speaker,
    agent_for,
    assert_accepted,
    assert_calls_closed,
    ended,
    generated,
    of_kind,
    results_of,
    retried,
    said_to_model,
    script,
    until,
)
from tests.tiers import first_of
from ullage.events import (
    CallEnded,
    CallStarted,
    Cancelled,
    CompactionRolledBack,
    EpochChanged,
    Event,
    ToolEnded,
    ToolStarted,
    TurnPaused,
)
from ullage.turns.closing import NOT_STARTED, STOPPED
from ullage_agent.runtime.outcome import CancelAnswer
from ullage_agent.runtime.session import Session
from ullage_agent.tools.functions import tool
from ullage_simulators import Scenario, running


def calls_of(*calls: tuple[str, dict[str, Any]]) -> Scenario:
    made = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return script(
        {"when": {"contains": "do it", "after": "user"}, "text": "I do.", "calls": made},
        {"text": "So be it."},
    )


def lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until_dead(pids: list[int]) -> None:
    async with asyncio.timeout(60):
        while any(lives(pid) for pid in pids):
            await asyncio.sleep(0.01)


def pids_with(word: str) -> list[int]:
    """The processes that have this word in their command line; a sandbox numbers them otherwise inside."""
    found = []
    for directory in Path("/proc").iterdir():
        try:
            if word.encode() in (directory / "cmdline").read_bytes():
                found.append(int(directory.name))
        except (OSError, ValueError):
            continue
    return found


@pytest.mark.parametrize("speaker", first_of(SIX, 2), ids=lambda one: one.name)
async def test_a_cancel_ends_the_processes_of_a_command_and_its_result_says_so(
    speaker: Speaker, tmp_path: Path
) -> None:
    seconds = f"60.{secrets.randbelow(1_000_000):06}"
    stubborn = f"trap '' TERM; sleep {seconds} & (setsid sleep {seconds} &); echo x > begun; wait"
    with running(calls_of(("shell", {"command": stubborn}))) as server:
        agent = agent_for(
            tmp_path / "s.db", tools=["shell"], root=tmp_path, server=server
        )
        async with agent.session("s", **speaker.settings()) as session:
            await session.send("Please do it.")
            await until((tmp_path / "begun").exists)
            pids = pids_with(seconds)
            assert len(pids) >= 3
            answer = await session.cancel()
            await until_dead(pids)
            assert answer == CancelAnswer(True, "tools_in_progress")
            assert (await session.ask("And now?")).text == "So be it."
            events = await session.history()
            (result,) = results_of(await session.messages())
        assert result.is_error and result.text == STOPPED
        assert [event.outcome for event in of_kind(events, ToolEnded)] == ["cancelled"]
        assert STOPPED in said_to_model(generated(server)[-1])
        assert_calls_closed(events)
        assert_accepted(server)


def two_steps(begun: list[int], gate: asyncio.Event) -> Any:
    async def step(number: int) -> str:
        """Make a step.

        Args:
            number: Which.
        """
        begun.append(number)
        await gate.wait()
        return f"step {number} is made"

    return step


@pytest.mark.parametrize("is_set", [False, True], ids=["asked", "set"])
async def test_finish_lets_the_running_tool_end_and_starts_no_other(
    is_set: bool, tmp_path: Path
) -> None:
    how: Any = {"cancel_tools": "finish"} if is_set else {}
    begun: list[int] = []
    gate = asyncio.Event()
    with running(calls_of(("step", {"number": 1}), ("step", {"number": 2}))) as server:
        agent = agent_for(
            tmp_path / "s.db",
            tools=[two_steps(begun, gate)],
            sequential_tools=True,
            server=server,
            **how,
        )
        async with agent.session("s", **CLAUDE.settings()) as session:
            await session.send("Please do it.")
            await until(lambda: begun)
            done = await session.cancel(None if is_set else "finish")
            assert (done.persisted, begun) == ("tools_in_progress", [1])
            gate.set()
            result = await session.wait()
            first, second = results_of(await session.messages())
            events = await session.history()
        assert result.reason == "cancelled" and begun == [1]
        assert (first.text, first.is_error) == ("step 1 is made", False)
        assert (second.text, second.is_error) == (NOT_STARTED, True)
        assert [event.outcome for event in of_kind(events, ToolEnded)] == [
            "finished",
            "not_started",
        ]
        assert len(of_kind(events, Cancelled)) == 1 and len(generated(server)) == 1


async def test_a_second_cancel_does_not_wait_for_the_tools_that_the_first_lets_end(
    tmp_path: Path,
) -> None:
    begun: list[int] = []
    with running(calls_of(("step", {"number": 1}), ("step", {"number": 2}))) as server:
        agent = agent_for(
            tmp_path / "s.db", tools=[two_steps(begun, asyncio.Event())], server=server
        )
        async with agent.session("s", **CLAUDE.settings()) as session:
            await session.send("Please do it.")
            await until(lambda: len(begun) == 2)
            await session.cancel("finish")
            assert not session._is_idle
            assert (await session.cancel("finish")).cancelled
            assert (await session.wait()).reason == "cancelled"
            events = await session.history()
            assert (await session.ask("And now?")).text == "So be it."
        assert [event.outcome for event in of_kind(events, ToolEnded)] == [
            "cancelled",
            "cancelled",
        ]
        assert_calls_closed(events)


async def test_a_function_in_a_thread_is_said_to_have_an_unknown_outcome(
    tmp_path: Path,
) -> None:
    release = threading.Event()
    begun: list[bool] = []

    def work() -> str:
        """Work."""
        begun.append(True)
        release.wait(60)
        return "worked"

    with running(calls_of(("work", {}))) as server:
        agent = agent_for(tmp_path / "s.db", tools=[work], server=server)
        try:
            async with agent.session("s", **CLAUDE.settings()) as session:
                await session.send("Please do it.")
                await until(lambda: begun)
                assert (await session.cancel()).persisted == "tools_in_progress"
                assert (await session.wait()).reason == "cancelled"
                (result,) = results_of(await session.messages())
                assert "unknown" in result.text and result.is_error
        finally:
            release.set()


async def test_a_wait_before_another_try_can_be_cancelled_and_nothing_is_charged(
    tmp_path: Path,
) -> None:
    busy = {"kind": "status", "request": 1, "status": 529, "retry_after_s": 60}
    with running(script(faults=[busy])) as server:
        agent = agent_for(tmp_path / "s.db", window=16_000, server=server)
        async with (
            agent.session("s", **CLAUDE.settings()) as session,
            Shown(session) as shown,
        ):
            await session.send("Please do it.")
            await shown.until(lambda now: retried(now.events))
            assert await session.cancel() == CancelAnswer(True, None)
            events = await session.history()
            spend = (await session.context()).spend
            assert (await session.ask("And now?")).reason == "finished"
        assert ended(events)[0].outcome == "cancelled" and ended(events)[0].usage is None
        assert not server.truth().bills[:-1] and spend.all.input == 0
        assert_accepted(server, but=[1])


async def test_a_cancel_while_a_person_is_asked_closes_the_call_as_not_started(
    tmp_path: Path,
) -> None:
    ran: list[bool] = []

    @tool(needs_approval=True)
    def sell() -> str:
        """Sell it."""
        ran.append(True)
        return "sold"

    with running(calls_of(("sell", {}))) as server:
        agent = agent_for(tmp_path / "s.db", tools=[sell], server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            await session.send("Please do it.")
            paused = await session.wait()
            assert (paused.reason, paused.is_paused) == ("approval", True)
            assert await session.cancel() == CancelAnswer(True, None)
            (result,) = results_of(await session.messages())
            assert (result.text, result.is_error) == (NOT_STARTED, True)
            events = await session.history()
            approved = of_kind(events, ToolEnded)[0].call_id
            await session.approve(approved)
            assert (await session.ask("And now?")).text == "So be it."
        assert not ran
        assert [event.outcome for event in of_kind(events, ToolEnded)] == ["not_started"]
        assert_accepted(server)


async def test_a_cancel_while_a_failed_call_waits_for_a_person_ends_the_turn(
    tmp_path: Path,
) -> None:
    broken = {"kind": "status", "request": 1, "status": 401}
    with running(script({"text": "So be it."}, faults=[broken])) as server:
        async with agent_for(tmp_path / "s.db", server=server).session(
            "s", **CLAUDE.settings()
        ) as session:
            await session.send("Please do it.")
            assert (await session.wait(check=False)).reason == "failed"
            assert await session.cancel() == CancelAnswer(True, None)
            assert (await session.wait()).reason == "cancelled"
            assert (await session.ask("And now?")).text == "So be it."


async def compaction_under_way(session: Session, shown: Shown) -> None:
    """A long enough history, and a summary of it that never comes."""
    for number in range(4):
        await session.ask(f"Tell me of room {number}. {WORDY}")
    await session.compact()
    await shown.until(
        lambda now: [
            one for one in of_kind(now.events, CallStarted) if one.purpose == "summary"
        ]
    )


WORDY = "It is large and full of old things, and nobody has counted them yet. " * 60


def hanging_summary() -> Scenario:
    """The fifth request is the summary's."""
    answer = {"text": "There are vases in it. " * 40}
    return script(answer, faults=[{"kind": "hang", "request": 5, "at": 0, "seconds": 60}])


@pytest.mark.parametrize("speaker", first_of(SIX, 2), ids=lambda one: one.name)
async def test_a_cancelled_compaction_leaves_the_history_as_it_was(
    speaker: Speaker, tmp_path: Path
) -> None:
    with running(hanging_summary()) as server:
        agent = agent_for(tmp_path / "s.db", window=16_000, server=server)
        async with (
            agent.session("s", **speaker.settings()) as session,
            Shown(session) as shown,
        ):
            await compaction_under_way(session, shown)
            await until(lambda: len(generated(server)) == 5)
            before, reading = await session.messages(), await session.context()
            assert (await session.cancel()).persisted == "compaction_rolled_back"
            after = await session.context()
            assert await session.messages() == before
            assert (after.used, after.rows) == (reading.used, reading.rows)
            await session.ask("And now?")
            events = await session.history()
        rolled = [one for one in of_kind(events, CompactionRolledBack) if not one.rung]
        assert [one.reason for one in rolled] == ["cancelled"]
        assert not of_kind(events, EpochChanged)
        (summary,) = ended(events, "summary")
        assert summary.outcome == "cancelled" and summary.usage is not None
        assert (
            summary.usage.input
            and summary.usage.flags == ("estimated",)
            and not summary.usage.final
        )
        assert_calls_closed(events)
        assert_accepted(server)


async def test_a_compaction_in_the_middle_of_a_turn_can_be_cancelled_with_the_turn(
    tmp_path: Path,
) -> None:
    begun: list[int] = []
    gate = asyncio.Event()
    scenario = script(
        {
            "when": {"contains": "do it", "after": "user"},
            "calls": [{"name": "step", "arguments": {"number": 1}}],
        },
        {"text": "There are vases in it. " * 40},
        faults=[{"kind": "hang", "request": 6, "at": 0, "seconds": 60}],
    )
    with running(scenario) as server:
        agent = agent_for(
            tmp_path / "s.db",
            tools=[two_steps(begun, gate)],
            window=16_000,
            server=server,
        )
        async with (
            agent.session("s", **CLAUDE.settings()) as session,
            Shown(session) as shown,
        ):
            for number in range(4):
                await session.ask(f"Tell me of room {number}. {WORDY}")
            await session.send("Please do it.")
            await until(lambda: begun)
            await session.compact()
            gate.set()
            await shown.until(lambda _: len(generated(server)) == 6)
            before = await session.messages()
            assert (await session.cancel()).persisted == "compaction_rolled_back"
            assert (await session.wait()).reason == "cancelled"
            assert await session.messages() == before
            assert (await session.ask("And now?")).reason == "finished"
            assert "step 1 is made" in said_to_model(generated(server)[-1])
            assert_calls_closed(await session.history())
        assert_accepted(server)


async def test_a_cancelled_task_of_a_method_undoes_nothing_it_has_stored(
    tmp_path: Path,
) -> None:
    """Leaving the session by an exception stops it, and the next one that opens it goes on."""
    begun: list[int] = []
    gate = asyncio.Event()
    with running(calls_of(("step", {"number": 1}))) as server:
        agent = agent_for(
            tmp_path / "s.db",
            tools=[two_steps(begun, gate)],
            window=16_000,
            server=server,
        )

        async def doing() -> None:
            async with agent.session("s", **CLAUDE.settings()) as session:
                await session.ask("Please do it.")

        task = asyncio.create_task(doing())
        await until(lambda: begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with agent_for(
            tmp_path / "s.db", tools=[two_steps(begun, gate)], server=server
        ).session("s") as session:
            assert (await session.wait()).text == "So be it."
            events: list[Event] = await session.history()
        assert begun == [1]
        assert len(of_kind(events, ToolStarted)) == 1
        assert [event.outcome for event in of_kind(events, ToolEnded)] == ["unknown"]
        assert not of_kind(events, TurnPaused) and not [
            event for event in of_kind(events, CallEnded) if event.outcome != "finished"
        ]


def test_the_processes_looked_for_are_seen_to_live() -> None:
    assert lives(os.getpid())
