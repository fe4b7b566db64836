"""A store as one tenant sees it: its own sessions, and no trace of others.

A session belongs to the tenant it was begun for, and to ``DEFAULT_TENANT`` without one. ``TenantStore.own`` is the
check; PostgreSQL's policies (``postgres/schema.sql``) are a second lock behind it.

The ids of a tenant's sessions begin with its name and a colon, so that tenants can't take each other's ids or find out
about them. Those of the default tenant have no such beginning.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from ullage.errors import CommandRefused
from ullage.events import DraftPiece, Event
from ullage.store.refusals import no_session
from ullage.store.store import (
    DEFAULT_TENANT,
    SessionCursor,
    SessionRow,
    SessionStore,
    StandingCount,
    TextPlace,
    Unattended,
    Watch,
)
from ullage.turns.standing import StandingState

TENANT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
"""The name of a tenant. It begins ids, and names a directory."""

_CHECKED: Final = frozenset(
    {
        "acquire",
        "checkpoint",
        "command",
        "delete",
        "handles",
        "keep",
        "kept",
        "pending",
        "read",
        "read_draft",
        "read_these",
        "receipt",
        "send",
    }
)
"""Methods whose first argument is the id of a session, which has to be this tenant's."""

_SHARED: Final = frozenset(["append", "draft", "release", "renew", "save_checkpoint"])
"""Methods that take a lease: ``acquire`` has checked its session."""

_OF_ALL: Final = frozenset(["check", "observe", "path", "records", "revise", "shared"])
"""What is the same for all tenants: the database, and values that no handler gives to a caller."""

_AnyStore: Any = object
"""So that a type checker takes what ``__getattr__`` gives for the methods of a store."""


def prefix_of(tenant: str) -> str:
    """The beginning of the ids of a tenant's sessions."""
    return "" if tenant == DEFAULT_TENANT else f"{tenant}:"


class TenantStore(_AnyStore):  # type: ignore[misc]
    """See the head of the file. ``store`` has all tenants' sessions; closing this closes nothing.

    Another tenant's session raises ``SessionNotFound``, like one that does not exist. A method of ``SessionStore``
    that is named neither here nor in the tables above can't be reached.
    """

    def __init__(self, store: SessionStore, tenant: str) -> None:
        self.tenant = tenant
        self._store = store.limited_to(tenant)

    def __getattr__(self, name: str) -> Any:
        if name in _CHECKED:
            return partial(self._checked, getattr(self._store, name))
        if name in _SHARED or name in _OF_ALL:
            return getattr(self._store, name)
        raise AttributeError(name)

    async def _checked(
        self, method: Callable[..., Any], session: str, *values: Any, **options: Any
    ) -> Any:
        await self.own(session)
        return await method(session, *values, **options)

    async def own(self, session: str) -> SessionRow:
        """The row of a session of this tenant. Raises ``SessionNotFound`` for any other."""
        row = await self._store.about(session)
        if row.tenant != self.tenant:
            raise no_session(session)
        return row

    about = own

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

    def limited_to(self, tenant: str) -> SessionStore:
        """See ``SessionStore.limited_to``. A tenant's view shows no other one: raises ``ValueError``."""
        if tenant != self.tenant:
            raise ValueError(f"the store of {self.tenant} can't be that of {tenant}")
        return self

    async def create(
        self,
        session: str,
        events: Sequence[Event] = (),
        *,
        origin: str = "",
        tenant: str = "",
        place: str = "",
        keeps_of: str = "",
    ) -> tuple[Event, ...]:
        """See ``SessionStore.create``. The session is this tenant's."""
        self._check_new(session)
        if keeps_of:
            await self.own(keeps_of)
        return await self._store.create(
            session,
            events,
            origin=origin,
            tenant=self.tenant,
            place=place,
            keeps_of=keeps_of,
        )

    async def sessions(
        self,
        *,
        limit: int = 100,
        before: SessionCursor | None = None,
        tenant: str = "",
        states: Sequence[StandingState] = (),
    ) -> list[SessionRow]:
        """See ``SessionStore.sessions``. Always those of this tenant."""
        return await self._store.sessions(
            limit=limit, before=before, tenant=self.tenant, states=states
        )

    async def standing_counts(
        self, tenant: str = ""
    ) -> Mapping[StandingState, StandingCount]:
        """See ``SessionStore.standing_counts``. Always those of this tenant."""
        return await self._store.standing_counts(self.tenant)

    async def find(
        self, terms: Sequence[str], *, before: int, tenant: str
    ) -> list[TextPlace]:
        """See ``SessionStore.find``. Always in this tenant's sessions."""
        return await self._store.find(terms, before=before, tenant=self.tenant)

    async def unattended(
        self, limit: int, places: Sequence[str] | None = None
    ) -> list[Unattended]:
        """None: sessions are found for all tenants at once."""
        return []

    @asynccontextmanager
    async def watch(self, session: str) -> AsyncIterator[Watch]:
        """See ``SessionStore.watch``."""
        await self.own(session)
        async with self._store.watch(session) as watch:
            yield watch

    async def follow(
        self, session: str, *, after: int = 0, offset: int = -1, at: float = 0.0
    ) -> AsyncIterator[Event | DraftPiece]:
        """See ``SessionStore.follow``."""
        await self.own(session)
        following = self._store.follow(session, after=after, offset=offset, at=at)
        try:
            async for item in following:
                yield item
        finally:
            await following.aclose()  # type: ignore[attr-defined]

    async def close(self) -> None:
        """Nothing: the store itself is closed by its owner."""
