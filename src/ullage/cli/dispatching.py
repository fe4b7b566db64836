"""The option ``--dispatch``: who says where a session is driven."""

from __future__ import annotations

import argparse
from pathlib import Path

from ullage.errors import SettingError
from ullage.runtime.dispatch import Dispatch, Embedded
from ullage.runtime.lease_dispatch import LeaseDispatch
from ullage.store.places import calls_at


def check_dispatch(args: argparse.Namespace) -> None:
    """Raises ``SettingError`` for a server that drives nothing and has nobody else drive."""
    if args.dispatch == "embedded" and not args.drive:
        raise SettingError(
            "With --no-drive another process has to drive: give --dispatch lease as well, and start `ullage worker` on "
            "the same store."
        )


def dispatch_of(
    args: argparse.Namespace, place: str | Path, *, drives: bool = True
) -> Dispatch:
    """The dispatch that the options name, for a process that ``drives`` or only wakes. Raises ``MissingExtra``."""
    match args.dispatch:
        case "lease":
            return LeaseDispatch(calls_at(place), serves=drives)
        case _:
            return Embedded()
