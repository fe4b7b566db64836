"""A row that can't be read is named and left as it is, and the session goes on; and none is written that can't be."""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from tests.promises.stage import assert_accepted, script
from ullage.errors import CommandRefused, InputError, UllageError, WrongType
from ullage.events import Event, MessageAdded, RowDamaged, SettingsChanged
from ullage.messages import Message, TextPart
from ullage.store.export import export_file, import_file
from ullage.store.forking import fork
from ullage.store.sqlite.store import SqliteStore
from ullage.store.waiting import withdraw
from ullage_agent.runtime.agent import Agent
from ullage_agent.tools.functions import tool
from ullage_simulators import Scenario, running
from ullage_simulators.server import Server


@tool
def look(room: str) -> str:
    """Look into a room.

    Args:
        room: Which one.
    """
    return f"The {room} is empty."


def two_steps() -> Scenario:
    calls = [{"name": "look", "arguments": {"room": room}} for room in ("hall", "yard")]
    return script(
        {"when": {"contains": "please", "after": "user"}, "calls": calls},
        {"text": "It is empty."},
    )


def agent_of(store: Path, server: Server) -> Agent:
    return Agent(
        "anthropic:claude-sonnet-4-6",
        tools=[look],
        store=store,
        base_url=server.url("anthropic"),
        environment={"ANTHROPIC_API_KEY": "x"},
        config=False,
    )


async def recorded(store: Path, server: Server) -> list[Event]:
    async with agent_of(store, server).session("s") as session:
        await session.ask("Look, please.")
        await session.set(trigger=0.5)
        await session.ask("And again, please.")
        await session.pin((await session.messages())[0].id)
        await session.wait()
        return await session.history()


def wrong_type(body: bytes) -> object:
    return 5


def cut(body: bytes) -> object:
    return body[: len(body) // 2]


def no_text(body: bytes) -> object:
    return body[:-3] + b"\xff\xfe" + body[-3:]


def huge(body: bytes) -> object:
    return zlib.compress(b" " * (300 * 1024 * 1024), 1)


def other_json(body: bytes) -> object:
    return b'{"type":"message_added","message":5}'


def copied(path: Path, to: Path) -> None:
    with (
        closing(sqlite3.connect(path)) as database,
        closing(sqlite3.connect(to)) as other,
    ):
        database.backup(other)


def body_of(path: Path, seq: int) -> object:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            "SELECT body FROM events WHERE seq = ?", (seq,)
        ).fetchone()[0]


