"""The sessions of all programs that run on this machine: the list of them, and one of them while it grows."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Final

import msgspec
from litestar import Response, get
from litestar.datastructures import State as AppState
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, HeaderParameter
from msgspec.structs import replace

from ullage.encoding import shown_as
from ullage.envelope import LOG_BYTES
from ullage.events import Event
from ullage.importers import ImportedSession
from ullage.importers.detect import databases
from ullage.importers.growing import GrowingLog, LogEnds
from ullage.watching.running import RunningList, RunningSession, log_meter
from ullage.watching.watched import UnusableSession
from ullage_server.api_types import LiveView
from ullage_server.live_types import SHOWN, LiveLine, LiveList
from ullage_server.problems import LiveOff, NoLiveSession
from ullage_server.window import log_view

LIST_S: Final = 1.0
"""Seconds for which a list is given again without a look at the logs."""

PATIENCE_S: Final = 1.0
"""Seconds after which a list is given as far as it is known."""

BUSY_S: Final = 15.0
"""A session is at work if it was written to within so many seconds."""

REST: Final = 2.0
"""Times as long as a view took to compute, the next one waits: a third of one core at most."""

MOST_VIEWS: Final = 4
"""Sessions whose events are kept in memory."""

ENDS: Final = LogEnds(head_bytes=262_144, tail_bytes=16_777_216)
"""What is read of a log of more than ``WHOLE_BYTES``."""

WHOLE_BYTES: Final = 64_000_000

DATABASE_FORMATS: Final = frozenset(database.name for database in databases())


class LiveSessions:
    """What runs on this machine. For several threads. ``own`` is the store whose sessions are listed elsewhere.

    A list is given again for ``list_s``; a view waits ``rest`` times as long as the last one took.
    """

    def __init__(
        self,
        *,
        own: Path | None = None,
        running: RunningList | None = None,
        clock: Callable[[], float] = time.monotonic,
        list_s: float = LIST_S,
        rest: float = REST,
    ) -> None:
        self._own = "" if own is None else str(own)
        self._list_s = list_s
        self._rest = rest
        self._running = running or RunningList()
        self._clock = clock
        self._lock = threading.Lock()
        self._listed = LiveList(sessions=(), unread=0)
        self._next_look = float("-inf")
        self._known: dict[str, RunningSession] = {}
        self._views: OrderedDict[str, _GrowingView] = OrderedDict()

    def list(self) -> LiveList:
        """The sessions that run. Reads what is new in their logs."""
        with self._lock:
            if self._clock() >= self._next_look:
                self._look()
            return self._listed

    def _look(self) -> None:
        found = self._running.look(patience_s=PATIENCE_S)
        lines: list[LiveLine] = []
        self._known = {}
        for session in found.sessions:
            if session.path == self._own:
                continue
            line = line_of(session, found.at)
            self._known[line.id] = session
            lines.append(line)
        self._listed = LiveList(sessions=tuple(lines), unread=found.unread)
        self._next_look = self._clock() + self._list_s

    def view(self, name: str) -> tuple[int, LiveView]:
        """One session now, and the number of its state, which changes with it.

        Raises ``NoLiveSession``, and ``InputError`` for a log that can't be read.
        """
        self.list()
        with self._lock:
            view = self._view(name)
            return view.look(self._known.get(name))

    def _view(self, name: str) -> _GrowingView:
        view = self._views.get(name)
        if view is None:
            session = self._known.get(name)
            if session is None:
                raise NoLiveSession(
                    "No session with this id runs on this machine. Look at the list of running sessions again."
                )
            view = _GrowingView(name, session, self._clock, self._rest)
            self._views[name] = view
        self._views.move_to_end(name)
        while len(self._views) > MOST_VIEWS:
            self._views.popitem(last=False)
        return view


class _GrowingView:
    """One log, its events, and what the page shows of them."""

    def __init__(
        self,
        name: str,
        session: RunningSession,
        clock: Callable[[], float],
        rest: float,
    ) -> None:
        self._name = name
        self._session = session
        self._clock = clock
        self._rest = rest
        self._lock = threading.Lock()
        self._log = _log_of(session)
        self._events: list[Event] = []
        self._held: tuple[Event, ...] = ()
        self._imported: ImportedSession | None = None
        self._has_grown = False
        self._next_fold = float("-inf")
        self._number = 0
        self._view: LiveView | None = None

    def look(self, session: RunningSession | None) -> tuple[int, LiveView]:
        """The view now. ``session`` is its line of the list; ``None`` for one that runs no longer."""
        with self._lock:
            self._read()
            line = self._session if session is None else session
            is_due = self._has_grown and self._clock() >= self._next_fold
            if self._view is None or is_due:
                self._fold(line, is_running=session is not None)
            elif self._view.is_running != (session is not None):
                self._view = replace(self._view, is_running=session is not None)
                self._number += 1
            assert self._view is not None
            return self._number, self._view

    def _read(self) -> None:
        growth = self._log.look()
        if growth is None:
            return
        if growth.is_whole:
            self._events.clear()
        self._events += growth.certain
        self._held = growth.held
        self._imported = growth.imported
        self._has_grown = True

    def _fold(self, session: RunningSession, *, is_running: bool) -> None:
        begun = self._clock()
        assert self._imported is not None
        meter = log_meter(self._imported)
        view = log_view(self._imported, (*self._events, *self._held), meter)
        if not len(meter) and not meter.steps:
            raise UnusableSession(
                "This session holds no message and no model call yet. Try again after its first answer."
            )
        facts, reading = view.log, view.reading
        if session.format in DATABASE_FORMATS:
            facts = replace(facts, lines=None)
        session = replace(
            session, reading=reading, model=reading.model, calls=facts.calls
        )
        line = line_of(session, time.time())
        self._view = shown_as(
            LiveView,
            view,
            log=facts,
            line=replace(line, id=self._name),
            is_running=is_running,
            is_whole=not self._log.leaves_out,
        )
        self._number += 1
        self._has_grown = False
        self._next_fold = self._clock() + self._rest * (self._clock() - begun)


def _log_of(session: RunningSession) -> GrowingLog:
    path = Path(session.path)
    is_stored = session.format in DATABASE_FORMATS
    name = session.id if is_stored else ""
    try:
        is_large = not is_stored and path.stat().st_size > WHOLE_BYTES
    except OSError:
        is_large = False
    return GrowingLog(path, name, ends=ENDS if is_large else None, most=LOG_BYTES)


def line_of(session: RunningSession, now: float) -> LiveLine:
    """A line of the list. Names no path beyond the directory's own name."""
    reading = session.reading
    name = session.id if session.format in DATABASE_FORMATS else ""
    used = None if reading is None else reading.used
    return shown_as(
        LiveLine,
        session,
        id=live_id(session.path, name),
        program=session.program[:SHOWN],
        project=session.project[:SHOWN],
        title=session.title[:SHOWN],
        model=session.model[:SHOWN],
        changed=session.active_at,
        is_busy=now - session.active_at < BUSY_S,
        tokens=None if used is None else used.tokens,
        low=None if used is None else used.low,
        high=None if used is None else used.high,
        window=None if reading is None else reading.window.tokens,
        compaction_point=None if reading is None else reading.compaction_point,
        problem=session.problem[:SHOWN],
    )


