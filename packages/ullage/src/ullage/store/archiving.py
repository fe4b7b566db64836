"""Retention: sessions that nothing was written to for long are archived to files, or deleted, one by one.

Other processes may use the store meanwhile. A session that is driven, that has work, or that changes after it was
exported is left.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from ullage.errors import CommandRefused, SessionBusy, SessionNotFound
from ullage.store.export import PACKED, check_file, export_file
from ullage.store.failures import unusable
from ullage.store.private_file import private_directory
from ullage.store.store import (
    SessionCursor,
    SessionRow,
    SessionStore,
    every_session,
)

LONGEST_NAME: Final = 150
"""Characters of an id in a file's name; a longer one is cut, with a digest behind it."""

PruneOutcome = Literal[
    "archived", "deleted", "found", "driven", "due", "child", "changed"
]


class PrunedSession(NamedTuple):
    """What became of one session; ``file`` is its archive, ``size`` the bytes of it.

    It is left as it was when it is ``driven``, is ``due``, has ``changed`` meanwhile, or is the ``child`` of a session
    that is left. ``found`` is what a dry run says of one that would go.
    """

    session: str
    outcome: PruneOutcome
    file: Path | None = None
    size: int = 0


async def prune(
    store: SessionStore,
    *,
    before: float,
    tenant: str = "",
    archive: Path | None = None,
    dry_run: bool = False,
) -> AsyncIterator[PrunedSession]:
    """Remove the sessions that last changed before that time (seconds since 1970), of all tenants or of one.

    With ``archive`` each is first written to a file of that directory, which is read back; without it they are gone for
    good. Raises ``StoreUnavailable``; what was done by then stays done, and doing it again does the rest.
    """
    older = SessionCursor(before, -1)
    async for row in every_session(store, tenant=tenant, before=older):
        yield await _pruned(store, row, before, archive, dry_run)


async def _pruned(
    store: SessionStore,
    row: SessionRow,
    before: float,
    archive: Path | None,
    dry_run: bool,
) -> PrunedSession:
    if row.held_by:
        return PrunedSession(row.id, "driven")
    if row.is_due:
        return PrunedSession(row.id, "due")
    if not await _may_go_before(store, row, before):
        return PrunedSession(row.id, "child")
    if dry_run:
        return PrunedSession(row.id, "found")
    file, size = None, 0
    try:
        if archive is not None:
            file = archive_file(archive, row)
            size = await _archive(store, row.id, file)
        await store.delete(row.id, changed_before=before)
    except (CommandRefused, SessionNotFound):
        outcome: PruneOutcome = "changed"
    except SessionBusy:
        outcome = "driven"
    else:
        return PrunedSession(
            row.id, "deleted" if file is None else "archived", file, size
        )
    if file is not None:
        file.unlink(missing_ok=True)
    return PrunedSession(row.id, outcome)


async def _may_go_before(store: SessionStore, row: SessionRow, before: float) -> bool:
    """Whether the session of a tool call has no younger parent, which may still read it."""
    parent = row.id.rpartition("/")[0]
    if not parent:
        return True
    try:
        return (await store.about(parent)).changed < before
    except SessionNotFound:
        return True


async def _archive(store: SessionStore, session: str, file: Path) -> int:
    try:
        private_directory(file.parent)
        await export_file(store, session, file)
        await asyncio.to_thread(check_file, file)
        await asyncio.to_thread(_directory_on_the_disk, file.parent)
        return file.stat().st_size
    except OSError as problem:
        raise unusable(problem, file, "archive") from problem


def _directory_on_the_disk(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def archive_file(archive: Path, row: SessionRow) -> Path:
    """Where a session is archived: a directory for each tenant, a file for each state of a session."""
    name = quote(row.id, safe=":")
    if len(name) > LONGEST_NAME:
        name = (
            f"{name[:LONGEST_NAME]}-{blake2b(row.id.encode(), digest_size=8).hexdigest()}"
        )
    changed = math.floor(row.changed)
    return archive / row.tenant / f"{name}@{row.seq}-{changed}.jsonl{PACKED}"
