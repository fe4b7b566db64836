import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.postgres import database
from tests.store.sessions import said
from tests.store.test_retention import full
from tests.tiers import examples
from tests.types.strategies import EVENT_TYPES, words
from ullage.encoding import decode_event, encode
from ullage.errors import CommandRefused
from ullage.events import (
    CancelAsked,
    DraftPiece,
    Event,
    MessageAdded,
    QueueEdited,
    QueueLeft,
    RowDamaged,
    TurnStarted,
)
from ullage.store.copying import copy_quotas, copy_store
from ullage.store.places import store_at
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Store
from ullage.store.tenants import TenantStore
from ullage_agent.loop.quotas import Quota, SpentBy
from ullage_agent.runtime.quotas import Quotas, all_quotas, change_quota


async def outcomes(source: Store, target: Store) -> dict[str, str]:
    return {each.session: each.outcome async for each in copy_store(source, target)}


async def held_by(store: Store) -> list[tuple[Any, ...]]:
    """All that a store holds, as the protocol gives it, but for numbers of its own and for checkpoints."""
    held: list[tuple[Any, ...]] = []
    for row in await store.sessions(limit=1_000):
        events = await store.read(row.id)
        kept = {
            each: await store.kept(row.id, each) for each in await store.handles(row.id)
        }
        draft, pending = await store.read_draft(row.id), await store.pending(row.id)
        held.append(
            (
                row._replace(key=0, drivers=0, due_at=None),
                row.is_due,
                events,
                draft,
                pending,
                [await store.receipt(row.id, each) for each in SENT[row.id]],
                kept,
            )
        )
    return held


SENT: dict[str, list[str]] = {}
"""The messages that were sent to each session."""


async def test_all_sessions_are_copied_once_and_a_second_copy_only_checks(
    sqlite_store: SqliteStore, other_place: str
) -> None:
    handle = await full(sqlite_store, "a")
    await sqlite_store.fork("a", "b", through=2)
    await sqlite_store.create("empty")
    target = store_at(other_place)
    assert set((await outcomes(sqlite_store, target)).values()) == {"copied"}
    assert set((await outcomes(sqlite_store, target)).values()) == {"there before"}
    assert await target.read("a") == await sqlite_store.read("a")
    assert await target.kept("b", handle) == b"kept by all"
    assert [each[1] for each in await target.pending("a")] == [said("m")]
    here, there = await sqlite_store.about("b"), await target.about("b")
    assert (here.title, here.origin, here.seq) == (there.title, there.origin, there.seq)
    await target.close()


async def test_driven_and_changed_sessions_are_left_and_named(
    sqlite_store: SqliteStore, other_place: str
) -> None:
    for name in ("driven", "changed", "quiet"):
        await sqlite_store.create(name, [MessageAdded(message=said("1"))])
    await sqlite_store.acquire("driven", "somebody", ttl_s=60)
    target = store_at(other_place)
    await target.create("changed", [MessageAdded(message=said("2"))])
    assert await outcomes(sqlite_store, target) == {
        "driven": "driven",
        "changed": "differs",
        "quiet": "copied",
    }
    await target.close()


async def test_a_copied_session_waits_for_a_driver_as_its_source_does(
    sqlite_store: SqliteStore, other_place: str
) -> None:
    for name in ("waits", "rests", "begun"):
        await sqlite_store.create(name)
    await sqlite_store.send("waits", said("m"), "steer")
    await sqlite_store.command("rests", [CancelAsked()])
    lease = await sqlite_store.acquire("rests", "o", ttl_s=60)
    await sqlite_store.release(lease, rests_at=1)
    target = store_at(other_place)
    await outcomes(sqlite_store, target)
    due = {row.id: row.is_due for row in await target.sessions()}
    assert due == {"waits": True, "rests": False, "begun": False}
    while not (found := await target.unattended(10)):
        await asyncio.sleep(0.01)
    assert [each.id for each in found] == ["waits"]
    await target.close()


async def test_a_copied_session_stays_at_its_place(
    sqlite_store: SqliteStore, other_place: str
) -> None:
    await sqlite_store.create("s", place="cellar")
    target = store_at(other_place)
    await outcomes(sqlite_store, target)
    assert (await target.about("s")).place == "cellar"
    await target.close()


async def test_an_id_that_is_taken_is_not_copied_over(store: Store) -> None:
    await store.create("s", [MessageAdded(message=said("1"))])
    row = await store.about("s")
    with pytest.raises(CommandRefused, match="Choose another id"):
        await store.create_copy(row, [])
    assert len(await store.read("s")) == 1


Step = tuple[str, int, int]


