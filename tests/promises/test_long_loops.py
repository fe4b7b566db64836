"""Long tool loops with everything that interrupts them: no request is refused, and each extends the one before it.

HYPOTHESIS_PROFILE=thorough uv run pytest tests/promises      loops of 200 steps
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.promises.stage import (
    BOUND_CLAUDE,
    CHAT,
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    OLD_CLAUDE,
    RESPONSES,
    SIX,
    SPEAKERS,
    Exchanged,
    Sent,
    Shown,
    Speaker,
    agent_for,
    answers_in,
    assert_accepted,
    assert_calls_closed,
    assert_epochs,
    exchanged,
    of_kind,
    requests_of,
    script,
)
from ullage.events import EpochChanged, Event, ToolEnded, TurnEnded
from ullage.store.forking import fork
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.session import Session
from ullage_simulators import Scenario, Server, running

STEPS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 40
CANCELLED, SUSPENDED = STEPS // 5, STEPS // 2
"""The requests in whose answers the turn is cancelled, and its process gone."""


class Suspended(Exception):
    """Leaves a session in the middle of what it does."""


def loop_script() -> Scenario:
    slow = [
        {"kind": "slow", "request": number, "seconds": 0.3}
        for number in (CANCELLED, SUSPENDED)
    ]
    calls = [{"name": "look", "arguments": {"room": room}} for room in ("hall", "yard")]
    answer = {
        "reasoning": "The hall first, then the yard.",
        "text": "I look.",
        "calls": calls,
    }
    return script(
        {"when": {"contains": "go on"}, **answer},
        {"when": {"contains": "The answer above is incomplete"}, **answer},
        {"when": {"contains": "Not run"}, **answer},
        {"reasoning": "That was all.", "text": "All rooms are in order."},
        faults=slow,
    )


def look_until(server: Server, last: Callable[[], int]) -> Callable[[str], str]:
    def look(room: str) -> str:
        """Look into a room.

        Args:
            room: Which.
        """
        number = requests_of(server)
        return (
            f"{room} at {number}: fine, {'go on' if number < last() else 'nothing more'}"
        )

    return look


async def until_request(shown: Shown, server: Server, number: int) -> None:
    """Until something of that request's answer is shown."""
    await shown.until(lambda _: requests_of(server) >= number)
    seen = len(shown.pieces)
    await shown.until(lambda now: len(now.pieces) > seen)


async def first_half(session: Session, server: Server) -> None:
    """A turn that is cancelled while the model thinks, and one that is left in the middle of an answer."""
    async with Shown(session) as shown:
        await session.send("Check all rooms, go on until done.")
        await until_request(shown, server, CANCELLED)
        answer = await session.cancel()
        assert answer.persisted == "partial_assistant"
        await session.send("Please go on.")
        await until_request(shown, server, SUSPENDED)
    raise Suspended


async def lived(
    server: Server, directory: Path, speaker: Speaker, then: tuple[Speaker, ...]
) -> None:
    """One session through all of it, and its fork."""
    store, sent, last = directory / "s.db", Sent(server), STEPS
    look = look_until(server, lambda: last)
    agent = agent_for(store, sent, tools=[look], server=server)
    with pytest.raises(Suspended):
        async with agent.session("long", **speaker.settings()) as session:
            await first_half(session, server)
    async with agent_for(store, sent, tools=[look], server=server).session(
        "long"
    ) as session:
        async with Shown(session) as shown:
            for place, other in enumerate(then, 1):
                wanted = SUSPENDED + place * (STEPS - SUSPENDED) // (len(then) + 1)
                await shown.until(lambda _, wanted=wanted: requests_of(server) >= wanted)  # type: ignore[misc]
                await session.set(**other.settings())
        result = await session.wait()
        events = await session.history()
    assert result.reason == "finished", result
    assert requests_of(server) >= STEPS
    calls = exchanged(sent, server, events)
    judge(server, events, calls)
    assert [
        message.interrupted for message in answers_in(events) if message.interrupted
    ] == ["cancelled", "crash"]
    last = requests_of(server) + 6
    await fork_lived(server, store, events, calls, look, [speaker, *then][-1])


