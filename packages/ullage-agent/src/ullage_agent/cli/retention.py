"""``ullage admin store prune`` and ``restore``: old sessions go to files, or for good, and come back."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.stores import place_of
from ullage.display.text import counted, printable
from ullage.errors import CommandRefused, InputError, SettingError
from ullage.store.archiving import prune
from ullage.store.export import import_file
from ullage.store.places import store_at
from ullage.store.store import DEFAULT_TENANT, SessionStore
from ullage.store.tenants import TenantStore
from ullage_agent.runtime.copying import harmless

TOLD_EACH: Final = 100
"""Sessions after which a long removal says how far it is."""

_LEFT: Final = {
    "driven": "left: a program drives it.",
    "due": "left: it has unfinished work.",
    "child": "left: the session that it belongs to is in use.",
    "changed": "left: it changed meanwhile.",
}


async def prune_sessions(args: argparse.Namespace) -> int:
    """0, also when sessions were left. Raises ``StoreUnavailable``."""
    store = store_at(place_of(args.store))
    archive = Path(args.archive).expanduser() if args.archive else None
    outcomes: Counter[str] = Counter()
    size = 0
    pruning = prune(
        store,
        before=time.time() - args.unchanged,
        tenant=args.tenant,
        archive=archive,
        dry_run=args.dry_run,
    )
    try:
        async for each in pruning:
            outcomes[each.outcome] += 1
            size += each.size
            done = outcomes["archived"] + outcomes["deleted"]
            if done % TOLD_EACH == 0 and each.outcome in ("archived", "deleted"):
                print(f"{done:,} sessions", file=sys.stderr)
            if each.outcome in _LEFT:
                print(
                    f"{printable(each.session)}: {_LEFT[each.outcome]}", file=sys.stderr
                )
            elif args.dry_run:
                print(printable(each.session))
    finally:
        await store.close()
    left = sum(outcomes[outcome] for outcome in _LEFT)
    stay = f", {counted(left, 'session')} as old left (named above)" if left else ""
    if args.dry_run:
        print(
            f"{counted(outcomes['found'], 'session')} would go{stay}. Newer sessions stay. Nothing was changed."
        )
    elif archive is not None:
        print(
            f"{counted(outcomes['archived'], 'session')} archived to {printable(str(archive))} ({size:,} bytes) and "
            f"deleted{stay}."
        )
    else:
        print(f"{counted(outcomes['deleted'], 'session')} deleted{stay}.")
    return DONE


async def restore_sessions(args: argparse.Namespace) -> int:
    """0 when each file gave a session, 1 when one did not. Raises ``SettingError``, ``StoreUnavailable``."""
    if args.new_id and len(args.files) > 1:
        raise SettingError(
            f"--as gives one session its id, and {len(args.files)} files were named. Restore them one by one."
        )
    store = store_at(place_of(args.store))
    failed = False
    try:
        for name in args.files:
            path = Path(name)
            try:
                # what the tenant had before counts for no quota
                taken = await import_file(
                    _store_of(store, path, args.new_id), path, args.new_id, keep=harmless
                )
            except CommandRefused as problem:
                failed = True
                print(
                    f"{printable(name)}: {problem} `--as ID` restores it under another id.",
                    file=sys.stderr,
                )
                continue
            except InputError as problem:
                failed = True
                told = str(problem)
                shown = told if str(path) in told else f"{printable(name)}: {told}"
                print(shown, file=sys.stderr)
                continue
            print(
                f"{printable(taken.session)}: {counted(taken.events, 'event')} restored, at rest."
            )
            for number, why in taken.skipped:
                print(f"  line {number} was left out: {why}", file=sys.stderr)
    finally:
        await store.close()
    return FAILED if failed else DONE


def _store_of(store: SessionStore, path: Path, new_id: str) -> SessionStore:
    """The store as the tenant sees it in whose directory the archive lies.

    A new id is checked also where the session is the operator's: it must be no tenant's.
    """
    tenant = path.resolve().parent.name
    is_tenants = path.name.startswith(f"{tenant}:") and tenant != DEFAULT_TENANT
    if is_tenants:
        return TenantStore(store, tenant)
    return TenantStore(store, DEFAULT_TENANT) if new_id else store
