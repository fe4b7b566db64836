"""The ledger of a Compactor's conversation in a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ullage.errors import CompactorBusy, SessionNotFound
from ullage.events import Event
from ullage.store.leases import new_owner
from ullage.store.places import StorePlace, checked_place, store_at
from ullage.store.store import SessionStore

LEASE_S: Final = 30.0
"""How long a write may take. A lease is held for a write alone; that of a process that has died counts for nothing."""


class ConversationLedger:
    """Reads and writes one session. Belongs to one event loop.

    ``store`` is a store, which stays open, or the place of one, which is opened when it is needed.
    """

    def __init__(self, store: StorePlace, session: str) -> None:
        self.session = session
        self._given = checked_place(store)
        self._store: SessionStore | None = None
        self._owner = new_owner()
        self._stored = 0

    async def read(self) -> list[Event]:
        """All events of the session, which is created if it is not there. Raises ``StoreUnavailable``."""
        store = self._opened()
        try:
            events = await store.read(self.session)
        except SessionNotFound:
            await store.create(self.session)
            events = []
        self._stored = len(events)
        return events

    async def write(self, events: Sequence[Event], *, durable: bool) -> None:
        """Store these events behind those that were read and written here.

        Raises ``CompactorBusy`` if another process has written to the session since, or writes now, and
        ``StoreUnavailable``. Nothing is stored then.
        """
        if not events:
            return
        store = self._opened()
        bare = [
            msgspec.structs.replace(event, session="", seq=0, id="") for event in events
        ]
        lease = await store.acquire(self.session, self._owner, ttl_s=LEASE_S)
        try:
            stored = await store.append(
                lease, bare, after=self._stored, exact=True, durable=durable
            )
        finally:
            await store.release(lease)
        if len(stored) != len(bare) or stored[0].seq != self._stored + 1:
            raise CompactorBusy(
                f"The session {self.session!r} was written to by another program. Use it from one Compactor at a time, "
                "or give each conversation a session of its own."
            )
        self._stored += len(bare)

    async def close(self) -> None:
        """Close the database if it was opened here."""
        store, self._store = self._store, None
        if store is not None and store is not self._given:
            await store.close()

    def _opened(self) -> SessionStore:
        if self._store is None:
            self._store = store_at(self._given)
        return self._store
