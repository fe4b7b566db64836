"""Copies all sessions of one store into another one, session by session, and checks each copy."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from functools import partial
from hashlib import sha256
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.encoding import encode
from ullage.errors import InputError, LedgerError, SessionNotFound
from ullage.store.store import QUOTA, SPENT_BY, Revision, SessionRow, SharedKey, Store

log = logging.getLogger("ullage.store")

MOST_SESSIONS: Final = 1_000_000
"""Of one copy; their rows are in memory at once."""

CopyOutcome = Literal["copied", "there before", "driven", "differs", "refused"]


class StoreCopy(NamedTuple):
    """What became of one session: ``done`` of ``total`` are behind it.

    ``driven`` ones are not copied, as their driver writes on. One that ``differs`` has other events in the target than
    in the source: it was changed there, and is left as it is. One is ``refused`` that the target's database can't hold.
    """

    session: str
    outcome: CopyOutcome
    done: int
    total: int


async def copy_store(source: Store, target: Store) -> AsyncIterator[StoreCopy]:
    """Copy every session with its row, events, queue, kept bytes and the pieces of a cut answer, the last changed last.

    Kept bytes excepted, a session is one transaction, so a copy that was ended is resumed by copying again: what is
    whole is only checked. Stored folds are not copied; the ledger has what they are made of.
    """
    rows = await source.sessions(limit=MOST_SESSIONS)
    for done, row in enumerate(reversed(rows), 1):
        outcome = await _copy(row, source, target)
        yield StoreCopy(row.id, outcome, done, len(rows))


async def copy_quotas(source: Store, target: Store) -> int:
    """Copy the quotas of tenants that have none in the target, with what was used of them. Returns how many there are.

    What was learnt of providers' rate limits is not copied: it is learnt again.
    """
    quotas = await source.shared(QUOTA)
    await _copy_values(QUOTA, quotas, target)
    return len(quotas)


async def _copy_values(kind: str, values: Mapping[str, str], target: Store) -> None:
    for name, value in values.items():
        await target.revise([SharedKey(kind, name)], partial(_kept_or, value))


def _kept_or(value: str, before: tuple[str, ...], now: float) -> Revision[None]:
    """See ``Revise``."""
    return Revision((before[0] or value,), None)


async def _copy(row: SessionRow, source: Store, target: Store) -> CopyOutcome:
    if row.held_by:
        return "driven"
    outcome: CopyOutcome = "there before"
    try:
        await target.about(row.id)
    except SessionNotFound:
        outcome = "copied"
        events = await source.read(row.id)
        pieces = await source.read_draft(row.id)
        try:
            await target.create_copy(row, events, pieces)
        except (InputError, LedgerError) as problem:
            log.warning("The session %s was not copied: %s", row.id, problem)
            return "refused"
        spent = await source.shared(SPENT_BY, [row.id])
        await _copy_values(SPENT_BY, spent, target)
    there = set(await target.handles(row.id))
    for handle in await source.handles(row.id):
        if handle not in there:
            await target.keep(row.id, await source.kept(row.id, handle))
    is_same = await _digest(source, row.id) == await _digest(target, row.id)
    return outcome if is_same else "differs"


async def _digest(store: Store, session: str) -> tuple[str, list[str], list[str]]:
    """What a copy has in common with its source: events, pieces, handles of kept bytes, waiting messages."""
    digest = sha256()
    for event in await store.read(session):
        digest.update(encode(event))
    for piece in await store.read_draft(session):
        digest.update(msgspec.json.encode(piece))
    waiting = [receipt.id for receipt, _, _ in await store.pending(session)]
    return digest.hexdigest(), sorted(await store.handles(session)), waiting
