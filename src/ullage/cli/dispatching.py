"""The option ``--dispatch``: who says where a session is driven."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

from ullage.display.text import quoted
from ullage.errors import SettingError
from ullage.runtime.dispatch import Dispatch, Embedded
from ullage.runtime.lease_dispatch import LeaseDispatch
from ullage.runtime.restate_client import PUBLIC_KEY
from ullage.runtime.restate_dispatch import ListenAddress, RestateDispatch
from ullage.store.places import calls_at

HIGHEST_PORT: Final = 65_535


def check_dispatch(args: argparse.Namespace) -> None:
    """Raises ``SettingError`` for a server that drives nothing and has nobody else drive."""
    if args.dispatch == "embedded" and not drives_here(args):
        raise SettingError(
            "With --no-drive another process has to drive: give --dispatch lease or --dispatch restate as well, and "
            "start `ullage worker` on the same store."
        )


def drives_here(args: argparse.Namespace) -> bool:
    """Whether a server of these options drives sessions itself. Restate calls workers alone."""
    return args.dispatch != "restate" and bool(args.drive)


def dispatch_of(
    args: argparse.Namespace, place: str | Path, *, drives: bool = True
) -> Dispatch:
    """The dispatch that the options name, for a process that ``drives`` or only wakes.

    Raises ``MissingExtra``, and ``SettingError`` for an address that can't be listened on.
    """
    match args.dispatch:
        case "lease":
            return LeaseDispatch(calls_at(place), serves=drives, place=args.place)
        case "restate":
            if not drives:
                return RestateDispatch(args.restate, place=args.place)
            listen = host_and_port("--listen", args.listen)
            key = _restate_key(args)
            return RestateDispatch(args.restate, listen, place=args.place, key=key)
        case _:
            return Embedded(args.place)


def _restate_key(args: argparse.Namespace) -> str:
    key: str = args.restate_key
    if not key and not args.no_token:
        raise SettingError(
            f"Everybody who reaches {args.listen} could have sessions driven: give --restate-key with Restate's public "
            "key (docs/scale.md says how to make one), or --no-token where only Restate reaches it."
        )
    if key and not re.fullmatch(PUBLIC_KEY, key):
        raise SettingError(
            f"--restate-key {quoted(key)} is no public key of Restate. Give the one in its log, which begins with "
            "publickeyv1_."
        )
    return key


def host_and_port(option: str, text: str) -> ListenAddress:
    """``HOST:PORT``, as it is given to an option. Raises ``SettingError``."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise SettingError(
            f"{option} {text} is no address: give HOST:PORT, as 127.0.0.1:9080."
        )
    return ListenAddress(host.strip("[]"), int(port))
