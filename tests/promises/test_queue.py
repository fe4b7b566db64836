"""Messages sent at every point of what a session does: each is delivered once, handed back, or withdrawn."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.promises import stage
from tests.tiers import first_of
from ullage.errors import CommandRefused
from ullage.events import (
    CancelAsked,
    Cancelled,
    CompactionCommitted,
    Event,
    MessageAdded,
    Queued,
    QueueLeft,
    TurnEnded,
)
from ullage.messages import Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import QueueKind
from ullage.store.waiting import edit
from ullage.turns.loop import Loop, apply
from ullage_agent.runtime.session import Session
from ullage_agent.tools.functions import tool
from ullage_simulators import Scenario, Server, running
from ullage_simulators.server import Exchange

FRAMES = 90
"""Events and pieces of a run, from its first on, at which something is sent."""
APART = 18
"""Frames between two at which one run sends something: so many runs, each begun a frame later, send at all of them."""

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
WORDY = "It is large and full of old things, and nobody has counted them yet. " * 60
SUMMARY = "## Goal\nLook after the museum.\n## State\nIt is large, full of old things, and nobody has counted them."

CALLS = [
    {"name": "look", "arguments": {"room": "hall"}},
    {"name": "nap", "arguments": {}},
    {"name": "look", "arguments": {"room": "yard"}},
]


def eventful(faults: Sequence[Mapping[str, Any]] = ()) -> Scenario:
    """Reasoning, text and three tools, one of which runs out of time; and all that the faults do to it."""
    return stage.script(
        {
            "when": {"contains": "the rooms", "after": "user"},
            "reasoning": "All of them.",
            "text": "Yes.",
            "calls": CALLS,
        },
        {"when": {"contains": "Summar"}, "text": SUMMARY},
        {"when": {"contains": "summar"}, "text": SUMMARY},
        {"when": {"contains": "It is large"}, "text": "So it is."},
        {
            "reasoning": "This is not much.",
            "text": "There is nothing to see, neither in the hall nor in the yard.",
        },
        server={"delay_s": 0.002, "chunk": 24},
        faults=[dict(fault) for fault in faults],
    )


@tool(timeout_s=0.05)
async def nap() -> str:
    """Sleep."""
    await asyncio.sleep(30)
    return "slept"


async def look(room: str) -> str:
    """Look into a room.

    Args:
        room: Which.
    """
    await asyncio.sleep(0.02)
    return f"The {room} is empty."


@dataclass
class Run:
    """What was sent in a run, in order, and what a cancel handed back."""

    sent: list[tuple[str, QueueKind]] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    cancels: int = 0

    def of(self, kind: QueueKind) -> list[str]:
        return [name for name, each in self.sent if each == kind]


async def sending(session: Session, run: Run, first: int, does: str) -> None:
    """Follow the session from its beginning, and send something at each of this run's frames."""
    begun = (await session.history())[-1].seq
    await session.send("Look at the rooms.", id="first")
    async with stage.Shown(session, after=begun) as shown:
        for place in range(FRAMES):
            while shown.count <= place:
                if await is_over(session, shown):
                    return
            if place % APART != first:
                continue
            for kind in ("steer", "follow_up"):
                name = f"{kind}-{place}"
                run.sent.append((name, kind))
                await session.send(f"<{name}>", kind=kind, id=name)
            if does == "cancel" and place > APART:
                answer = await session.cancel()
                run.returned += [message.id for message in answer.returned]
                run.cancels += 1
            if does == "compact":
                await session.compact()


async def is_over(session: Session, shown: stage.Shown) -> bool:
    """Whether the session rests, and all that happened in it has been shown."""
    await asyncio.sleep(0.001)
    last = (await session.history())[-1].seq if session._is_idle else None
    return (
        last is not None
        and session._is_idle
        and bool(shown.events)
        and shown.events[-1].seq == last
    )


async def to_rest(session: Session) -> None:
    """Until nothing waits, whatever has failed meanwhile."""
    for _ in range(20):
        async with asyncio.timeout(60):
            if not (await session.wait(check=False)).is_paused:
                return
            await session.resume()
    raise AssertionError("the session waits again and again")


