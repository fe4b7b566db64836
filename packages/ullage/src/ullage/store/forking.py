"""Begins a session as a copy of another one."""

from __future__ import annotations

from ullage.errors import LedgerError
from ullage.events import Event, Forked
from ullage.store.copies import SettingsToKeep, closing, keep_nothing
from ullage.store.store import SessionStore


async def fork(
    store: SessionStore,
    origin: str,
    session: str,
    *,
    through: int,
    keep: SettingsToKeep = keep_nothing,
) -> tuple[Event, ...]:
    """Begin ``session`` as a copy of another's events up to ``through``; gives the events added behind them.

    The copy is at rest. The added events close what was unfinished there, end the wait of messages that were queued
    there (they go on waiting in the origin alone), take back the session's own settings but those that ``keep`` gives
    back, and say ``Forked``. It keeps what the origin keeps, and belongs to the origin's tenant and place. Raises
    ``SessionNotFound``, ``LedgerError`` when there is no event ``through``, ``CommandRefused`` for a taken id.
    """
    about = await store.about(origin)
    if not 0 <= through <= about.seq:
        raise LedgerError(
            f"Session {origin!r} has no event {through}: its last one is {about.seq}."
        )
    events = await store.read(origin, limit=through)
    resting = closing(events, keep)
    forked = Forked(origin=origin, through=through, dropped=resting.dropped)
    stored = await store.create(
        session,
        [*events, *resting.events, forked],
        origin=origin,
        tenant=about.tenant,
        place=about.place,
        keeps_of=origin,
    )
    return stored[through:]
