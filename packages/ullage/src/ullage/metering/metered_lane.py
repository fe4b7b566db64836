"""One stored session of the proxy: its meter, and the events that are not in the store yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.advice.cause import Cause
from ullage.advice.causes import CauseFollower
from ullage.codec.bodies import BodyReader
from ullage.errors import CommandRefused, WrongType
from ullage.events import (
    Calibrated,
    CallEnded,
    CallStarted,
    Event,
    FirstCall,
    OverheadLearnt,
    Purpose,
    SentItem,
    SessionStarted,
)
from ullage.messages import Request
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.without_content import ContentRemover
from ullage.metering.policy import AT_ONCE_S
from ullage.store.leases import new_owner
from ullage.store.rows import to_row
from ullage.store.store import Lease, SessionStore
from ullage.tokens.calibration import Calibration
from ullage_programs.facts import NO_SETTINGS, ClientSettings

OWNER: Final = new_owner()


class MeteredLane:
    """A conversation, or one of its subagents. Not for sharing between tasks."""

    def __init__(
        self,
        name: str,
        origin: str = "",
    ) -> None:
        self.name = name
        self.origin = origin
        """The conversation that a subagent belongs to; empty for the conversation itself."""
        self.program = ""
        self.remover: ContentRemover | None = None
        """Takes the content out of what is stored, where none is to be kept."""
        self.bodies = BodyReader()
        self.started: dict[str, Purpose] = {}
        self.ended: dict[str, CallEnded] = {}
        self.pending: list[Event] = []
        """Applied, and not stored."""
        self._meter = Meter(session=name, on_event=self._keep)
        self._seq = 0
        self._stored = 0
        self._at = 0.0
        self._lease: Lease | None = None
        self.is_stored = False
        self.size = 0
        """Bytes of its last request."""
        self.cause: Cause | None = None
        """Why its last call paid again for tokens."""
        self._causes = CauseFollower()

    # -- the store --

    @classmethod
    def of_stored(
        cls,
        name: str,
        origin: str,
        events: Sequence[Event],
        settings: ClientSettings,
    ) -> MeteredLane:
        """The lane as its ledger tells it."""
        lane = cls(name, origin)
        lane._meter = Meter(
            session=name,
            on_event=lane._keep,
            client_settings=settings,
        )
        for event in events:
            lane._apply(event)
        lane._stored = lane._seq
        lane.is_stored = True
        return lane

    async def write(self, store: SessionStore) -> None:
        """Store what is pending. Raises ``StoreUnavailable``.

        ``LeaseLost``, ``SessionNotFound`` and ``TakenOver``: the ledger has changed, and has to be read again.
        """
        if not self.pending:
            return
        events = tuple(self.pending)
        if not self.is_stored:
            try:
                await store.create(
                    self.name,
                    events,
                    origin=self.origin,
                )
            except CommandRefused as taken:
                raise TakenOver(str(taken)) from None
            self.is_stored = True
        else:
            if self._lease is None:
                self._lease = await store.acquire(
                    self.name,
                    OWNER,
                    ttl_s=AT_ONCE_S,
                )
            written = await store.append(
                self._lease, events, after=self._stored, exact=True
            )
            if len(written) != len(events) or written[0].seq != self._stored + 1:
                raise TakenOver(f"Another process has written to {self.name!r}.")
        self._stored += len(events)
        del self.pending[: len(events)]

    def keep_storable(self) -> None:
        """Leave out of what is pending what no store takes; the rest is numbered anew."""
        kept: list[Event] = []
        for event in self.pending:
            seq = self._stored + len(kept) + 1
            numbered = replace(event, seq=seq)
            try:
                to_row(numbered)
            except WrongType:
                continue
            kept.append(numbered)
        self.pending = kept

    # -- events --

    def begin(
        self,
        event: SessionStarted,
        settings: ClientSettings = NO_SETTINGS,
        calibration: Calibration | None = None,
        overhead: Iterable[FirstCall] = (),
    ) -> None:
        """Begin a new session, with what earlier ones have taught: its readings then follow from its ledger alone."""
        self._meter = Meter(
            session=self.name, on_event=self._keep, client_settings=settings
        )
        self.emit(event)
        if calibration is not None and calibration.models:
            learnt = Calibrated(
                model=event.model,
                call="",
                estimated=0,
                actual=0,
                error=0,
                ratio=1.0,
                state=msgspec.Raw(calibration.as_json()),
            )
            self.emit(learnt)
        calls = tuple(overhead)
        if calls:
            self.emit(OverheadLearnt(calls=calls))

    def emit(self, event: Event) -> None:
        """Apply an event and keep it for the store."""
        event = replace(
            event,
            session=self.name,
            seq=self._seq + 1,
        )
        self._meter.apply(event)
        self._keep(event)

    def at(self, seconds: float) -> None:
        """The time of the events that follow."""
        self._at = seconds

    def _keep(self, event: Event) -> None:
        """An event that was applied: counted, and kept for the store."""
        self._note(event)
        timed = replace(event, id="", at=self._at)
        self._follow(timed)
        self.pending.append(timed)

    def _apply(self, event: Event) -> None:
        self._note(event)
        self._meter.apply(event)
        self._follow(event)

    def _follow(self, event: Event) -> None:
        cause = self._causes.follow(event, self._meter._fold)
        if isinstance(event, CallEnded) and event.purpose == "main":
            self.cause = cause

    def _note(self, event: Event) -> None:
        self._seq = event.seq
        if isinstance(event, SessionStarted):
            self.program = event.program
        elif isinstance(event, CallStarted):
            self.started[event.call] = event.purpose
        elif isinstance(event, CallEnded):
            self.ended[event.call] = event

    # -- calls --

    def before(
        self, request: Request, call: str, mark: str, sent: Sequence[SentItem] = ()
    ) -> Reading:
        """The reading of a request that is a step of this lane; ``sent`` are the items of its body."""
        if self.remover is not None:
            request = self.remover.request(request)
        return self._meter.before(request, call=call, mark=mark, sent=sent)

    def with_held(self, request: Request) -> Request:
        """A request that another lane continues from this one's past, with what the provider holds in front of it."""
        whole = self._meter.with_held(request)
        is_unknown = len(whole.messages) == len(request.messages)
        if is_unknown:
            return request
        return replace(
            whole,
            chained="",
        )

    def begin_beside(
        self,
        call: str,
        purpose: Purpose,
        reading: Reading,
        *,
        stream: bool,
    ) -> None:
        """A call that is spend of this lane and no step of it."""
        started = CallStarted(
            call=call, purpose=purpose, estimate=reading.used.amount, stream=stream
        )
        self.emit(started)

    def reading(self) -> Reading:
        """The window now."""
        return self._meter.reading()

    @property
    def calibration(self) -> Calibration:
        """What this lane has taught, with what it began with."""
        return self._meter.calibration

    @property
    def first_call(self) -> FirstCall | None:
        """What the first call held beyond its estimate."""
        return self._meter.first_call


class TakenOver(Exception):
    """Another process has written to the session: this one has to read it again."""