FAULTS = [
    {"kind": "status", "request": 2, "status": 529, "retry_after_s": 0.05},
    {"kind": "cut", "request": 4, "at": 300},
    {"kind": "status", "request": 6, "status": 401},
    {"kind": "hang", "request": 8, "at": 400, "seconds": 5},
]


@pytest.mark.parametrize("first", first_of(range(0, APART, 1 if THOROUGH else 6)))
@pytest.mark.parametrize("does", ["watch", "cancel", "keep", "compact", "faults"])
async def test_a_message_sent_at_any_point_is_delivered_once_or_handed_back(
    does: str, first: int, tmp_path: Path
) -> None:
    speaker = (stage.CLAUDE, stage.CHAT, stage.GEMINI)[first % 3]
    more: dict[str, dict[str, Any]] = {
        "keep": {"cancel_queue": "keep"},
        "faults": {"timeout": 0.7},
        "compact": {"window": 16_000},
    }
    with running(eventful(FAULTS if does == "faults" else ())) as server:
        agent = stage.agent_for(
            tmp_path / "s.db",
            tools=[look, nap],
            **more.get(does, {}),
            server=server,
        )
        run = Run()
        told = ["told-1", "told-2", "told-3", "told-4"] if does == "compact" else []
        async with agent.session("s", **speaker.settings()) as session:
            if does == "compact":
                for name in told:
                    await session.send(WORDY, id=name)
                    await session.wait(check=False)
            await sending(session, run, first, "cancel" if does == "keep" else does)
            await to_rest(session)
            # A cancel can end a call before its request is sent: all that was delivered is in the next one.
            await session.send("<last>", id="last")
            await to_rest(session)
            assert not await session.pending()
            events = await session.history()
        judge(run, events, server, does, told)
        if does == "compact":
            assert stage.of_kind(events, CompactionCommitted)


def judge(
    run: Run, events: list[Event], server: Server, does: str, told: list[str]
) -> None:
    how = stage.assert_queue(
        events, [*told, "first", *(name for name, _ in run.sent), "last"]
    )
    assert set(how.values()) <= (
        {"delivered", "returned"} if does == "cancel" else {"delivered"}
    )
    assert [name for name in how if how[name] == "returned"] == run.returned
    judge_order(run, events)
    judge_boundaries(events)
    if does != "compact":
        judge_separate(how, stage.generated(server)[-1])
    stage.assert_calls_closed(events)
    stage.assert_accepted(server, but=[2, 6] if does == "faults" else [])
    assert len(stage.of_kind(events, Cancelled)) == run.cancels


def judge_order(run: Run, events: Sequence[Event]) -> None:
    """Within each kind, messages are delivered in the order in which they were sent."""
    delivered = [
        event.message_id
        for event in stage.of_kind(events, QueueLeft)
        if event.how == "delivered"
    ]
    for kind in ("steer", "follow_up"):
        own = run.of(kind)
        assert [name for name in delivered if name in own] == [
            name for name in own if name in delivered
        ]


def judge_boundaries(events: Sequence[Event]) -> None:
    """Behind the whole batch of tools, between two model calls; a follow-up only where a turn begins."""
    loop = Loop()
    kinds = {event.message.id: event.kind for event in stage.of_kind(events, Queued)}
    for event in events:
        if isinstance(event, QueueLeft) and event.how == "delivered":
            assert not loop.open and not loop.call and not loop.compaction and loop.turn
            if kinds[event.message_id] == "follow_up":
                assert loop.steps == 0
        loop = apply(loop, event)


def judge_separate(how: Mapping[str, str], last: Exchange) -> None:
    """Each delivered message is a message of its own: no block of the request holds two."""
    texts = list(strings_in(last.body))
    for name, way in how.items():
        if name == "first":
            continue
        assert texts.count(f"<{name}>") == (way == "delivered")
        assert json.dumps(last.body).count(f"<{name}>") == (way == "delivered")


def strings_in(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for each in value.values() for text in strings_in(each)]
        case list():
            return [text for each in value for text in strings_in(each)]
    return []


# -- edit, withdraw, ids --


