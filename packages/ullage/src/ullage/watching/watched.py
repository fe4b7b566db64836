"""One growing log and the meter that has applied what is certain of it: what watching a session and a list share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ullage.context.costs import after
from ullage.errors import InputError
from ullage.events import (
    CallEnded,
    Event,
    FirstCall,
    MessageAdded,
    ReadingTaken,
)
from ullage.importers import ImportedSession
from ullage.importers.growing import GrowingLog, Growth
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.spent_calls import CallCollector
from ullage.watching.status import reading_event


class UnusableSession(InputError):
    """A log that was recognised, but holds nothing of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a look at a growing log comes to."""

    reading: Reading
    status: ReadingTaken
    """With what it grew by since the last look, and whether the limit is near."""
    calls: int
    imported: ImportedSession
    spent: CallCollector
    """What each call spent, where that is kept."""
    happened: tuple[Event, ...] = ()
    """Notable events since the last look; nothing of what came before the first one."""
    restarted: str = ""


def _nothing(value: object) -> bool:
    return False


@dataclass(slots=True)
class Watched:
    """One log and the meter that has applied what is certain of it.

    ``is_notable`` chooses the events that ``Seen.happened`` lists, ``on_overhead`` is given what the session's calls
    show for later ones. With ``keeps_calls`` what each call spent is kept.
    """

    log: GrowingLog
    new_meter: Callable[[ImportedSession], Meter]
    is_notable: Callable[[Event], object] = _nothing
    on_overhead: Callable[[tuple[FirstCall, ...]], object] = _nothing
    keeps_calls: bool = False
    is_behind: bool = False
    """The last look did not reach the end of the log; the next one reads on."""
    _meter: Meter | None = None
    _calls: int = 0
    _usable: bool = False
    _overhead: tuple[FirstCall, ...] = ()
    """What was given to it."""
    _last: ReadingTaken | None = None
    _spent: CallCollector = field(default_factory=CallCollector)
    _told: set[tuple[str, int]] = field(default_factory=set)
    _restarted: str = ""
    """Why the log is read anew, until a look finds something in it."""

    def look(self) -> Seen | None:
        """What has changed; ``None`` when nothing has, or while the look is behind.

        Raises ``InputError`` while the log is not there or holds nothing that can be used; it may at the next look.
        """
        growth = self.log.look()
        if growth is None:
            return None
        if growth.is_whole or self._meter is None:
            self._meter = self.new_meter(growth.imported)
            self._calls, self._usable = 0, False
            reader = self.log.reader
            has_ids = reader is not None and reader.names_calls
            self._spent = CallCollector(has_ids=has_ids)
        if growth.restarted:
            self._told, self._restarted = set(), growth.restarted
        self._apply(self._meter, growth.certain, self._spent)
        self._calls += _main_calls(growth.certain)
        self._usable = self._usable or _is_usable(growth.certain)
        self.is_behind = growth.is_behind
        if growth.is_behind:
            return None
        if not (self._usable or _is_usable(growth.held)):
            raise UnusableSession(
                f"{self.log.path} holds no message and no model call yet. Try again after its first answer."
            )
        meter = self._meter
        spent = self._spent
        if growth.held:  # a later look may give other events in their place
            meter = Meter._of(after(meter._fold, ()))
            spent = spent.copy()
            self._apply(meter, growth.held, spent)
        if meter.overhead != self._overhead:
            self._overhead = meter.overhead
            self.on_overhead(meter.overhead)
        return self._seen(growth, meter, spent)

    def _apply(self, meter: Meter, events: Sequence[Event], spent: CallCollector) -> None:
        for event in events:
            meter.apply(event)
        if self.keeps_calls:
            spent.add(events)

    def _seen(self, growth: Growth, meter: Meter, spent: CallCollector) -> Seen:
        reading, last = meter.reading(), self._last
        restarted, self._restarted = self._restarted, ""
        status = reading_event(
            reading,
            messages=len(meter.messages),
            last=last,
        )
        self._last = status
        happened = [
            event for event in (*growth.certain, *growth.held) if self.is_notable(event)
        ]
        new = [
            event
            for event in happened
            if (type(event).__name__, event.seq) not in self._told
        ]
        self._told.update((type(event).__name__, event.seq) for event in happened)
        return Seen(
            reading=reading,
            status=status,
            calls=self._calls + _main_calls(growth.held),
            imported=growth.imported,
            spent=spent,
            happened=tuple(new) if last is not None and not restarted else (),
            restarted=restarted,
        )


def _main_calls(events: Sequence[Event]) -> int:
    return sum(
        isinstance(event, CallEnded) and event.purpose == "main" for event in events
    )


def _is_usable(events: Sequence[Event]) -> bool:
    return any(isinstance(event, MessageAdded | CallEnded) for event in events)
