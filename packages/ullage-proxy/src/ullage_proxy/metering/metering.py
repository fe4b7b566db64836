"""What the proxy meters: frames of the relay in, lanes, meters and the store behind them, frames for the relay out.

A call is *stored* once its last event is in the store. The relay sends what was not stored again to the next process,
so each step here may be repeated: events of a call that the ledger has are not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from ullage.advice.cause import Cause
from ullage.codec.held import continued_as
from ullage.codec.parts import as_text
from ullage.codec.routes import ApiRoute, route_of
from ullage.codec.wires import wire_named
from ullage.compactor.call_events import ended, failed
from ullage.errors import (
    InvalidRequest,
)
from ullage.events import (
    CallEnded,
    Event,
    MessageAdded,
    SessionStarted,
)
from ullage.messages import Request
from ullage.meter.lanes import Lanes, Placed, SeenRequest
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.sent_items import sent_items
from ullage.meter.without_content import ContentRemover
from ullage.metering.lane_shelf import LaneShelf, LearningHooks, Notices
from ullage.metering.metered_lane import MeteredLane
from ullage.metering.policy import MOST_OPEN
from ullage.metering.tapped import TappedAnswer, UnreadableTap, read_answer, read_request
from ullage.models.providers import canonical, is_listed
from ullage.store.store import SessionStore
from ullage_programs.facts import NO_SETTINGS, ClientSettings
from ullage_proxy.metering.provisional import ProvisionalCall, ProvisionalCalls
from ullage_proxy.relay.frames import TapFrame, at_of, encoded


class MeteredCall(NamedTuple):
    """A call that has ended, for a person who watches. ``reading`` is the window after it."""

    at: float
    placed: Placed
    model: str
    estimate: Reading
    end: CallEnded
    reading: Reading | None
    """``None`` for a call beside the conversation."""
    cause: Cause | None = None
    """Why it paid again for tokens that were cached."""


@dataclass(slots=True, kw_only=True)
class _CallUnderWay:
    """A call whose answer has not come. ``request`` is without its messages."""

    placed: Placed
    lane: MeteredLane
    request: Request
    estimate: Reading
    learns: bool = True


class CallMeter:
    """Meters calls, one frame at a time. Not for sharing between tasks.

    ``say`` tells the person who runs the proxy what they have to know, once each; ``show`` is given each call that has
    ended. Without a ``store`` nothing is kept. ``local`` names upstreams that may be simulators: nothing is learnt from
    them for other sessions.
    """

    def __init__(
        self,
        store: SessionStore | None,
        *,
        lanes: Lanes | None = None,
        local: Collection[str] = (),
        keeps_content: bool = True,
        learnt: LearningHooks | None = None,
        settings_of: Callable[[str, str], ClientSettings] = lambda *_: NO_SETTINGS,
        say: Callable[[str], None] = lambda _: None,
        show: Callable[[MeteredCall], None] = lambda _: None,
        most_open: int = MOST_OPEN,
    ) -> None:
        self._lanes = lanes or Lanes()
        self._local = frozenset(local)
        self._keeps_content = keeps_content
        self._learnt = learnt or LearningHooks()
        self._show = show
        self._notices = Notices(say)
        self._open: dict[str, _CallUnderWay] = {}
        self._waiting: dict[str, list[MeteredLane]] = {}
        """Lanes that have events of a call; it is stored once none of them is pending."""
        self._provisional = ProvisionalCalls()
        self._shelf = LaneShelf(
            store,
            self._lanes,
            self._learnt,
            settings_of,
            self._notices,
            self._replace,
            keeps_content=keeps_content,
            most_open=most_open,
        )

    # -- frames --

    async def take(self, frame: TapFrame) -> list[bytes]:
        """Meter one frame; gives the frames for the relay. Raises nothing for what a client or a server may send."""
        replies: list[bytes] = []
        if frame.kind == "request":
            replies = await self._placed(frame)
        elif frame.kind == "answer":
            if not self._provisional.keep_answer(frame):
                replies = await self._answer(frame)
        elif frame.kind == "lost":
            self._notices.say_once(
                "Some calls were not metered: more came than could be metered in time."
            )
        return replies + await self._store()

    async def settle(self) -> list[bytes]:
        """Store what is pending, after a while in which nothing came; gives ``stored`` for the calls that are in the
        store now."""
        return await self._meter_kept(self._provisional.all()) + await self._store()

    async def _placed(self, frame: TapFrame) -> list[bytes]:
        """Meter a request, after those that it tells the place of; or keep it until another does."""
        try:
            seen = _seen(frame)
        except UnreadableTap as why:
            self._note_unread(why)
            return []
        replies = await self._meter_kept(self._provisional.told_by(seen, at_of(frame)))
        if self._lanes.is_provisional(seen):
            self._provisional.keep(frame, seen)
        else:
            await self._request(frame, seen)
        return replies

    async def _meter_kept(self, kept: Iterable[ProvisionalCall]) -> list[bytes]:
        replies: list[bytes] = []
        for each in kept:
            await self._request(each.frame, each.seen, opens=each.opens)
            if each.answer is not None:
                replies += await self._answer(each.answer)
        return replies

    async def _store(self) -> list[bytes]:
        await self._shelf.write()
        done: list[bytes] = []
        for call, lanes in list(self._waiting.items()):
            if not any(self._shelf.awaits(lane) for lane in lanes):
                del self._waiting[call]
                done.append(stored_frame(call))
        self._shelf.forget_oldest([opened.lane for opened in self._open.values()])
        return done

    @property
    def is_behind(self) -> bool:
        """Whether something waits for the store."""
        return self._shelf.is_behind or self._provisional.is_waiting

    async def restore(self, now: float) -> None:
        """Take up the lanes of the store that changed last. Called once, before the first frame."""
        await self._shelf.restore(now)

    def _replace(self, lane: MeteredLane, fresh: MeteredLane) -> None:
        for opened in self._open.values():
            if opened.lane is lane:
                opened.lane = fresh
        for call, lanes in self._waiting.items():
            self._waiting[call] = [fresh if each is lane else each for each in lanes]

    # -- a request --

    async def _request(
        self, frame: TapFrame, seen: SeenRequest, *, opens: bool = False
    ) -> None:
        try:
            self._open[seen.call] = await self._opened(frame, seen, opens=opens)
        except InvalidRequest as why:
            self._note_unread(why)

    def _note_unread(self, why: Exception) -> None:
        self._notices.say_once(
            f"A request was not metered: {why}. It was sent on unchanged."
        )

    async def _opened(
        self, frame: TapFrame, seen: SeenRequest, *, opens: bool
    ) -> _CallUnderWay:
        """The call as begun in its lane. Raises ``InvalidRequest``."""
        route = route_of(frame.text("method") or "POST", frame.text("path"))
        body, call = seen.body, seen.call
        placed = self._lanes.place(seen, opens=opens)
        if await self._shelf.takes_up(placed.session):
            placed = self._lanes.place(seen, opens=opens)
        provider = provider_of(seen.upstream, route)
        at = at_of(frame)
        started = SessionStarted(
            model=route.model or as_text(body.get("model")),
            wire=route.wire,
            provider=provider,
            program=placed.program,
            cwd=placed.cwd if self._keeps_content else "",
            at=at,
        )
        lane = await self._shelf.lane(placed, started)
        lane.at(at)
        lane.size = len(frame.payload)
        request = lane.bodies.read(
            body, wire=route.wire, provider=provider, model=route.model
        )
        if placed.forked and not lane.started:
            forked = await self._shelf.held(placed.forked)
            request = request if forked is None else forked.with_held(request)
        if call in lane.started:
            estimate = lane.reading()
        elif placed.purpose in ("main", "child"):
            items = sent_items(request, seen.headers)
            estimate = lane.before(request, call, placed.mark, items)
        else:
            calibration = self._learnt.calibration()
            estimate = Meter(calibration=calibration).before(request)
            lane.begin_beside(
                call,
                placed.purpose,
                estimate,
                stream=request.stream,
            )
        if placed.is_child:
            await self._begin_in_parent(
                placed,
                call,
                estimate,
                at,
                request.stream,
            )
        return _CallUnderWay(
            placed=placed,
            lane=lane,
            request=replace(request, messages=()),
            estimate=estimate,
            learns=seen.upstream not in self._local,
        )

    async def _begin_in_parent(
        self,
        placed: Placed,
        call: str,
        estimate: Reading,
        at: float,
        stream: bool,
    ) -> None:
        parent = await self._shelf.held(placed.session)
        if parent is None or call in parent.started:
            return
        parent.at(at)
        parent.begin_beside(call, "child", estimate, stream=stream)

    # -- an answer --

    async def _answer(self, frame: TapFrame) -> list[bytes]:
        call = frame.text("call")
        opened = self._open.pop(call, None)
        if opened is None:
            return [stored_frame(call)]  # its request was not readable
        lane, placed = opened.lane, opened.placed
        touched = [lane]
        if call not in lane.ended:
            self._end(frame, call, opened)
            if opened.learns:
                self._learnt.remember(lane.calibration, lane.first_call)
        if placed.is_child:
            parent = await self._shelf.held(placed.session)
            if parent is not None and call not in parent.ended:
                parent.at(at_of(frame))
                parent.emit(_beside(lane.ended[call], opened))
            if parent is not None:
                touched.append(parent)
        self._waiting[call] = touched
        return []

    def _end(
        self,
        frame: TapFrame,
        call: str,
        opened: _CallUnderWay,
    ) -> None:
        lane, placed, request = opened.lane, opened.placed, opened.request
        lane.at(at_of(frame))
        status = frame.header.get("status")
        tapped = read_answer(
            request,
            call,
            status=status if isinstance(status, int) else 0,
            headers=headers_of(frame),
            payload=frame.payload,
            outcome=frame.text("outcome"),
            note=frame.text("note"),
        )
        events = events_of(call, tapped, request)
        answer = tapped.answer
        is_step = placed.purpose in ("main", "child")
        for event in events:
            told = event
            if lane.remover is not None:
                told = without_content(event, request, lane.remover)
            if is_step:
                lane.emit(told)
            elif isinstance(told, CallEnded):
                lane.emit(_beside(told, opened))
        end = events[0]
        assert isinstance(end, CallEnded)
        message = None if answer is None else answer.message
        self._lanes.answered(call, message, end.continued_as)
        shown = MeteredCall(
            at_of(frame),
            placed,
            request.model,
            opened.estimate,
            end,
            lane.reading() if is_step else None,
            lane.cause if is_step else None,
        )
        self._show(shown)


def _seen(frame: TapFrame) -> SeenRequest:
    """A request as the lanes see it. Raises ``UnreadableTap``."""
    headers = headers_of(frame)
    body = read_request(frame.payload, headers)
    name = frame.text("session")
    if name:
        headers["x-ullage-session"] = name
    return SeenRequest(
        call=frame.text("call"),
        path=frame.text("path"),
        headers=headers,
        body=body,
        connection=frame.text("connection"),
        upstream=frame.text("upstream"),
    )


def headers_of(frame: TapFrame) -> dict[str, str]:
    """The headers of a frame that are text."""
    found: dict[str, str] = {}
    headers = frame.header.get("headers")
    if isinstance(headers, dict):
        for name, value in headers.items():
            if isinstance(value, str):
                found[str(name).lower()] = value
    return found


def provider_of(upstream: str, route: ApiRoute) -> str:
    """Who serves a call, by the upstream's name; the maker of its wire where the name says nothing."""
    if is_listed(upstream):
        return canonical(upstream)
    return wire_named(route.wire).maker