def gated() -> tuple[Any, list[bool], asyncio.Event]:
    begun: list[bool] = []
    gate = asyncio.Event()

    async def work() -> str:
        """Work."""
        begun.append(True)
        await gate.wait()
        return "worked"

    return work, begun, gate


def one_tool() -> Scenario:
    return stage.script(
        {
            "when": {"contains": "work", "after": "user"},
            "calls": [{"name": "work", "arguments": {}}],
        },
        {"text": "Well then."},
    )


async def tried(doing: Any) -> bool:
    try:
        await doing
    except CommandRefused:
        return False
    return True


@pytest.mark.parametrize("delay", range(24))
async def test_an_edit_and_a_withdrawal_that_race_delivery_are_refused_or_have_their_effect(
    delay: int, tmp_path: Path
) -> None:
    work, begun, gate = gated()
    with running(one_tool()) as server:
        agent = stage.agent_for(tmp_path / "s.db", tools=[work], server=server)
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            await session.send("Do the work.", id="first")
            await stage.until(lambda: begun)
            for name in ("a", "b", "c"):
                await session.send(f"<{name}>", id=name)

            async def later(doing: Any) -> bool:
                await asyncio.sleep(delay * 0.0004)
                return await tried(doing)

            gate.set()
            edited, withdrawn, both = await asyncio.gather(
                later(session.edit("a", "<edited a>")),
                later(session.withdraw("b")),
                asyncio.gather(
                    later(session.edit("c", "<edited c>")), later(session.withdraw("c"))
                ),
            )
            await session.wait()
            events = await session.history()
    how = stage.assert_queue(events, ["first", "a", "b", "c"])
    texts = {
        event.message.id: stage.text_of(event.message)
        for event in stage.of_kind(events, MessageAdded)
    }
    assert how["a"] == "delivered" and texts["a"] == ("<edited a>" if edited else "<a>")
    assert how["b"] == ("withdrawn" if withdrawn else "delivered")
    assert how["c"] == ("withdrawn" if both[1] else "delivered")
    if not both[1]:
        assert texts["c"] == ("<edited c>" if both[0] else "<c>")
    stage.assert_accepted(server)


async def test_an_id_is_queued_once_however_often_and_whenever_it_is_sent(
    tmp_path: Path,
) -> None:
    work, begun, gate = gated()
    with running(one_tool()) as server:
        agent = stage.agent_for(tmp_path / "s.db", tools=[work], server=server)
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            await session.send("Do the work.", id="first")
            await stage.until(lambda: begun)
            receipts = await asyncio.gather(
                *(session.send(f"Again {number}.", id="again") for number in range(8))
            )
            assert sorted(receipt.is_new for receipt in receipts) == [False] * 7 + [True]
            assert {receipt.position for receipt in receipts} == {1}
            assert [waiting.id for waiting in await session.pending()] == ["again"]
            gate.set()
            await session.wait()
            late = await session.send("Again.", id="again")
            assert (late.is_new, late.state, late.position) == (False, "delivered", 0)
            await session.wait()
            events = await session.history()
    stage.assert_queue(events, ["first", "again"])
    assert len(stage.of_kind(events, TurnEnded)) == 1


async def test_pending_lists_what_waits_in_the_order_of_delivery(tmp_path: Path) -> None:
    work, begun, gate = gated()
    with running(one_tool()) as server:
        agent = stage.agent_for(tmp_path / "s.db", tools=[work], server=server)
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            await session.send("Do the work.", id="first")
            await stage.until(lambda: begun)
            for name, kind in (
                ("a", "follow_up"),
                ("b", "steer"),
                ("c", "follow_up"),
                ("d", "steer"),
            ):
                await session.send(name, id=name, kind=kind)  # type: ignore[arg-type]
            waiting = await session.pending()
            gate.set()
            await session.wait()
            events = await session.history()
    left = [event.message_id for event in stage.of_kind(events, QueueLeft)]
    assert left == ["first", "b", "d", "a", "c"]
    assert [one.id for one in waiting] == left[1:] and [
        one.position for one in waiting
    ] == [1, 2, 3, 4]


