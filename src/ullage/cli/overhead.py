"""What earlier sessions' first calls held beyond their logs, for the commands that read logs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ullage.errors import UllageError
from ullage.events import FirstCall
from ullage.runtime.layers import environment_layer
from ullage.runtime.settings import Settings
from ullage.store.overhead import OverheadStore


def is_learnt(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether first calls are stored and used: the variable ``ULLAGE_OVERHEAD``. Raises ``SettingError``."""
    own = {"ULLAGE_OVERHEAD": environment.get("ULLAGE_OVERHEAD", "")}
    return bool(environment_layer(own).values.get("overhead", Settings().overhead))


def usable_overhead() -> tuple[FirstCall, ...]:
    """The stored first calls, unless they are not to be used. Raises ``SettingError``.

    Files that can't be read are named on standard error: no reading needs them.
    """
    if not is_learnt():
        return ()
    stored = OverheadStore().read()
    if stored.problem:
        print(f"ullage: {stored.problem}", file=sys.stderr)
    return stored.calls


def remember_first_call(call: FirstCall | None) -> None:
    """Store what a session's first call shows for later sessions. That it can't be written is no error."""
    if call is None or not is_learnt():
        return
    try:
        OverheadStore().add(call)
    except UllageError as problem:
        print(f"ullage: {problem}", file=sys.stderr)
