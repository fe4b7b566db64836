"""A tenant's view of a store shows its own sessions and no trace of others."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

import pytest

from tests.postgres import plain_database
from ullage.errors import CommandRefused, SessionNotFound
from ullage.events import SessionStarted
from ullage.messages import Message, TextPart
from ullage.store.forking import fork
from ullage.store.store import Lease, SessionStore, handle_of
from ullage.store.tenants import TenantStore
from ullage.store.waiting import edit, withdraw

NEWS = {"watch"}
"""Tells that a session has changed, and nothing of its content: no policy binds it."""

SESSION = "acme:s"
HANDLE = handle_of(b"kept by acme")
MESSAGE = Message(id="m", role="user", parts=(TextPart(id="m.0", text="hi"),))


@pytest.fixture
def new_database() -> Callable[[], AbstractContextManager[str]]:
    """Policies bind the role that these stores connect as."""
    return plain_database


async def following(store: SessionStore) -> object:
    return await anext(store.follow(SESSION))


async def watching(store: SessionStore) -> None:
    async with store.watch(SESSION):
        pass


USES: dict[str, Callable[[SessionStore], Awaitable[object]]] = {
    "about": lambda store: store.about(SESSION),
    "acquire": lambda store: store.acquire(SESSION, "thief", ttl_s=9),
    "checkpoint": lambda store: store.checkpoint(SESSION, "x"),
    "command": lambda store: store.command(SESSION, []),
    "delete": lambda store: store.delete(SESSION),
    "edit": lambda store: edit(store, SESSION, MESSAGE),
    "follow": following,
    "fork": lambda store: fork(store, SESSION, "other:copy", through=1),
    "handles": lambda store: store.handles(SESSION),
    "keep": lambda store: store.keep(SESSION, b"x"),
    "kept": lambda store: store.kept(SESSION, HANDLE),
    "pending": lambda store: store.pending(SESSION),
    "read": lambda store: store.read(SESSION),
    "read_draft": lambda store: store.read_draft(SESSION),
    "read_these": lambda store: store.read_these(SESSION, [1]),
    "receipt": lambda store: store.receipt(SESSION, "m"),
    "send": lambda store: store.send(SESSION, MESSAGE, "steer"),
    "watch": watching,
    "withdraw": lambda store: withdraw(store, SESSION, "m"),
}
"""Every method that takes the id of a session that exists, and functions that use them."""

FUNCTIONS = {"edit", "fork", "withdraw"}

OTHERS = {
    "check",
    "observe",
    "records",  # of the service: tokens, grants by root, calibration; no path of a tenant shows them
    "append",
    "close",
    "create",
    "draft",
    "find",  # see test_searching.py
    "limited_to",
    "release",
    "renew",
    "revise",
    "save_checkpoint",
    "sessions",
    "shared",
    "standing_counts",
    "unattended",
}
"""Methods that take no id, a new one, or a lease, which only ``acquire`` gives."""


async def stored(store: SessionStore) -> TenantStore:
    """A session of acme, and its view of the store."""
    acme = TenantStore(store, "acme")
    await acme.create(SESSION, [SessionStarted(model="m", title="Acme's plan")])
    await acme.send(SESSION, MESSAGE, "steer")
    await acme.keep(SESSION, b"kept by acme")
    return acme


def test_every_method_of_a_store_is_tried() -> None:
    methods = {name for name, _ in inspect.getmembers(SessionStore, inspect.isfunction)}
    named = {name for name in methods if not name.startswith("_")}
    assert named == (USES.keys() - FUNCTIONS) | OTHERS


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("tenant", ["other", "default"])
async def test_another_tenant_s_session_is_none(
    use: str, tenant: str, store: SessionStore
) -> None:
    acme = await stored(store)
    with pytest.raises(SessionNotFound, match="acme:s"):
        await USES[use](TenantStore(store, tenant))
    assert [row.id for row in await acme.sessions()] == [SESSION]
    assert [receipt.id for receipt, _, _ in await acme.pending(SESSION)] == ["m"]
    assert not (await acme.about(SESSION)).held_by


@pytest.mark.parametrize("new_place", ["postgres"], indirect=True)
@pytest.mark.parametrize("use", sorted(USES.keys() - NEWS))
async def test_the_database_itself_has_nothing_of_it(
    use: str, store: SessionStore
) -> None:
    """Without the check of ``TenantStore``; SQLite has no policies."""
    acme = await stored(store)
    limited = store.limited_to("other")
    assert limited is not store
    try:
        found = await USES[use](limited)
    except SessionNotFound:
        found = None
    assert not found
    assert not await limited.sessions()
    assert [receipt.id for receipt, _, _ in await acme.pending(SESSION)] == ["m"]
    assert not (await acme.about(SESSION)).held_by


async def test_lists_hold_a_tenant_s_sessions_at_any_cursor(store: SessionStore) -> None:
    await stored(store)
    await store.create("mine")
    other = TenantStore(store, "other")
    await other.create("other:s")
    assert [row.id for row in await other.sessions()] == ["other:s"]
    cursors = [row.cursor for row in await store.sessions()]
    for cursor in cursors:
        found = await TenantStore(store, "other").sessions(before=cursor)
        assert {row.tenant for row in found} <= {"other"}
    default = await TenantStore(store, "default").sessions()
    assert [row.id for row in default] == ["mine"]
    assert len(await store.sessions()) == 3


@pytest.mark.parametrize("name", ["acme:s", "acme:s/call", "s\0"])
async def test_without_a_tenant_none_of_its_ids_is_taken(
    name: str, store: SessionStore
) -> None:
    with pytest.raises(CommandRefused, match="Choose another id"):
        await TenantStore(store, "default").create(name)
    assert not await store.sessions()


async def test_a_tenant_can_t_take_ids_beyond_its_own(store: SessionStore) -> None:
    other = TenantStore(store, "other")
    await other.create("other:s")
    for name in (SESSION, "s", "acme:s/call", "othe:r"):
        with pytest.raises(CommandRefused, match="begin with 'other:'"):
            await other.create(name)
        with pytest.raises(CommandRefused, match="begin with 'other:'"):
            await fork(other, "other:s", name, through=0)
    with pytest.raises(ValueError, match="can't be that of acme"):
        other.limited_to("acme")


async def test_copies_and_tool_calls_stay_with_their_tenant(store: SessionStore) -> None:
    acme = await stored(store)
    await fork(acme, SESSION, "acme:copy", through=1)
    await fork(store, SESSION, "acme:by-the-operator", through=1)
    await acme.create(f"{SESSION}/call")
    rows = await store.sessions(tenant="acme")
    assert {row.id for row in rows} == {
        SESSION,
        "acme:copy",
        "acme:by-the-operator",
        "acme:s/call",
    }


async def test_equal_bytes_of_two_tenants_outlive_each_other(store: SessionStore) -> None:
    acme, other = await stored(store), TenantStore(store, "other")
    await other.create("other:s")
    assert await other.keep("other:s", b"kept by acme") == HANDLE
    await acme.delete(SESSION)
    assert await other.kept("other:s", HANDLE) == b"kept by acme"


async def test_a_tenant_s_view_drives_its_sessions(store: SessionStore) -> None:
    acme = await stored(store)
    lease = await acme.acquire(SESSION, "driver", ttl_s=60)
    after = (await acme.about(SESSION)).seq
    written = await acme.append(lease, [SessionStarted(model="n")], after=after)
    assert [event.seq for event in written] == [after + 1]
    await acme.renew(lease, ttl_s=60)
    await acme.release(lease)
    assert lease == Lease(SESSION, "driver", 1)
