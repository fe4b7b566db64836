"""``ullage admin token``: makes, lists and revokes the tokens of ``ullage serve``."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from typing import Final

from ullage.cli.stores import place_option, records_at
from ullage.display.text import printable
from ullage.errors import SettingError
from ullage.store.records import FileRecords
from ullage.store.store import DEFAULT_TENANT
from ullage.store.tenants import TENANT_NAME
from ullage_server.tokens import (
    KIND,
    LINKS,
    SCOPES,
    NamedTokens,
    TokenRecord,
    TokenScope,
)

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}


def run(args: argparse.Namespace) -> int:
    """0 when it is done. Raises ``UllageError``."""
    with records_at(args.store) as records:
        tokens, links = NamedTokens(records), NamedTokens(records, LINKS)
        match args.action:
            case "add":
                _add(tokens, args, time.time())
            case "revoke":
                is_link = args.name in records.all(LINKS)
                _revoke(links if is_link else tokens, args.name, is_link=is_link)
            case _:
                found = (*(tokens.read() or ()), *(links.read() or ()))
                where = place_option("--store", args.store)
                _list(found, time.time(), tokens.shown, where)
    return 0


def _add(tokens: NamedTokens, args: argparse.Namespace, now: float) -> None:
    if not NAME.fullmatch(args.name):
        raise SettingError(
            f"{args.name!r} can't name a token: use letters, digits and . _ @ -, at most 64."
        )
    if not TENANT_NAME.fullmatch(args.tenant):
        raise SettingError(
            f"{args.tenant!r} can't name a tenant: use lower-case letters, digits and _ -, at most 40."
        )
    scopes = scopes_of(args.scope)
    lasts_s = seconds_of(args.expires)
    expires = None if lasts_s is None else now + lasts_s
    token = tokens.add(args.name, scopes, expires=expires, now=now, tenant=args.tenant)
    whose = "" if args.tenant == DEFAULT_TENANT else f" of the tenant {args.tenant!r}"
    print(token)
    print(
        f"\nThis is the token {args.name!r}{whose} ({', '.join(scopes)}; {_end(expires)}). It is not shown again.\n"
        f"Send it as `Authorization: Bearer TOKEN`, or paste it where the page asks.\n"
        f"Servers that read {tokens.shown} now require a token."
    )


def _revoke(tokens: NamedTokens, name: str, *, is_link: bool) -> None:
    left = tokens.revoke(name)
    is_of_machine = isinstance(tokens.records, FileRecords)
    when = "from now on" if is_of_machine else "within seconds"
    print(f"Revoked {name!r}. Running servers refuse it {when}.")
    if not left and not is_link:
        again = ""
        if is_of_machine:
            again = f" Remove {tokens.shown}/{KIND} to let every program of this machine in again."
        print(
            f"No token is left, and servers that read {tokens.shown} still require one.{again}"
        )


def _list(records: Sequence[TokenRecord], now: float, shown: str, where: str) -> None:
    """Print all tokens. ``where`` is the option that named their place, for the command that makes one."""
    if not records:
        print(
            f"No tokens in {shown}. `ullage admin token add NAME --scope read{where}` makes one."
        )
        return
    width = max(len(one.name) for one in records)
    whose = max(len(one.tenant) for one in records)
    for one in records:
        names = f"{one.name:<{width}}  {one.tenant:<{whose}}  {','.join(one.scopes):<24}"
        what = f"  the session {printable(one.session)} alone" if one.session else ""
        print(f"{names}  made {_day(one.created)}  {_state(one, now)}{what}")


def _state(record: TokenRecord, now: float) -> str:
    return (
        f"expired {_day(record.expires)}"
        if record.is_expired(now)
        else _end(record.expires)
    )


def _end(expires: float | None) -> str:
    return "does not expire" if expires is None else f"expires {_day(expires)}"


def _day(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def scopes_of(given: list[str]) -> tuple[TokenScope, ...]:
    """The scopes that were named, apart or with commas between them. Raises ``SettingError``."""
    named = {one.strip() for each in given for one in each.split(",") if one.strip()} or {
        "read"
    }
    if unknown := sorted(named - set(SCOPES)):
        raise SettingError(
            f"There is no scope {unknown[0]!r}: there are {', '.join(SCOPES)}."
        )
    return tuple(one for one in SCOPES if one in named)


def seconds_of(text: str) -> float | None:
    """How long ``30d``, ``12h`` or ``1y`` is; ``None`` for ``never``. Raises ``SettingError``."""
    if text == "never":
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,4})([mhdwy])", text)
    if found is None:
        raise SettingError(
            f"{text!r} is no time: write one like 30d, 12h or 1y, or never."
        )
    return float(int(found[1]) * _UNITS[found[2]])
