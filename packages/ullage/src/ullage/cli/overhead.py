"""What calls of earlier sessions held beyond their logs, for the commands that read logs."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ullage.errors import UllageError
from ullage.events import FirstCall
from ullage.store.overhead import OverheadStore


def usable_overhead() -> tuple[FirstCall, ...]:
    """The stored calls.

    A directory that can't be read is named on standard error: no reading needs it.
    """
    try:
        return OverheadStore().read()
    except UllageError as problem:
        print(f"ullage: {problem}", file=sys.stderr)
        return ()


def remember_overhead(calls: Iterable[FirstCall]) -> None:
    """Store what a session's calls show for later sessions. That it can't be written is no error."""
    try:
        for call in calls:
            OverheadStore().add(call)
    except UllageError as problem:
        print(f"ullage: {problem}", file=sys.stderr)