@pytest.mark.parametrize("queue", ["return", "keep"])
async def test_a_cancel_hands_back_what_waits_or_keeps_it_for_the_next_turn(
    queue: str, tmp_path: Path
) -> None:
    work, begun, _ = gated()
    with running(one_tool()) as server:
        agent = stage.agent_for(
            tmp_path / "s.db", tools=[work], cancel_queue=queue, server=server
        )
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            await session.send("Do the work.", id="first")
            await stage.until(lambda: begun)
            await session.send("A steer.", id="a")
            await session.send("A follow-up.", id="b", kind="follow_up")
            answer = await session.cancel()
            await session.wait()
            events = await session.history()
    ways = stage.assert_queue(events, ["first", "a", "b"])
    assert ways == dict.fromkeys(
        ("a", "b"), "returned" if queue == "return" else "delivered"
    ) | {"first": "delivered"}
    assert [stage.text_of(message) for message in answer.returned] == (
        ["A steer.", "A follow-up."] if queue == "return" else []
    )
    assert [event.reason for event in stage.of_kind(events, TurnEnded)] == [
        "cancelled"
    ] + ["finished"] * (2 if queue == "keep" else 0)


class FakeLateSender(SqliteStore):
    """A store in which something is sent right before a cancel, by another process."""

    async def command(self, session: str, events: Sequence[Event]) -> tuple[Event, ...]:
        if isinstance(events[0], CancelAsked):
            await self.send(session, said("late"), "steer")
            await edit(self, session, said("early", "<edited>"))
        return await super().command(session, events)


def said(name: str, text: str = "") -> Message:
    return Message(
        id=name,
        role="user",
        parts=(TextPart(id=f"{name}.text", text=text or f"<{name}>"),),
    )


async def test_a_cancel_hands_back_what_was_sent_and_edited_until_it_was_stored(
    tmp_path: Path,
) -> None:
    work, begun, _ = gated()
    path = tmp_path / "s.db"
    with running(one_tool()) as server:
        driver = stage.agent_for(path, tools=[work], server=server)
        async with driver.session("s", **stage.CLAUDE.settings()) as session:
            await session.send("Do the work.", id="first")
            await stage.until(lambda: begun)
            await session.send("<early>", id="early")
            store = FakeLateSender(path)
            async with stage.agent_for(store, server=server).session(
                "s", resume=False
            ) as other:
                answer = await other.cancel()
            await store.close()
            await session.wait()
    assert [stage.text_of(message) for message in answer.returned] == [
        "<edited>",
        "<late>",
    ]


async def test_a_message_for_a_session_that_nobody_drives_waits_for_whoever_opens_it(
    tmp_path: Path,
) -> None:
    with running(one_tool()) as server:
        store = tmp_path / "s.db"
        async with stage.agent_for(store, server=server).session(
            "s", resume=False, **stage.CLAUDE.settings()
        ) as session:
            shared = await session._look()
            await shared.ledger.store.send(
                "s", await session._message("Hello.", id="mine"), "steer"
            )
        async with stage.agent_for(store, server=server).session("s") as session:
            assert (await session.wait()).text == "Well then."
            stage.assert_queue(await session.history(), ["mine"])


@pytest.mark.parametrize(
    "speaker",
    [pytest.param(one, id=one.name) for one in (stage.CLAUDE, stage.CHAT, stage.GEMINI)],
)
async def test_messages_sent_together_are_delivered_together_and_stay_apart(
    speaker: stage.Speaker, tmp_path: Path
) -> None:
    work, begun, gate = gated()
    names = [f"m{number}" for number in range(30)]
    with running(one_tool()) as server:
        agent = stage.agent_for(tmp_path / "s.db", tools=[work], server=server)
        async with agent.session("s", **speaker.settings()) as session:
            await session.send("Do the work.", id="first")
            await stage.until(lambda: begun)
            for name in names:
                await session.send(f"<{name}>", id=name)
            gate.set()
            await session.wait()
            events = await session.history()
        how = stage.assert_queue(events, ["first", *names])
        assert [event.message_id for event in stage.of_kind(events, QueueLeft)] == [
            "first",
            *names,
        ]
        judge_separate(how, stage.generated(server)[-1])
        assert len(stage.generated(server)) == 2
