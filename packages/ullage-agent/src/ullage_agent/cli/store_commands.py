"""``ullage admin store``: sessions copied, archived, deleted and brought back."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path

from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.stores import own_file
from ullage.display.text import counted, printable
from ullage.errors import StoreUnavailable
from ullage.store.copying import copy_quotas, copy_store
from ullage.store.places import store_at
from ullage.store.sqlite.store import SqliteStore
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
    source, target = SqliteStore(path), store_at(url)
    outcomes: Counter[str] = Counter()
    try:
        quotas = await copy_quotas(source, target)
        async for each in copy_store(source, target):
            outcomes[each.outcome] += 1
            if each.outcome in _REASONS:
                print(
                    f"{printable(each.session)}: {_REASONS[each.outcome]}",
                    file=sys.stderr,
                )
            if each.done % 100 == 0:
                print(f"{each.done:,} of {each.total:,} sessions", file=sys.stderr)
    finally:
        await source.close()
        await target.close()
    left = sum(outcomes[outcome] for outcome in _REASONS)
    print(
        f"{counted(outcomes['copied'], 'session')} copied to {shown_place(url)} and compared, "
        f"{outcomes['there before']} there before, {left} left."
    )
    print(
        f"{counted(quotas, 'quota')} copied. Tokens, grants, calibration and learnt rate limits are not: make tokens "
        "with `ullage admin token add NAME --store URL`."
    )
    return FAILED if left else DONE


_REASONS = {
    "driven": "not copied: a program drives it. End the program and copy again.",
    "differs": "not copied: the database has another session of this id.",
    "refused": "not copied: PostgreSQL can't hold it, as an id in it has a NUL. Keep the file.",
}
