"""The lanes that are in memory: taken up from the store when they are needed, and stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ullage.errors import (
    LeaseLost,
    SessionNotFound,
    StoreError,
    StoreUnavailable,
    UllageError,
)
from ullage.events import CallEnded, CallStarted, Event, FirstCall, SessionStarted
from ullage.meter.lanes import Lanes, Placed
from ullage.meter.policy import FIRST_CALLS_GIVEN
from ullage.meter.without_content import ContentRemover
from ullage.metering.metered_lane import MeteredLane, TakenOver
from ullage.metering.policy import HELD_BYTES, MOST_CHILDREN, RECENT_S
from ullage.store.store import SessionStore
from ullage.tokens.calibration import Calibration
from ullage_programs.facts import ClientSettings


@dataclass(slots=True, kw_only=True)
class LearningHooks:
    """What earlier sessions have taught, and where what these teach goes."""

    calibration: Callable[[], Calibration] = Calibration
    first_calls: Callable[[], tuple[FirstCall, ...]] = tuple
    remember: Callable[[Calibration, FirstCall | None], None] = lambda *_: None


class Notices:
    """What the person who runs the proxy has to know, each said once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: set[str] = set()

    def say_once(self, words: str) -> None:
        """Tell it, unless it was told before."""
        if words not in self._said:
            self._said.add(words)
            self._say(words)

    def forget(self) -> None:
        """From here on everything may be said again."""
        self._said.clear()