def live_id(path: str, session: str = "") -> str:
    """The id of a session: the same as long as its log is there, and tells nothing of its path."""
    return blake2b(
        repr((path, session)).encode("utf-8", "replace"), digest_size=12
    ).hexdigest()


# -- over HTTP --

TAG: Final = token_hex(4)
"""Of this process: a later one numbers its states anew."""

IfNoneMatch = Annotated[
    str, HeaderParameter(name="If-None-Match", max_length=100, required=False)
]

UNCHANGED: Final = {
    304: ResponseSpec(
        data_container=None,
        description="Nothing has changed since the tag that was sent.",
    )
}


def live_of(state: AppState) -> LiveSessions:
    """What runs on this machine. Raises ``LiveOff``."""
    live = state.live
    if live is None:
        raise LiveOff(
            "This server does not show the sessions that run on its machine. Start it with `ullage serve --live`."
        )
    assert isinstance(live, LiveSessions)
    return live


@get(
    "/v1/live",
    summary="Running sessions of all programs of this machine",
    responses=UNCHANGED,
)
async def list_live(state: AppState, known: IfNoneMatch = "") -> Response[LiveList]:
    """Logs of other programs, and what the proxy metered. Sent back as ``If-None-Match``, an ``ETag`` asks for news."""
    live = live_of(state)
    listed = await asyncio.to_thread(live.list)
    digest = blake2b(msgspec.json.encode(listed), digest_size=12).hexdigest()
    return _unless_known(listed, digest, known)


@get(
    "/v1/live/{live:str}",
    summary="The window of a running session",
    responses=UNCHANGED,
)
async def follow_live(
    state: AppState, live: FromPath[str], known: IfNoneMatch = ""
) -> Response[LiveView]:
    """As for a log that is looked at. Ask again with its ``ETag``: 304 until the session has grown."""
    sessions = live_of(state)
    number, view = await asyncio.to_thread(sessions.view, live)
    return _unless_known(view, f"{TAG}-{number}", known)


def _unless_known(content: Any, tag: str, known: str) -> Response[Any]:
    quoted = f'"{tag}"'
    if known == quoted:
        return Response(None, status_code=304, headers={"etag": quoted})
    return Response(content, headers={"etag": quoted})
