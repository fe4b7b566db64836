"""What a process of the sweeps does: an agent with three tools converses in a session, until it rests or dies."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.sweeps.mortal import CountingLoop, Switch, cramp, mortal
from tests.sweeps.orders import SESSION, Order, Piece, Report, Shown
from ullage.encoding import encode
from ullage.errors import SessionNotFound, StoreError, UllageError
from ullage.events import (
    CallStarted,
    DraftPiece,
    MessageAdded,
    QueueLeft,
    ToolStarted,
    TurnEnded,
)
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import SessionStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.session import Session
from ullage_agent.tools.functions import tool
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.shell import shell
from ullage_agent.tools.tool import AgentTool, Output, ToolContext

DEADLY: Final = "deadly"
"""A file of this name in a session's directory makes its shell command kill the process that runs it."""

LOOK_S: Final = 0.02
COUNT_S: Final = 0.03
LINGER_S: Final = 0.2

KEYS: Final = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"), "sweep"
)


def tools_of(directory: Path, switch: Switch) -> tuple[AgentTool, ...]:
    """Tools that write down what they did, and points at which the process can die inside of them."""

    def did(what: str) -> None:
        with (directory / "effects").open("a") as effects:
            effects.write(f"{what}\n")

    @tool(idempotent=True)
    async def look(what: str, session: ToolContext) -> str:
        """Look at something.

        Args:
            what: At what.
        """
        switch.reach("tool look begins")
        did(f"look {session.call_id} {what}")
        await asyncio.sleep(LOOK_S)
        switch.reach("tool look ends")
        return f"{what} is there"

    @tool
    def count(what: str, session: ToolContext) -> str:
        """Count something.

        Args:
            what: What.
        """
        switch.reach("tool count begins")
        time.sleep(COUNT_S / 2)
        did(f"count {session.call_id} {what}")
        switch.reach("tool count did")
        time.sleep(COUNT_S / 2)
        switch.reach("tool count ends")
        return f"there are 7 {what}"

    @tool
    async def linger(session: ToolContext) -> str:
        """Do something that takes its time."""
        did(f"linger {session.call_id}")
        await asyncio.sleep(LINGER_S)
        switch.reach("tool linger lasts")
        await asyncio.sleep(LINGER_S)
        return "that took its time"

    @tool
    async def press(what: str, session: ToolContext) -> Output:
        """Press something.

        Args:
            what: What.
        """
        switch.reach("tool press begins")
        command = (
            f'echo "press {session.call_id} {what}" >> effects; if [ -e {DEADLY} ]; then kill -9 {os.getpid()}; fi; '
            f'sleep 0.01; echo "{what} is pressed"'
        )
        output = await shell(directory, command, 30.0, sandbox=Sandbox(mode="off"))
        switch.reach("tool press ends")
        return output

    return (look, count, press, linger)


def agent_of(order: Order, store: SessionStore, tools: tuple[AgentTool, ...]) -> Agent:
    more: dict[str, Any] = {"root": Path(order.directory), "wire": order.wire or None}
    return Agent(
        order.model,
        tools=tools,
        system="You look after a cask.",
        store=store,
        environment=KEYS,
        config=False,
        base_url=order.url,
        **{**more, **order.settings},
    )


def converse(order: Order) -> None:
    """Open the session, say what is to be said, and wait until it rests. Whoever is asked to allow a call does so if
    the order says ``approved``, with its ``note``, and otherwise leaves it waiting."""
    if order.more.get("as_nobody") and os.getuid() == 0:
        os.setuid(65_534)  # whom modes mean something to
    switch = Switch(order)
    with asyncio.Runner(loop_factory=lambda: CountingLoop(switch)) as runner:
        report = runner.run(_converse(order, switch))
    order.file("report").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(report, counts=dict(switch.counts)))
    )


async def _converse(order: Order, switch: Switch) -> Report:
    report = Report() if order.more.get("looks_not") else await found(order)
    store = mortal(SqliteStore(order.database), switch)
    agent = agent_of(order, store, tools_of(Path(order.directory), switch))
    try:
        async with agent.session(SESSION) as session:
            try:
                result = await _say(order, session, switch)
            except StoreError as problem:
                if order.kill.does != "cramp":
                    raise
                report = with_problem(await found(order), problem)
                cramp(None)
                result = await _say(order, session, switch)
    except UllageError as problem:
        return with_problem(report, problem)
    finally:
        await store.close()
    return with_result(report, result)


