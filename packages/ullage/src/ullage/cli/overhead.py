"""What earlier sessions' first calls held beyond their logs, for the commands that read logs."""

from __future__ import annotations

import sys

from ullage.errors import UllageError
from ullage.events import FirstCall
from ullage.store.overhead import OverheadStore


def usable_overhead() -> tuple[FirstCall, ...]:
    """The stored first calls.

    A directory that can't be read is named on standard error: no reading needs it.
    """
    try:
        return OverheadStore().read()
    except UllageError as problem:
        print(f"ullage: {problem}", file=sys.stderr)
        return ()


def remember_first_call(call: FirstCall | None) -> None:
    """Store what a session's first call shows for later sessions. That it can't be written is no error."""
    if call is None:
        return
    try:
        OverheadStore().add(call)
    except UllageError as problem:
        print(f"ullage: {problem}", file=sys.stderr)
