"""``ullage admin store``: sessions copied, archived, deleted and brought back."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.stores import own_file
from ullage.display.text import counted, printable
from ullage.errors import InputError, LedgerError, SessionNotFound, StoreUnavailable
from ullage.store.export import export_file, import_file
from ullage.store.places import store_at
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import MOST_LISTED, SessionRow, SessionStore
from ullage.store.tenants import TenantStore
from ullage.store.urls import is_database_url, shown_place
from ullage_agent.cli.retention import prune_sessions, restore_sessions


def run(args: argparse.Namespace) -> int:
    """0 when all was done, 1 when sessions were left. Raises ``StoreUnavailable``, ``MissingExtra``."""
    match args.action:
        case "prune":
            return asyncio.run(prune_sessions(args))
        case "restore":
            return asyncio.run(restore_sessions(args))
    if not is_database_url(args.database):
        raise StoreUnavailable(
            f"{args.database} is no URL of PostgreSQL. Name the database as postgresql://USER@HOST/DATABASE."
        )
    path = own_file(args.file)
    if not path.is_file():
        raise StoreUnavailable(f"There is no store {path}. Name the database file.")
    return asyncio.run(_copy(path, args.database))


async def _copy(path: Path, url: str) -> int:
    """Copy each session as its export, the last changed last; those that are there only get the bytes they lack."""
    source, target = SqliteStore(path), store_at(url)
    outcomes: Counter[str] = Counter()
    try:
        with TemporaryDirectory(prefix="ullage-copy-") as folder:
            for row in reversed(await source.sessions(limit=MOST_LISTED)):
                outcome = await _copied(source, target, row, Path(folder) / "session")
                outcomes[outcome] += 1
    finally:
        await source.close()
        await target.close()
    print(
        f"{counted(outcomes['copied'], 'session')} copied to {shown_place(url)}, {outcomes['there']} there before, "
        f"{outcomes['left']} left. Copies are at rest. Tokens, grants, quotas and calibration are not copied."
    )
    return FAILED if outcomes["left"] else DONE


async def _copied(
    source: SessionStore, target: SessionStore, row: SessionRow, file: Path
) -> str:
    outcome = "copied"
    if row.held_by:
        print(f"{printable(row.id)}: not copied: a program drives it.", file=sys.stderr)
        return "left"
    try:
        await target.about(row.id)
        outcome = "there"
    except SessionNotFound:
        await export_file(source, row.id, file)
        try:
            await import_file(TenantStore(target, row.tenant), file)
        except (InputError, LedgerError) as problem:
            print(f"{printable(row.id)}: not copied: {problem}", file=sys.stderr)
            return "left"
    there = set(await target.handles(row.id))
    for handle in await source.handles(row.id):
        if handle not in there:
            await target.keep(row.id, await source.kept(row.id, handle))
    return outcome