def stored_frame(call: str) -> bytes:
    """Tells the relay that a call is in the store."""
    return encoded({"kind": "stored", "call": call})


def events_of(
    call: str,
    tapped: TappedAnswer,
    request: Request,
) -> list[Event]:
    """The events of a call's end, the ``CallEnded`` first."""
    if tapped.problem is not None:
        return failed(call, tapped.problem, request.model)
    if tapped.answer is None:
        return [
            CallEnded(
                call=call,
                outcome=tapped.outcome,
                error=tapped.note,
            )
        ]
    answer = tapped.answer
    events = ended(call, answer)
    end = events[0]
    if isinstance(end, CallEnded):
        name = continued_as(request, answer.response_id)
        outcome = "cancelled" if tapped.outcome == "cancelled" else end.outcome
        events[0] = replace(end, outcome=outcome, continued_as=name)
    return events


def without_content(event: Event, request: Request, remover: ContentRemover) -> Event:
    """An event of a call's end without what anybody has written."""
    if isinstance(event, CallEnded):
        return replace(event, error="")
    if isinstance(event, MessageAdded):
        message = remover.answer(event.message, request)
        return replace(event, message=message)
    return event


def _beside(end: CallEnded, opened: _CallUnderWay) -> CallEnded:
    """The end of a call that is no step of its lane."""
    request = opened.request
    return replace(
        end,
        purpose=opened.placed.purpose,
        model=end.model or request.model,
        provider=request.provider,
    )
