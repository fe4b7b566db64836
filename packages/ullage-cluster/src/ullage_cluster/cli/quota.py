"""``ullage admin quota``: what each tenant of a store may use in a day."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ullage.cli.stores import place_of, place_option
from ullage.directories import data_directory
from ullage.errors import SettingError
from ullage.store.places import store_at
from ullage.store.sqlite.store import FILE
from ullage.store.store import SessionStore
from ullage.store.tenants import TENANT_NAME
from ullage.store.urls import shown_place
from ullage_agent.loop.quotas import QUOTA_KINDS, Quota, TenantQuota
from ullage_agent.runtime.quotas import all_quotas, change_quota

NO_LIMIT: Final = "none"

_FACTORS: Final = {"": 1, "k": 1_000, "m": 1_000_000}


def run(args: argparse.Namespace) -> int:
    """0 when it is done. Raises ``SettingError``, ``StoreUnavailable``."""
    place = place_of(args.store) if args.store else data_directory(os.environ) / FILE
    if isinstance(place, Path) and not place.exists() and args.action != "set":
        return _without_store(args, shown_place(place))
    asyncio.run(_act(args, store_at(place), shown_place(place)))
    return 0


def _without_store(args: argparse.Namespace, shown: str) -> int:
    """What there is to say of a file that does not exist. It is not made."""
    if args.action == "remove":
        raise SettingError(
            f"The tenant {args.tenant!r} has no quota: there is no {shown}. Check --store."
        )
    print(f"No quotas in {shown}, which does not exist. Check --store, or set a quota.")
    return 0


async def _act(args: argparse.Namespace, store: SessionStore, shown: str) -> None:
    where = place_option("--store", args.store)
    try:
        match args.action:
            case "set":
                await _set(store, args)
            case "remove":
                await _remove(store, args.tenant, where)
            case _:
                await _list(store, shown, where)
    finally:
        await store.close()


async def _set(store: SessionStore, args: argparse.Namespace) -> None:
    if not TENANT_NAME.fullmatch(args.tenant):
        raise SettingError(
            f"{args.tenant!r} can't name a tenant: use lower-case letters, digits and _ -, at most 40."
        )
    limits: dict[str, Any] = {}
    for name in QUOTA_KINDS:
        if text := getattr(args, name):
            limits[name] = limit_of(name, text)
    if not limits:
        raise SettingError(
            "Nothing was changed: give --sessions, --tokens or --usd with a limit for each day, or none."
        )
    kept = await change_quota(store, args.tenant, lambda quota: _changed(quota, limits))
    assert kept is not None, "a quota that was set is kept"
    print(_line(args.tenant, kept))
    print("Servers and workers heed it within 5 seconds.")


def _changed(quota: Quota, limits: Mapping[str, Any]) -> Quota:
    return replace(quota, **limits)


async def _remove(store: SessionStore, tenant: str, where: str) -> None:
    if tenant not in await all_quotas(store):
        raise SettingError(
            f"The tenant {tenant!r} has no quota. `ullage admin quota list{where}` shows which have one."
        )
    await change_quota(store, tenant, lambda quota: None)
    print(f"The tenant {tenant!r} has no quota any more.")


async def _list(store: SessionStore, shown: str, where: str) -> None:
    quotas = await all_quotas(store)
    if not quotas:
        print(
            f"No quotas in {shown}. `ullage admin quota set TENANT --tokens N{where}` makes one."
        )
    for tenant, kept in quotas.items():
        print(_line(tenant, kept))


def _line(tenant: str, kept: TenantQuota) -> str:
    """A tenant's quota with what was used of it."""
    quota, used = kept.quota, kept.used
    parts = []
    if quota.sessions is not None:
        parts.append(f"{used.sessions:,} of {quota.sessions:,} sessions")
    if quota.tokens is not None:
        parts.append(f"{used.tokens:,} of {quota.tokens:,} tokens")
    if quota.usd is not None:
        parts.append(f"${used.usd:.2f} of ${quota.usd:.2f}")
    return f"{tenant}: {', '.join(parts) or 'no limit'} on {kept.date} (UTC)"


def limit_of(name: str, text: str) -> int | float | None:
    """The limit that ``500``, ``200k``, ``2M`` or ``12.50`` is; ``None`` for ``none``. Raises ``SettingError``."""
    if text == NO_LIMIT:
        return None
    if name == "usd":
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text):
            return float(text)
        raise SettingError(f"--usd {text}: give dollars, as 20 or 12.50, or none.")
    found = re.fullmatch(r"([0-9]{1,12})([km]?)", text.lower())
    if found is None:
        raise SettingError(
            f"--{name} {text}: give a number, as 500, 200k or 2M, or none."
        )
    return int(found[1]) * _FACTORS[found[2]]