async def take(store: Store, step: Step, event: Event) -> None:
    """One thing that happens to a session; what the store refuses has not happened."""
    what, number, of = step
    session, message = f"s{of}", said(f"m{number}", f"text {number}")
    match what:
        case "command":
            await store.command(session, [event])
        case "send":
            await store.send(session, message, "follow_up" if number % 2 else "steer")
            SENT[session].append(message.id)
        case "edit":
            await store.command(session, [QueueEdited(message=message)])
        case "leave":
            left = QueueLeft(message_id=message.id, how="delivered")
            await store.command(session, [left])
        case "keep":
            await store.keep(session, bytes([number]) * number)
        case "fork":
            last = (await store.about(session)).seq
            await store.fork(session, f"s{number}", through=min(of, last))
            SENT[f"s{number}"] = list(SENT[session])
        case "draft":
            lease = await store.acquire(session, "o", ttl_s=60)
            had = await store.read_draft(session, call=f"c{number}")
            first = DraftPiece(f"c{number}", len(had), "text", "p", f"\0 {number}")
            second = first._replace(offset=len(had) + 1, kind="done")
            try:
                await store.draft(lease, [first, second])
            finally:
                await store.release(lease)
        case _:
            lease = await store.acquire(session, "o", ttl_s=60)
            last = (await store.about(session)).seq
            try:
                await store.append(lease, [event], after=last)
            finally:
                await store.release(lease, rests_at=last + 1)


@pytest.fixture(scope="module", autouse=True)
def postgres() -> Iterator[None]:
    """PostgreSQL runs before the event loop of a test, inside of which it can't be started."""
    with database():
        yield


WHAT = ("command", "send", "edit", "leave", "keep", "fork", "draft", "append")


def without_nul(event: Event) -> Event:
    """The event as both databases can hold it: PostgreSQL's texts have no NUL."""
    return decode_event(encode(event).replace(b"\\u0000", b"\\u0001"))


STEPS = st.lists(
    st.tuples(st.sampled_from(WHAT), st.integers(0, 5), st.integers(0, 2)), max_size=20
)

WRITTEN = [words(kind) for kind in EVENT_TYPES if kind is not RowDamaged]
EVENTS = st.lists(st.one_of(WRITTEN).map(without_nul), min_size=20, max_size=20)


@settings(max_examples=examples(40), deadline=None)
@given(steps=STEPS, events=EVENTS)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_everything_that_a_store_holds_is_in_its_copy(
    kind: str, steps: list[Step], events: list[Event]
) -> None:
    SENT.clear()
    with TemporaryDirectory() as folder, new_place(kind, Path(folder)) as place:
        source = SqliteStore(Path(folder) / "s.db")
        for name in ("s0", "s1", "s2"):
            SENT[name] = []
            await source.create(name, [TurnStarted(turn=name)])
        for step, event in zip(steps, events, strict=False):
            with suppress(CommandRefused):
                await take(source, step, event)
        target = store_at(place)
        assert set((await outcomes(source, target)).values()) == {"copied"}
        assert await held_by(target) == await held_by(source)
        await source.close()
        await target.close()


@contextmanager
def new_place(kind: str, folder: Path) -> Iterator[str]:
    """The place of an empty store."""
    if kind == "sqlite":
        yield str(folder / "copy.db")
        return
    with database() as url:
        yield url


async def test_a_session_that_the_database_can_not_hold_is_left_and_named(
    sqlite_store: SqliteStore, database_url: str
) -> None:
    await sqlite_store.create("odd", [TurnStarted(id="nul \0", turn="t")])
    await sqlite_store.create("usual", [TurnStarted(turn="t")])
    target = store_at(database_url)
    assert await outcomes(sqlite_store, target) == {"odd": "refused", "usual": "copied"}
    assert [row.id for row in await target.sessions()] == ["usual"]
    await target.close()


async def test_quotas_are_copied_with_what_was_used_and_replace_none(
    sqlite_store: SqliteStore, other_place: str
) -> None:
    for tenant in ("acme", "other"):
        await change_quota(sqlite_store, tenant, lambda quota: Quota(tokens=1_000))
    await sqlite_store.create("acme:s", tenant="acme")
    acme = Quotas(TenantStore(sqlite_store, "acme"))
    for tokens in (100, 300):
        await acme.count("acme:s", SpentBy(tokens=tokens))
    target = store_at(other_place)
    await change_quota(target, "other", lambda quota: Quota(tokens=5))
    assert await copy_quotas(sqlite_store, target) == 2
    assert await copy_quotas(sqlite_store, target) == 2
    await outcomes(sqlite_store, target)
    found = await all_quotas(target)
    assert found["acme"] == (await all_quotas(sqlite_store))["acme"]
    assert found["other"].quota.tokens == 5
    there = Quotas(TenantStore(target, "acme"))
    counted = await there.count("acme:s", SpentBy(tokens=350))
    assert counted is not None and counted.used.tokens == 250
    await target.close()