async def fork_lived(
    server: Server,
    store: Path,
    events: list[Event],
    calls: list[Exchanged],
    look: Callable[[str], str],
    speaker: Speaker,
) -> None:
    """A copy made between two tools of the last model's loop is at rest, and a message continues it from there."""
    through = of_kind(events, ToolEnded)[-7].seq + 1
    opened = SqliteStore(store)
    await fork(opened, "long", "fork", through=through)
    await opened.close()
    sent = Sent(server)
    more = speaker.settings()
    async with agent_for(store, sent, tools=[look], server=server, **more).session(
        "fork"
    ) as session:
        await session.send("Please go on.")
        result = await session.wait()
        forked = await session.history()
    assert result.reason == "finished", result
    before = [event for event in events if event.seq <= through]
    skip = sum(
        call.call in {getattr(event, "call", "") for event in before} for call in calls
    )
    own = exchanged(sent, server, forked, skip=skip)
    judge(server, forked, [*calls[:skip], *own])
    assert len(own) >= 4


def judge(server: Server, events: list[Event], calls: list[Exchanged]) -> None:
    assert_accepted(server)
    assert_calls_closed(events)
    assert_epochs(calls)


@pytest.mark.parametrize(
    "speaker", [pytest.param(speaker, id=speaker.name) for speaker in SPEAKERS]
)
async def test_a_long_loop_is_interrupted_suspended_and_forked_and_only_grows(
    speaker: Speaker, tmp_path: Path
) -> None:
    with running(loop_script()) as server:
        await lived(server, tmp_path, speaker, ())


@pytest.mark.parametrize(
    "speakers",
    [
        pytest.param(
            (OLD_CLAUDE, GEMINI, CHAT, DEEPSEEK, RESPONSES, BOUND_CLAUDE), id="around"
        ),
        pytest.param((RESPONSES, DEEPSEEK, CLAUDE, OLD_CLAUDE, GEMINI, CHAT), id="back"),
        pytest.param(
            (GEMINI, BOUND_CLAUDE, RESPONSES, CHAT, CLAUDE, GEMINI), id="across"
        ),
    ],
)
async def test_models_are_switched_in_the_middle_of_a_loop_and_each_switch_is_an_epoch(
    speakers: tuple[Speaker, ...], tmp_path: Path
) -> None:
    with running(loop_script()) as server:
        await lived(server, tmp_path, speakers[0], speakers[1:])


@pytest.mark.parametrize(
    "speaker", [pytest.param(speaker, id=speaker.name) for speaker in SIX]
)
@pytest.mark.parametrize("reasoning", ["none", "last"])
async def test_a_policy_that_leaves_reasoning_out_departs_only_where_it_says_so(
    speaker: Speaker, reasoning: str, tmp_path: Path
) -> None:
    with running(loop_script()) as server:
        sent, last = Sent(server), 4
        agent = agent_for(
            tmp_path / "s.db",
            sent,
            tools=[look_until(server, lambda: last)],
            reasoning=reasoning,
            server=server,
        )
        async with agent.session("policy", **speaker.settings()) as session:
            for _ in range(3):
                await session.ask("Check all rooms, go on until done.")
                last = requests_of(server) + 4
            events = await session.history()
        judge(server, events, exchanged(sent, server, events))


async def test_a_session_without_a_change_has_no_epoch_but_its_first(
    tmp_path: Path,
) -> None:
    with running(loop_script()) as server:
        agent = agent_for(
            tmp_path / "s.db", tools=[look_until(server, lambda: 10)], server=server
        )
        async with agent.session("quiet", **CLAUDE.settings()) as session:
            await session.ask("Check all rooms, go on until done.")
            await session.ask("And once more.")
            events = await session.history()
    assert not of_kind(events, EpochChanged)
    assert [event.reason for event in of_kind(events, TurnEnded)] == [
        "finished",
        "finished",
    ]