async def _say(order: Order, session: Session, switch: Switch) -> Result:
    display = Display(order, switch)
    showing = asyncio.create_task(display.show(session))
    try:
        for said in order.said:
            await display.until(said.when)
            receipt = await session.send(said.text, kind=said.kind, id=said.id)
            display.write(Shown(receipt=receipt.id))
        result = await session.wait(check=False)
        while result.is_paused and "approved" in order.more:
            await _answer(order, session)
            result = await session.wait(check=False)
        switch.reach("paused" if result.is_paused else "finished")
        await display.until_seq(len(await session.history()))
        return result
    finally:
        showing.cancel()
        await asyncio.wait([showing])


async def _answer(order: Order, session: Session) -> None:
    for call in (await session._look()).ledger.loop.open:
        if call.state == "asked":
            await session.approve(
                call.call_id,
                bool(order.more["approved"]),
                str(order.more.get("note", "")),
            )


class Display:
    """Shows a session as a terminal would, into a file, and knows how far it has come."""

    def __init__(self, order: Order, switch: Switch) -> None:
        self._switch = switch
        self._file = os.open(
            order.file("shown"), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600
        )
        self._seen: set[str] = set()
        self._seq = 0
        self._news = asyncio.Condition()

    def write(self, shown: Shown) -> None:
        os.write(self._file, msgspec.json.encode(shown) + b"\n")

    async def show(self, session: Session) -> None:
        async for event in session.events(after=0):
            if isinstance(event, DraftPiece):
                self.write(
                    Shown(
                        piece=Piece(
                            event.call, event.offset, event.kind, event.part, event.text
                        )
                    )
                )
                self._seen.add(f"{event.kind} streams")
                self._switch.reach(f"shown {event.kind}")
            else:
                self.write(Shown(seq=event.seq, tag=type(event).__name__))
                self._seq = event.seq
                self._seen.add(MOMENTS.get(type(event), ""))
            async with self._news:
                self._news.notify_all()

    async def until(self, moment: str) -> None:
        """Wait for the moment, or for the end of a turn: then it has passed."""
        async with self._news:
            await self._news.wait_for(
                lambda: not moment or {moment, "turn ended"} & self._seen
            )

    async def until_seq(self, seq: int) -> None:
        """Wait until everything up to this event is shown."""
        async with self._news:
            await self._news.wait_for(lambda: self._seq >= seq)


MOMENTS: Final[Mapping[type, str]] = {
    QueueLeft: "delivered",
    CallStarted: "call started",
    MessageAdded: "message added",
    ToolStarted: "tool started",
    TurnEnded: "turn ended",
}


async def found(order: Order) -> Report:
    """What the store holds before this process changes anything."""
    if not order.database.exists():
        return Report()
    store = SqliteStore(order.database)
    try:
        events = await store.read(SESSION)
        pieces = await store.read_draft(SESSION)
    except SessionNotFound:
        return Report()
    finally:
        await store.close()
    drafts = tuple(
        Piece(piece.call, piece.offset, piece.kind, piece.part, piece.text)
        for piece in pieces
    )
    return Report(before=tuple(encode(event).decode() for event in events), drafts=drafts)


def with_problem(report: Report, problem: UllageError) -> Report:
    """The report with what the process was told."""
    return msgspec.structs.replace(
        report, error=str(problem), error_kind=type(problem).__name__
    )


def with_result(report: Report, result: Result) -> Report:
    """The report with how the session came to rest."""
    return msgspec.structs.replace(
        report,
        reason=result.reason,
        note=result.note,
        text=result.text,
        is_paused=result.is_paused,
    )


def race(order: Order) -> None:
    """In each of many rounds, open the session at the same moment as another process does, and say something.

    In every second round both say the same under the same id.
    """
    asyncio.run(_race(order))


async def _race(order: Order) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(str(order.more["port"]))
    )
    store = SqliteStore(order.database)
    agent = agent_of(order, store, tools_of(Path(order.directory), Switch(order)))
    try:
        for number in range(int(str(order.more["rounds"]))):
            writer.write(b".")
            await reader.readexactly(1)
            said = f"{number}-both" if number % 2 else f"{number}-{order.name}"
            async with agent.session(SESSION) as session:
                await session.send(f"Round {said}: please count.", id=said)
                result = await session.wait(check=False)
                assert result.reason == "finished", result
    finally:
        writer.close()
        await store.close()


LIVES: Final[dict[str, Callable[[Order], None]]] = {"converse": converse, "race": race}