class LaneShelf:
    """``replace`` is called with a lane and the one in its place, where another process has written to its session."""

    def __init__(
        self,
        store: SessionStore | None,
        lanes: Lanes,
        learnt: LearningHooks,
        settings_of: Callable[[str, str], ClientSettings],
        notices: Notices,
        replace: Callable[[MeteredLane, MeteredLane], None],
        *,
        keeps_content: bool,
        most_open: int,
    ) -> None:
        self._store = store
        self._lanes = lanes
        self._learnt = learnt
        self._settings_of = settings_of
        self._notices = notices
        self._replace = replace
        self._keeps_content = keeps_content
        self._most_open = most_open
        self._held: OrderedDict[str, MeteredLane] = OrderedDict()
        self._known: set[str] = set()
        """Names of the sessions that the lanes know."""
        self._is_failing = False

    def __len__(self) -> int:
        return len(self._held)

    @property
    def is_behind(self) -> bool:
        """Whether something waits for the store."""
        return any(lane.pending for lane in self._held.values())

    def awaits(self, lane: MeteredLane) -> bool:
        """Whether something of this lane will still be stored. A lane that could not be is no longer here."""
        return bool(lane.pending) and self._held.get(lane.name) is lane

    async def write(self) -> None:
        """Store what is pending, as far as the store can."""
        for lane in list(self._held.values()):
            if lane.pending and not await self._write(lane):
                break

    async def takes_up(self, session: str) -> bool:
        """Whether the lanes learnt only now of a session that was stored, so that its request is to be placed again."""
        if session in self._known:
            return False
        return await self.held(session) is not None

    async def lane(
        self,
        placed: Placed,
        started: SessionStarted,
    ) -> MeteredLane:
        """The lane that a request was placed in; that of its conversation is there then, too."""
        conversation = await self._lane_named(
            placed.session,
            "",
            started,
        )
        if not placed.is_child:
            return conversation
        return await self._lane_named(
            placed.lane,
            placed.session,
            started,
        )

    async def _lane_named(
        self,
        name: str,
        origin: str,
        started: SessionStarted,
    ) -> MeteredLane:
        lane = await self.held(name)
        if lane is None:
            lane = MeteredLane(name, origin)
            lane.at(started.at)
            self._begin(lane, started)
            self._known.add(name)
            self._hold(lane)
        return lane

    def _begin(
        self,
        lane: MeteredLane,
        started: SessionStarted,
    ) -> None:
        key = f"{started.provider}/{started.model}"
        known = self._learnt.calibration().models
        learnt = {key: known[key]} if key in known else {}
        calls: list[FirstCall] = []
        for each in self._learnt.first_calls():
            if (
                each.content
                and each.model == started.model
                and len(calls) < FIRST_CALLS_GIVEN
            ):
                calls.append(each)
        settings = self._settings_of(started.program, started.cwd)
        lane.begin(started, settings, Calibration(models=learnt), calls)

    async def held(self, name: str) -> MeteredLane | None:
        """A lane in memory or from the store; ``None`` where it is new."""
        lane = self._held.get(name)
        if lane is not None:
            self._held.move_to_end(name)
            return lane
        if self._store is None:
            return None
        try:
            about = await self._store.about(name)
            events = await self._store.read(name)
        except SessionNotFound:
            return None
        except StoreError as problem:
            self._note_failure(problem)
            return None
        lane = self._take_up(name, about.origin, events)
        if not about.origin:
            await self._take_up_children(name)
        return lane

    async def _take_up_children(self, name: str) -> None:
        """Tell the lanes of the subagents that a conversation had, so that a new one gets a new number."""
        for number in range(1, MOST_CHILDREN + 1):
            child = f"{name}.child-{number}"
            if child not in self._known and await self.held(child) is None:
                return

    def _take_up(
        self,
        name: str,
        origin: str,
        events: list[Event],
    ) -> MeteredLane:
        """A lane from its ledger; the lanes learn of it too."""
        program, cwd = "", ""
        marks: list[str] = []
        names: list[str] = []
        for event in events:
            if isinstance(event, SessionStarted):
                program, cwd = event.program, event.cwd
            elif isinstance(event, CallStarted) and event.mark:
                marks.append(event.mark)
            elif isinstance(event, CallEnded) and event.continued_as:
                names.append(event.continued_as)
        settings = self._settings_of(program, cwd)
        lane = MeteredLane.of_stored(name, origin, events, settings)
        if name not in self._known:
            self._known.add(name)
            self._lanes.restore(origin or name, name, program, marks, names)
        self._hold(lane)
        return lane

    def _hold(self, lane: MeteredLane) -> None:
        """Keep a lane in memory."""
        if not self._keeps_content:
            lane.remover = ContentRemover()
        self._held[lane.name] = lane

    async def restore(self, now: float) -> None:
        """Take up the lanes of the store that changed last. Called once, before the first frame."""
        if self._store is None:
            return
        try:
            rows = await self._store.sessions(limit=self._most_open)
        except StoreError as problem:
            self._note_failure(problem)
            return
        for row in reversed(rows):
            if row.changed > now - RECENT_S:
                await self.held(row.id)

    def forget_oldest(self, busy: Collection[MeteredLane]) -> None:
        """Let go of the lanes used longest ago that no call needs."""
        size = sum(lane.size for lane in self._held.values())
        for name, lane in list(self._held.items()):
            if len(self._held) <= self._most_open and size <= HELD_BYTES:
                return
            if not lane.pending and lane not in busy:
                del self._held[name]
                size -= lane.size

    # -- the store --

    async def _write(self, lane: MeteredLane) -> bool:
        """Store what is pending of a lane; False where the store can't do it now."""
        if self._store is None:
            lane.pending.clear()
            return True
        try:
            await lane.write(self._store)
        except (LeaseLost, SessionNotFound, TakenOver):
            await self._redo(lane)
            return True
        except StoreUnavailable as problem:
            self._note_failure(problem)
            return False
        except UllageError as problem:
            self._notices.say_once(f"Part of a session was not stored: {problem}")
            lane.keep_storable()
            await self._write_rest(lane)
            return True
        if self._is_failing:
            self._is_failing = False
            self._notices.forget()
            self._notices.say_once("The calls are being stored again.")
        return True

    async def _write_rest(self, lane: MeteredLane) -> None:
        """Store what can be stored of a lane, whose ledger is then read again when it is needed."""
        try:
            if self._store is not None:
                await lane.write(self._store)
        except (UllageError, TakenOver) as problem:
            self._notices.say_once(f"Part of a session was not stored: {problem}")
        lane.pending.clear()
        self._held.pop(lane.name, None)

    async def _redo(self, lane: MeteredLane) -> None:
        """Read a lane again that another process has written to; what was pending is made again by its calls."""
        del self._held[lane.name]
        fresh = await self.held(lane.name)
        is_there = fresh is not None
        if fresh is None:
            fresh = MeteredLane(lane.name, lane.origin)
            self._hold(fresh)
        for event in lane.pending:
            if not (is_there and isinstance(event, SessionStarted)):
                fresh.at(event.at)
                fresh.emit(event)
        self._replace(lane, fresh)

    def _note_failure(self, problem: StoreError) -> None:
        self._is_failing = True
        self._notices.say_once(
            f"{problem} Metering goes on in memory, and what is metered is stored when that works again."
        )
