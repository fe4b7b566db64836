"""Forks and imports of sessions. Both are at rest, without the settings that need the operator's authority."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ullage.errors import SettingError
from ullage.events import Forked
from ullage.store.export import Taken, import_file
from ullage.store.forking import fork as copy_events
from ullage.store.refusals import check_new_id
from ullage.store.store import SessionStore
from ullage_agent.runtime.quotas import new_session, new_session_id
from ullage_agent.runtime.settings import KEYS, meaning_of, read_value

NARROWED: Final = ("params", "instruction_files")
"""Settings of which an import keeps what only narrows the operator's."""


class Fork(NamedTuple):
    """The fork's id. ``dropped`` tells a person what the fork does not have."""

    session: str
    dropped: tuple[str, ...]


async def fork(
    store: SessionStore, origin: str, session: str = "", *, through: int | None = None
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
    store: SessionStore, path: Path, session: str = "", *, place: str | None = None
) -> Taken:
    """A new session from an exported file, at its own place or another; names that the file claims are left out.

    Raises as ``import_file`` does, and ``QuotaReached``."""
    async with new_session(store, session):
        return await import_file(
            store, path, session, keep=harmless, place=place, keeps_names=False
        )


def harmless(settings: Mapping[str, object]) -> Mapping[str, object]:
    """The settings that an import keeps: those of which each value, or a part, needs no authority of the operator.

    What counts of a part is decided whenever the session is opened (``precedence.resolve``).
    """
    return _kept(settings, NARROWED)


def kept_in_fork(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Those that a session may set at all: in the user's own store they can only narrow the operator's."""
    return _kept(settings, KEYS)


def _kept(
    settings: Mapping[str, object], narrower: Collection[str]
) -> Mapping[str, object]:
    """Those that any session may set, and the ``narrower`` ones. Unreadable values are left out."""
    kept: dict[str, object] = {}
    for name in settings.keys() & set(KEYS):
        session = meaning_of(name).who.session
        if session == "any" or (session == "narrower" and name in narrower):
            with suppress(SettingError):
                read_value(name, settings[name])
                kept[name] = settings[name]
    return kept
