"""The option ``--dispatch``: who says where a session is driven."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ullage.display.text import quoted
from ullage.errors import SettingError
from ullage.installation import part
from ullage.store.urls import is_database_url
from ullage_agent.runtime.dispatch import Dispatch, Embedded, ListenAddress

HIGHEST_PORT: Final = 65_535


def check_dispatch(args: argparse.Namespace) -> None:
    """Raises ``SettingError`` for a server that drives nothing and has nobody else drive."""
    if args.dispatch == "embedded" and not drives_here(args):
        raise SettingError(
            "With --no-drive another process has to drive: give --dispatch lease or --dispatch restate as well, and "
            "start `ullage admin worker` on the same store."
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
            calls = None
            if is_database_url(place):
                calls = part("ullage_cluster.postgres.calls").PostgresCalls(str(place))
            return Embedded(args.place, calls, serves=drives)
        case "restate" if not drives:
            by_restate: Callable[..., Dispatch] = part(
                "ullage_cluster.restate.dispatch"
            ).RestateDispatch
            return by_restate(_url("--restate", args.restate), place=args.place)
        case "restate":
            worker: Callable[..., Dispatch] = part(
                "ullage_cluster.restate.endpoint"
            ).RestateWorker
            return worker(
                host_and_port("--listen", args.listen),
                place=args.place,
                key=_restate_key(args),
                admin=args.restate_admin and _url("--restate-admin", args.restate_admin),
                advertised=args.advertise and _url("--advertise", args.advertise),
            )
        case _:
            return Embedded(args.place)


def _restate_key(args: argparse.Namespace) -> str:
    key: str = args.restate_key
    if not key and not args.no_token:
        raise SettingError(
            f"Everybody who reaches {args.listen} could have sessions driven: give --restate-key with Restate's public "
            "key (docs/scale.md says how to make one), or --no-token where only Restate reaches it."
        )
    if key and not re.fullmatch(part("ullage_cluster.restate.client").PUBLIC_KEY, key):
        raise SettingError(
            f"--restate-key {quoted(key)} is no public key of Restate. Give the one in its log, which begins with "
            "publickeyv1_."
        )
    return key


def _url(option: str, url: str) -> str:
    if not url.startswith(("http://", "https://", "unix:/")):
        raise SettingError(f"{option} {quoted(url)} is no URL: give http://HOST:PORT.")
    return url


def host_and_port(option: str, text: str) -> ListenAddress:
    """``HOST:PORT``, as it is given to an option. Raises ``SettingError``."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise SettingError(
            f"{option} {text} is no address: give HOST:PORT, as 127.0.0.1:9080."
        )
    return ListenAddress(host.strip("[]"), int(port))
