"""What was in the window at each call of a session: every item with the call it came with and the call it left after.

``history_of`` folds the events of any session: our own, another program's log, a proxy's ledger. An item is a block of
the system prompt, a tool's declaration, a part of a message, a summary. Items that are in the window now sum to the
reading; at an earlier call they sum to about what that call held.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ullage.advice.call_rows import call_row
from ullage.advice.cause import Cause
from ullage.advice.causes import CauseFollower
from ullage.advice.fitting import items_now
from ullage.advice.following import ItemFollower
from ullage.advice.lives import CallRow, ItemLife
from ullage.events import CallEnded, Event
from ullage.meter.meter import Meter


class WindowHistory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The calls of a session in the order they ended, and the items that at least one request held or will hold.

    ``used`` is the reading's estimate of the next request, number ``next_call``: the items that are still in the window
    and are ``is_summed`` sum to it.
    """

    session: str = ""
    program: str = ""
    model: str = ""
    next_call: int = 1
    used: int = 0
    calls: tuple[CallRow, ...] = ()
    items: tuple[ItemLife, ...] = ()

    @property
    def main_calls(self) -> tuple[CallRow, ...]:
        """The calls of the conversation itself."""
        return tuple(row for row in self.calls if row.purpose == "main")

    @property
    def causes(self) -> dict[str, Cause | None]:
        """Why calls paid again, by their names."""
        return {row.call: row.cause for row in self.main_calls}

    def without_content(self) -> WindowHistory:
        """The same without labels, paths and quotes, which have what was said in the session."""
        items: list[ItemLife] = []
        for item in self.items:
            part = item.part if item.message else item.tool
            items.append(msgspec.structs.replace(item, part=part, label="", path=""))
        calls: list[CallRow] = []
        for row in self.calls:
            cause = row.cause
            if cause is not None:
                cause = msgspec.structs.replace(cause, quote="")
            calls.append(msgspec.structs.replace(row, cause=cause))
        return msgspec.structs.replace(self, items=tuple(items), calls=tuple(calls))


def history_of(
    events: Iterable[Event],
    meter: Meter | None = None,
) -> WindowHistory:
    """The history of a session, from all of its events. Costs O(events + items); never raises.

    ``meter`` is one without events, for a window, settings or a calibration of the caller's; it has applied them all
    afterwards, so that its reading is the one the history ends with.
    """
    if meter is None:
        meter = Meter()
    known = list(events)
    ended = {event.call for event in known if isinstance(event, CallEnded)}
    fold = meter._fold
    follower = ItemFollower(fold, ended)
    causes = CauseFollower()
    rows: list[CallRow] = []
    before_used = 0
    for event in known:
        if not isinstance(event, CallEnded):
            meter.apply(event)
            follower.follow(event)
            causes.follow(event, fold)
            continue
        row = call_row(event, meter, follower, before_used)
        rows.append(msgspec.structs.replace(row, cause=causes.follow(event, fold)))
        if row.purpose == "main" and row.outcome != "failed":
            before_used = row.used
    reading = meter.reading()
    return WindowHistory(
        session=fold.session,
        program=fold.program,
        model=fold.model,
        next_call=follower.next_call,
        used=reading.used.tokens,
        calls=tuple(rows),
        items=(*follower.gone, *items_now(follower, reading)),
    )


def history_now(meter: Meter) -> WindowHistory:
    """What a meter knows of its session without the events: its calls, and the items of the next request.

    Costs O(calls + items in view).
    """
    fold = meter._fold
    follower = ItemFollower(fold, set())
    calls: list[CallRow] = []
    for step in meter.steps:
        calls.append(
            CallRow(
                number=step.number, call=step.call, used=step.tokens, marks=step.marks
            )
        )
    follower.follow_all({row.call: row.number for row in calls})
    reading = meter.reading()
    return WindowHistory(
        session=fold.session,
        program=fold.program,
        model=fold.model,
        next_call=follower.next_call,
        used=reading.used.tokens,
        calls=tuple(calls),
        items=tuple(items_now(follower, reading)),
    )
