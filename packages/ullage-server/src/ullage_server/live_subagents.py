"""The subagents of a running session behind the proxy, which has a session of its own for each."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from ullage.errors import InputError
from ullage.importers.growing import GrowingLog
from ullage.importers.ullage import PROXY_CHILD, subagents_of
from ullage.watching.running import RunningSession, log_meter
from ullage.watching.watched import Watched
from ullage_server.live_types import LiveSubagent
from ullage_server.problems import NoLiveSession

MOST_SUBAGENTS: Final = 50
"""Subagents that are listed, the one called last first."""

PATIENCE_S: Final = 1.0
"""Seconds after which a look reads no further subagent: the next one does."""

SHOWN: Final = 200
"""Characters of a title."""


class Subagents:
    """The list of them. A subagent is read again only if it was written to; nothing of what it holds is kept."""

    def __init__(
        self,
        name: str,
        session: RunningSession,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._session = session
        self._clock = clock
        self._lines: dict[str, tuple[float, LiveSubagent]] = {}
        """By the session's id, with when it was written to."""
        self.is_behind = False
        """The next look reads on, even if nothing was written."""

    def look(self) -> tuple[LiveSubagent, ...]:
        """The subagents now. Raises ``UnreadableInput``."""
        self.is_behind = False
        session = self._session
        if not session.is_proxied:
            return ()
        until = self._clock() + PATIENCE_S
        found = subagents_of(Path(session.path), session.id)
        lines: dict[str, tuple[float, LiveSubagent]] = {}
        for stored in found[:MOST_SUBAGENTS]:
            known = self._lines.get(stored.id)
            is_new = known is None or known[0] != stored.updated
            if is_new and self._clock() < until:
                known = (stored.updated, self._read(stored.id))
            elif is_new:
                self.is_behind = True
            if known is None:
                known = (-1.0, self._unread(stored.id))
            lines[stored.id] = known
        self._lines = lines
        return tuple(line for _, line in lines.values())

    def _unread(self, child: str) -> LiveSubagent:
        number = child.removeprefix(self._session.id)
        return LiveSubagent(
            id=self._name + number, title="", calls=0, tokens=None, window=None
        )

    def _read(self, child: str) -> LiveSubagent:
        """Its line; without numbers where it can't be read."""
        unread = self._unread(child)
        log = GrowingLog(Path(self._session.path), child)
        try:
            seen = Watched(log, log_meter).look()
        except (InputError, OSError, MemoryError, RecursionError):
            return unread
        if seen is None:
            return unread
        return msgspec.structs.replace(
            unread,
            title=seen.imported.title[:SHOWN],
            calls=seen.calls,
            tokens=seen.reading.used.tokens,
            window=seen.reading.window.tokens,
        )


def parent_of(name: str) -> str:
    """The live id of the session that a subagent works for; empty for the id of another session."""
    parent, found, _ = name.rpartition(PROXY_CHILD)
    return parent if found else ""


def subagent_of(name: str, parent: RunningSession | None) -> RunningSession:
    """The session of the subagent of that live id. Raises ``NoLiveSession``, and ``UnreadableInput``."""
    if parent is not None and parent.is_proxied:
        child = parent.id + name.removeprefix(parent_of(name))
        for stored in subagents_of(Path(parent.path), parent.id):
            if stored.id == child:
                return msgspec.structs.replace(
                    parent,
                    id=child,
                    title=stored.title,
                    active_at=stored.updated,
                    problem="",
                )
    raise NoLiveSession(
        "No session with this id runs on this machine. Look at the list of running sessions again."
    )