def damage(path: Path, seq: int, how: Callable[[bytes], object]) -> None:
    database = sqlite3.connect(path)
    (body,) = database.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()
    database.execute("UPDATE events SET body = ? WHERE seq = ?", (how(body), seq))
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "how", [wrong_type, cut, no_text, other_json], ids=lambda one: one.__name__
)
async def test_whichever_row_is_damaged_the_session_opens_names_it_and_answers(
    how: Callable[[bytes], object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(two_steps()) as server:
        events = await recorded(tmp_path / "whole.db", server)
        for event in events:
            path = tmp_path / f"{event.seq}.db"
            copied(tmp_path / "whole.db", path)
            damage(path, event.seq, how)
            before = body_of(path, event.seq)
            caplog.clear()
            async with agent_of(path, server).session("s", resume=False) as session:
                read = (await session.history())[: len(events)]
                assert [one.seq for one in read] == [one.seq for one in events]
                named = [one for one in read if isinstance(one, RowDamaged)]
                expected = [] if type(event).__name__ == "QueueLeft" else [event.seq]
                assert [one.seq for one in named] == expected
                assert all(one.why for one in named)
                given = (await session._look()).ledger.loop.damaged
                assert given == tuple(one.seq for one in named)
                told = f"can't be read and are left out: {event.seq}." in caplog.text
                assert told == bool(named)
                result = await session.ask("Once more, please.")
                assert (result.reason, result.text) == ("finished", "It is empty."), event
            assert body_of(path, event.seq) == before, "nothing is overwritten"
        assert_accepted(server)


async def test_a_row_that_unpacks_to_too_much_is_damaged_too(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("s", [SettingsChanged(settings={"trigger": 0.5})])
    damage(tmp_path / "s.db", 1, huge)
    (event,) = await store.read("s")
    assert isinstance(event, RowDamaged) and "more than" in event.why
    await store.close()


async def test_the_rest_of_the_store_stays_usable_and_a_damaged_session_can_be_carried_out(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "s.db")
    message = Message(id="m", role="user", parts=(TextPart(id="m.0", text="Hello."),))
    for name in ("s", "other"):
        await store.create(name, [SettingsChanged(settings={"trigger": 0.5})])
    receipt = await store.send("s", message, "steer")
    damage(tmp_path / "s.db", 2, cut)
    database = sqlite3.connect(tmp_path / "s.db")
    database.execute("UPDATE sessions SET title = CAST(x'fffe41' AS TEXT) WHERE id = 's'")
    database.commit()
    assert {row.id for row in await store.sessions()} == {"s", "other"}
    assert await store.pending("s") == []
    with pytest.raises(CommandRefused, match="damaged"):
        await withdraw(store, "s", receipt.id)
    await store.send("other", message, "steer")
    await export_file(store, "s", tmp_path / "s.jsonl")
    assert (await import_file(store, tmp_path / "s.jsonl", "again")).skipped == ()
    assert [type(event).__name__ for event in await store.read("again")][:2] == [
        "SettingsChanged",
        "RowDamaged",
    ]
    await fork(store, "s", "copy", through=2)
    assert isinstance((await store.read("copy"))[1], RowDamaged)
    await store.close()


async def test_a_wrong_argument_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    with running(two_steps()) as server:
        async with agent_of(tmp_path / "s.db", server).session("s") as session:
            await session.wait()
            before = await session.history()
            for wrong in (5, {"text": "a dict"}, ["a", "list"], None, object()):
                with pytest.raises(WrongType, match="str") as raised:
                    await session.ask(cast(Any, wrong))
                assert isinstance(raised.value, TypeError)
            for nothing in ((), ("",), (" \n", "")):
                with pytest.raises(InputError, match="empty"):
                    await session.ask(*nothing)
            with pytest.raises(WrongType, match="steer"):
                await session.send("Hello.", kind=cast(Any, "later"))
            with pytest.raises(WrongType):
                await session.send("Hello.", id=cast(Any, 5))
            for part in (
                TextPart(id="p", text=cast(Any, 5)),
                TextPart(id=cast(Any, None), text="x"),
            ):
                with pytest.raises(UllageError):
                    await session.send(part)
            with pytest.raises(UllageError):
                await session.pin(cast(Any, 5))
            with pytest.raises(UllageError):
                await session.rewind(cast(Any, ["x"]))
            with pytest.raises(UllageError):
                await session.compact(cast(Any, {"a": 1}))
            with pytest.raises(UllageError):
                await session.edit("nothing", cast(Any, 5))
            assert await session.history() == before
            assert (await session.ask("Look, please.")).reason == "finished"


BYTES = TextPart(id="p", text=cast(Any, b"bytes"))


@pytest.mark.parametrize(
    "parts", [(5,), ({"text": "a dict"},), (BYTES,)], ids=["number", "dict", "bytes"]
)
async def test_the_store_writes_nothing_unreadable(parts: Any, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("s", [SettingsChanged(settings={})])
    message = Message(id="m", role="user", parts=parts)
    deep: dict[str, object] = {}
    for _ in range(
        1_000_000
    ):  # more than fits on a stack: Python 3.14 has no other limit
        deep = {"a": deep}
    with pytest.raises(WrongType):
        await store.send("s", message, "steer")
    with pytest.raises(WrongType):
        await store.command("s", [MessageAdded(message=message)])
    with pytest.raises(WrongType):
        await store.create("t", [MessageAdded(message=message)])
    with pytest.raises(WrongType):
        await store.command("s", [SettingsChanged(settings=deep)])
    with pytest.raises(WrongType):
        await store.command("s", [SettingsChanged(settings={"text": "half \ud83d"})])
    assert len(await store.read("s")) == 1
    assert [row.id for row in await store.sessions()] == ["s"]
    await asyncio.sleep(0)
    await store.close()
