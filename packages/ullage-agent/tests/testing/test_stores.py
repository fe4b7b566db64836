"""``check_store`` finds nothing in a good store, and names in words what is wrong with a bad one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from ullage.errors import WrongType
from ullage.events import MessageAdded
from ullage.store.adapter import StoreAdapter
from ullage.store.memory import MemoryStore
from ullage.store.protocol import Store
from ullage_agent.runtime.agent import Agent
from ullage_agent.testing.models import FunctionModel
from ullage_agent.testing.stores import CHECKS, check_store


class OverMemory(Store):
    """A store that gives everything to one in memory: each fault is a change of this."""

    def __init__(self, memory: MemoryStore) -> None:
        self.memory = memory

    async def read_values(
        self, session: str, names: Sequence[str]
    ) -> tuple[int, Mapping[str, bytes]]:
        return await self.memory.read_values(session, names)

    async def read_rows(self, session: str, *, after: int, limit: int) -> Sequence[bytes]:
        return await self.memory.read_rows(session, after=after, limit=limit)

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        return await self.memory.write(session, version, rows, values)

    async def delete(self, session: str, version: int) -> bool:
        return await self.memory.delete(session, version)

    async def sessions(self, *, after: str, limit: int) -> Sequence[tuple[str, bytes]]:
        return await self.memory.sessions(after=after, limit=limit)


class LosesUpdates(OverMemory):
    """Looks at the version and writes afterwards, and others write in between."""

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        found, _ = await self.memory.read_values(session, ())
        if found != version:
            return False
        await asyncio.sleep(0)
        found, _ = await self.memory.read_values(session, ())
        return await self.memory.write(session, found, rows, values)


class TakesOldVersions(OverMemory):
    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        found, _ = await self.memory.read_values(session, ())
        return await self.memory.write(session, max(found, version), rows, values)


class Reorders(OverMemory):
    async def read_rows(self, session: str, *, after: int, limit: int) -> Sequence[bytes]:
        rows = sorted(await self.memory.read_rows(session, after=0, limit=10_000))
        return rows[after : after + limit]


class DropsLastRow(OverMemory):
    """Holds the last row back until the next write: it is gone with its process."""

    def __init__(self, memory: MemoryStore) -> None:
        super().__init__(memory)
        self.held: dict[str, list[bytes]] = {}

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        held = self.held.get(session, [])
        now = [*held, *rows[:-1]]
        is_written = await self.memory.write(session, version, now, values)
        if is_written:
            self.held[session] = list(rows[-1:])
        return is_written

    async def read_rows(self, session: str, *, after: int, limit: int) -> Sequence[bytes]:
        rows = await self.memory.read_rows(session, after=0, limit=10_000)
        return [*rows, *self.held.get(session, [])][after : after + limit]


class NeverWakes(OverMemory):
    async def wait(self, session: str, version: int, timeout_s: float) -> None:
        await asyncio.sleep(timeout_s)


class SpinsWaiting(OverMemory):
    async def wait(self, session: str, version: int, timeout_s: float) -> None:
        await asyncio.sleep(0)


class KeepsWaiting(OverMemory):
    """Its wait goes on when it is cancelled, once."""

    async def wait(self, session: str, version: int, timeout_s: float) -> None:
        try:
            await super().wait(session, version, timeout_s)
        except asyncio.CancelledError:
            await super().wait(session, version, timeout_s)


class TornWrites(OverMemory):
    """Writes the rows first, and the values a moment later."""

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        if not await self.memory.write(session, version, rows, {}):
            return False
        await asyncio.sleep(0)
        self.memory._sessions[session].values.update(
            {name: value for name, value in values.items() if value is not None}
        )
        return True


class KnowsText(OverMemory):
    """Keeps rows as text."""

    async def read_rows(self, session: str, *, after: int, limit: int) -> Sequence[bytes]:
        rows = await self.memory.read_rows(session, after=after, limit=limit)
        return [row.decode("utf-8", "replace").encode() for row in rows]


class IgnoresCase(OverMemory):
    async def read_values(
        self, session: str, names: Sequence[str]
    ) -> tuple[int, Mapping[str, bytes]]:
        return await self.memory.read_values(session.lower(), names)

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        return await self.memory.write(session.lower(), version, rows, values)


class LeavesRows(OverMemory):
    """Deletes the values of a session and keeps its rows."""

    async def delete(self, session: str, version: int) -> bool:
        rows = await self.memory.read_rows(session, after=0, limit=10_000)
        is_deleted = await self.memory.delete(session, version)
        self.left = {**getattr(self, "left", {}), session: rows}
        return is_deleted

    async def read_rows(self, session: str, *, after: int, limit: int) -> Sequence[bytes]:
        rows = await self.memory.read_rows(session, after=0, limit=10_000)
        left = getattr(self, "left", {}).get(session, [])
        return [*left, *rows][after : after + limit]


class CutsPages(OverMemory):
    """A page lacks its last session."""

    async def sessions(self, *, after: str, limit: int) -> Sequence[tuple[str, bytes]]:
        page = await self.memory.sessions(after=after, limit=limit + 1)
        return page[:limit] if len(page) <= limit else [*page[: limit - 1], page[limit]]


FAULTS: Mapping[type[OverMemory], tuple[str, ...]] = {
    LosesUpdates: ("a lost update",),
    TakesOldVersions: ("a write with version 0 was accepted at version 3",),
    Reorders: ("the order of the rows has changed",),
    DropsLastRow: ("the last row or value is missing: 0 of 1 rows",),
    NeverWakes: ("a write of the same store does not end a wait within 5 s",),
    SpinsWaiting: ("waits for nothing returned",),
    KeepsWaiting: ("a wait that was cancelled did not end",),
    TornWrites: ("a lost update",),
    KnowsText: ("came back as another one",),
    IgnoresCase: ("is taken for that of another session",),
    LeavesRows: ("its rows are still there",),
    CutsPages: ("these sessions are on no page",),
}
"""Wrong stores, and what is said of each."""


async def test_a_store_in_memory_keeps_all_promises() -> None:
    memory = MemoryStore()
    await check_store(lambda: memory)
    assert not memory._sessions, "the checks delete what they have written"


async def test_the_polling_that_a_store_inherits_is_enough() -> None:
    memory = MemoryStore()
    await check_store(lambda: OverMemory(memory))


async def test_two_agents_that_are_asked_in_one_session_at_once_both_get_their_answer() -> (
    None
):
    store = OverMemory(MemoryStore())
    model = FunctionModel(lambda request: f"Heard: {request.messages[-1].text}")
    agents = [Agent(model, store=store) for _ in range(2)]
    results = await asyncio.gather(
        *(
            agent.ask(f"Question {number}.", session="s")
            for number, agent in enumerate(agents)
        )
    )
    assert all(result.text.startswith("Heard") for result in results)
    events = await StoreAdapter(store).read("s")
    added = [each.message.text for each in events if isinstance(each, MessageAdded)]
    assert [text for text in sorted(added) if text.startswith("Question")] == [
        "Question 0.",
        "Question 1.",
    ]


async def test_stores_that_are_not_of_one_database_are_told_so() -> None:
    with pytest.raises(AssertionError, match="give the same object"):
        await check_store(MemoryStore)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
async def test_each_fault_is_named(fault: Callable[[MemoryStore], Store]) -> None:
    memory = MemoryStore()
    with pytest.raises(AssertionError) as told:
        await check_store(lambda: fault(memory))
    for words in FAULTS[fault]:  # type: ignore[index]
        assert words in str(told.value)


def test_each_check_says_what_must_hold() -> None:
    for check in CHECKS:
        assert check.__doc__ and check.__doc__.strip().endswith(".")


async def test_a_store_in_the_place_of_a_function_is_answered_with_what_to_write() -> (
    None
):
    with pytest.raises(WrongType, match=r"check_store\(lambda: store\)"):
        await check_store(MemoryStore())  # type: ignore[arg-type]
