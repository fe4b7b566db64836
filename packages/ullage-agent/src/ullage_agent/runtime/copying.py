"""Forks and imports of sessions. Both are at rest, without the settings that need the operator's authority."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ullage.errors import SettingError
from ullage.events import Forked
from ullage.store.export import Taken, import_file
from ullage.store.forking import fork as copy_events
from ullage.store.refusals import check_new_id
from ullage.store.store import Store
from ullage_agent.runtime import authority
from ullage_agent.runtime.quotas import new_session, new_session_id
from ullage_agent.runtime.settings import KEYS, Settings, meaning_of, read_value

KEPT_IN_A_FORK: Final = (authority.TOOLS, authority.BUDGET, authority.SANDBOX)
"""Settings that can only restrict a session: a fork of the user's own session keeps them."""

NARROWED: Final = ("params", "instructions")
"""Settings of which a copy keeps the harmless part."""


class Fork(NamedTuple):
    """The fork's id. ``dropped`` tells a person what the fork does not have."""

    session: str
    dropped: tuple[str, ...]


async def fork(
    store: Store, origin: str, session: str = "", *, through: int | None = None
) -> Fork:
    """A new session with the events of ``origin``, up to ``through`` or all of them.

    Raises as ``ullage.store.forking.fork`` and ``check_new_id`` do, and ``QuotaReached``.
    """
    name = session or new_session_id()
    check_new_id(name)
    last = (await store.about(origin)).seq if through is None else through
    async with new_session(store, name):
        added = await copy_events(store, origin, name, through=last, keep=kept_in_fork)
    dropped = [event.dropped for event in added if isinstance(event, Forked)]
    return Fork(name, dropped[-1])


async def imported(
    store: Store, path: Path, session: str = "", *, place: str | None = None
) -> Taken:
    """A new session from an exported file, at its own place or another. Raises as ``import_file`` does, and
    ``QuotaReached``."""
    async with new_session(store, session):
        return await import_file(store, path, session, keep=harmless, place=place)


def harmless(settings: Mapping[str, object]) -> Mapping[str, object]:
    """The settings that a copy keeps: those that need no authority of the operator, and harmless parts of others.

    Unreadable values are left out.
    """
    kept: dict[str, object] = {}
    for name, (value, read) in _readable(settings).items():
        who = meaning_of(name).who
        if who.session == "any" and who.narrow is None:
            kept[name] = value
        elif name in NARROWED and (part := _harmless_part(name, value, read)):
            kept[name] = part
    return kept


def kept_in_fork(settings: Mapping[str, object]) -> Mapping[str, object]:
    """The same with tools, budgets and sandbox: in the user's own store they can only narrow the operator's."""
    kept = dict(harmless(settings))
    for name, (value, _) in _readable(settings).items():
        if meaning_of(name).who in KEPT_IN_A_FORK:
            kept[name] = value
    return kept


def _readable(settings: Mapping[str, object]) -> dict[str, tuple[object, Any]]:
    """The known settings with a readable value: the value as stored, and as read."""
    found: dict[str, tuple[object, Any]] = {}
    for name, value in settings.items():
        if name in KEYS:
            with suppress(SettingError):
                found[name] = value, read_value(name, value)
    return found


def _harmless_part(name: str, value: object, read: Any) -> object:
    narrow = meaning_of(name).who.narrow
    assert narrow is not None, f"{name} has no part that is harmless by itself"
    part = narrow(read, getattr(Settings(), name), "")
    return msgspec.json.decode(msgspec.json.encode(part.value)) if part.dropped else value
