"""A store as one tenant sees it: its own sessions, and no trace of others.

A session belongs to the tenant it was begun for, and to ``DEFAULT_TENANT`` without one. ``TenantStore.own`` is the
check; PostgreSQL's policies (``postgres/schema.sql``) are a second lock behind it.

The ids of a tenant's sessions begin with its name and a colon, so that tenants can't take each other's ids or find out
about them. Those of the default tenant have no such beginning.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from ullage.errors import CommandRefused
from ullage.events import DraftPiece, Event
from ullage.messages import Message
from ullage.store.copies import SettingsToKeep, keep_nothing
from ullage.store.records import Records
from ullage.store.refusals import no_session
from ullage.store.store import (
    DEFAULT_TENANT,
    Checkpoint,
    Lease,
    QueueKind,
    Receipt,
    Revise,
    SessionCursor,
    SessionRow,
    SharedKey,
    Store,
    StoreObserver,
    Unattended,
    Watch,
)

T = TypeVar("T")

TENANT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
"""The name of a tenant. It begins ids, and names a directory."""


def prefix_of(tenant: str) -> str:
    """The beginning of the ids of a tenant's sessions."""
    return "" if tenant == DEFAULT_TENANT else f"{tenant}:"


class TenantStore:
    """See the head of the file. ``store`` has all tenants' sessions; closing this closes nothing.

    Another tenant's session raises ``SessionNotFound``, like one that does not exist. What takes a lease trusts it:
    ``acquire`` has checked its session.
    """

    def __init__(self, store: Store, tenant: str) -> None:
        self.tenant = tenant
        self._store = store.limited_to(tenant)

    @property
    def path(self) -> Path | None:
        """The database file, if it is one: sandboxes protect it."""
        return getattr(self._store, "path", None)

    async def own(self, session: str) -> SessionRow:
        """The row of a session of this tenant. Raises ``SessionNotFound`` for any other."""
        row = await self._store.about(session)
        if row.tenant != self.tenant:
            raise no_session(session)
        return row

    def _check_new(self, session: str) -> None:
        if not session.startswith(prefix_of(self.tenant)):
            raise CommandRefused(
                f"The id {session!r} can't be used: those of this tenant begin with {prefix_of(self.tenant)!r}. "
                "Choose such an id, or leave it out."
            )
        if self.tenant == DEFAULT_TENANT and set(session) & set(":\0"):
            raise CommandRefused(
                f"The id {session!r} can't be used: a colon ends the name of a tenant, whose id it would be, and no id "
                "has a NUL. Choose another id."
            )

    def observe(self, observer: StoreObserver) -> None:
        """See ``Store.observe``. The database is that of all tenants."""
        self._store.observe(observer)

    async def check(self) -> None:
        """See ``Store.check``."""
        await self._store.check()

    def limited_to(self, tenant: str) -> Store:
        """See ``Store.limited_to``. A tenant's view shows no other one: raises ``ValueError``."""
        if tenant != self.tenant:
            raise ValueError(f"the store of {self.tenant} can't be that of {tenant}")
        return self

    def records(self) -> Records | None:
        """See ``Store.records``: the same for all tenants. Grants are by root, and no two tenants share one."""
        return self._store.records()

    async def create(
        self,
        session: str,
        events: Sequence[Event] = (),
        *,
        origin: str = "",
        tenant: str = "",
        place: str = "",
    ) -> tuple[Event, ...]:
        """See ``Store.create``. The session is this tenant's."""
        self._check_new(session)
        return await self._store.create(
            session, events, origin=origin, tenant=self.tenant, place=place
        )

    async def create_copy(
        self,
        row: SessionRow,
        events: Sequence[Event],
        pieces: Sequence[DraftPiece] = (),
    ) -> None:
        """See ``Store.create_copy``. The session is this tenant's."""
        self._check_new(row.id)
        await self._store.create_copy(row._replace(tenant=self.tenant), events, pieces)

    async def delete(self, session: str, *, changed_before: float = math.inf) -> None:
        """See ``Store.delete``."""
        await self.own(session)
        await self._store.delete(session, changed_before=changed_before)

    async def sessions(
        self,
        *,
        limit: int = 100,
        before: SessionCursor | None = None,
        tenant: str = "",
    ) -> list[SessionRow]:
        """See ``Store.sessions``. Always those of this tenant."""
        return await self._store.sessions(limit=limit, before=before, tenant=self.tenant)

    async def about(self, session: str) -> SessionRow:
        """See ``Store.about``."""
        return await self.own(session)

    async def read(
        self, session: str, *, after: int = 0, limit: int | None = None, at: float = 0.0
    ) -> list[Event]:
        """See ``Store.read``."""
        await self.own(session)
        return await self._store.read(session, after=after, limit=limit, at=at)

    async def read_these(self, session: str, seqs: Sequence[int]) -> list[Event]:
        """See ``Store.read_these``."""
        await self.own(session)
        return await self._store.read_these(session, seqs)

    async def unattended(
        self, limit: int, places: Sequence[str] | None = None
    ) -> list[Unattended]:
        """None: sessions are found for all tenants at once."""
        return []

    async def acquire(
        self, session: str, owner: str, *, ttl_s: float, steal: bool = False
    ) -> Lease:
        """See ``Store.acquire``."""
        await self.own(session)
        return await self._store.acquire(session, owner, ttl_s=ttl_s, steal=steal)

    async def renew(self, lease: Lease, *, ttl_s: float) -> None:
        """See ``Store.renew``."""
        await self._store.renew(lease, ttl_s=ttl_s)

    async def release(
        self, lease: Lease, *, rests_at: int | None = None, due_at: float | None = None
    ) -> None:
        """See ``Store.release``."""
        await self._store.release(lease, rests_at=rests_at, due_at=due_at)

    async def end_postponement(self, tenant: str) -> None:
        """See ``Store.end_postponement``. Always for this tenant."""
        await self._store.end_postponement(self.tenant)

    async def append(
        self,
        lease: Lease,
        events: Sequence[Event],
        *,
        after: int,
        exact: bool = False,
        durable: bool = False,
        ends_draft: str = "",
    ) -> tuple[Event, ...]:
        """See ``Store.append``."""
        return await self._store.append(
            lease,
            events,
            after=after,
            exact=exact,
            durable=durable,
            ends_draft=ends_draft,
        )

    async def draft(self, lease: Lease, pieces: Sequence[DraftPiece]) -> None:
        """See ``Store.draft``."""
        await self._store.draft(lease, pieces)

    async def read_draft(
        self, session: str, *, call: str = "", after: int = -1
    ) -> list[DraftPiece]:
        """See ``Store.read_draft``."""
        await self.own(session)
        return await self._store.read_draft(session, call=call, after=after)

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        """See ``Store.save_checkpoint``."""
        await self._store.save_checkpoint(lease, checkpoint)

    async def checkpoint(self, session: str, made_by: str) -> Checkpoint | None:
        """See ``Store.checkpoint``."""
        await self.own(session)
        return await self._store.checkpoint(session, made_by)

    async def command(self, session: str, events: Sequence[Event]) -> tuple[Event, ...]:
        """See ``Store.command``."""
        await self.own(session)
        return await self._store.command(session, events)

    async def send(
        self, session: str, message: Message, kind: QueueKind, *, trace: str = ""
    ) -> Receipt:
        """See ``Store.send``."""
        await self.own(session)
        return await self._store.send(session, message, kind, trace=trace)

    async def receipt(self, session: str, message_id: str) -> Receipt | None:
        """See ``Store.receipt``."""
        await self.own(session)
        return await self._store.receipt(session, message_id)

    async def pending(self, session: str) -> list[tuple[Receipt, Message, QueueKind]]:
        """See ``Store.pending``."""
        await self.own(session)
        return await self._store.pending(session)

    async def edit(self, session: str, message: Message) -> Receipt:
        """See ``Store.edit``."""
        await self.own(session)
        return await self._store.edit(session, message)

    async def withdraw(self, session: str, message_id: str) -> Message:
        """See ``Store.withdraw``."""
        await self.own(session)
        return await self._store.withdraw(session, message_id)

    async def keep(self, session: str, data: bytes) -> str:
        """See ``Store.keep``."""
        await self.own(session)
        return await self._store.keep(session, data)

    async def kept(
        self, session: str, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        """See ``Store.kept``."""
        await self.own(session)
        return await self._store.kept(session, handle, start=start, size=size)

    async def handles(self, session: str) -> list[str]:
        """See ``Store.handles``."""
        await self.own(session)
        return await self._store.handles(session)

    async def fork(
        self,
        origin: str,
        session: str,
        *,
        through: int,
        keep: SettingsToKeep = keep_nothing,
    ) -> tuple[Event, ...]:
        """See ``Store.fork``."""
        await self.own(origin)
        self._check_new(session)
        return await self._store.fork(origin, session, through=through, keep=keep)

    async def shared(
        self, kind: str, names: Sequence[str] | None = None
    ) -> Mapping[str, str]:
        """See ``Store.shared``. No content of sessions is among these values, and no handler gives them to a caller."""
        return await self._store.shared(kind, names)

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        """See ``Store.revise``, and ``shared``."""
        return await self._store.revise(keys, change)

    def watch(self, session: str) -> AbstractAsyncContextManager[Watch]:
        """See ``Store.watch``."""
        return self._watching(session)

    @asynccontextmanager
    async def _watching(self, session: str) -> AsyncIterator[Watch]:
        await self.own(session)
        async with self._store.watch(session) as watch:
            yield watch

    async def follow(
        self, session: str, *, after: int = 0, offset: int = -1, at: float = 0.0
    ) -> AsyncIterator[Event | DraftPiece]:
        """See ``Store.follow``."""
        await self.own(session)
        following = self._store.follow(session, after=after, offset=offset, at=at)
        try:
            async for item in following:
                yield item
        finally:
            await following.aclose()  # type: ignore[attr-defined]

    async def close(self) -> None:
        """Nothing: the store itself is closed by its owner."""
