"""One recorded session, read and metered up to a chosen step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ullage.cli.screen import progress
from ullage.display.text import counted
from ullage.errors import InputError
from ullage.events import CallEnded, CallStarted, Event
from ullage.importers import ImportedSession
from ullage.meter.meter import Meter
from ullage.watching.usable_logs import read_usable


class NoSuchStep(InputError):
    """A step that the session does not have; the message names those it has."""


@dataclass(frozen=True, slots=True)
class Metered:
    """A session's log and the meter that has applied its events, up to just before ``step`` where one was asked for."""

    imported: ImportedSession
    meter: Meter
    calls: int
    step: int | None = None
    events: Sequence[Event] = ()
    """Those that the meter has applied."""


def read_session(path: Path, session: str = "") -> ImportedSession:
    """The session in a log, or the named one of several.

    Raises ``UnreadableInput``, ``NotASession`` and ``UnusableSession``.
    """
    with progress(f"Reading {path.name}"):
        imported = read_usable(path, session)
    # Of a chosen session the others are nothing to say.
    return dataclasses.replace(imported, other_sessions=0) if session else imported


def metered(imported: ImportedSession, meter: Meter, step: int | None = None) -> Metered:
    """Apply the session's events, all of them or those before main call number ``step``. Raises ``NoSuchStep``."""
    starts = main_calls(imported.events)
    events: Sequence[Event] = imported.events
    if step is not None:
        if not 1 <= step <= len(starts):
            has = (
                f"it has {counted(len(starts), 'call')}: 1 to {len(starts)}"
                if starts
                else "it has no model call"
            )
            raise NoSuchStep(f"There is no call number {step} in this session, {has}.")
        events = events[: starts[step - 1]]
    with progress(f"Measuring {counted(len(events), 'event')}"):
        for event in events:
            meter.apply(event)
    return Metered(imported, meter, len(starts), step, events)


def main_calls(events: Sequence[Event]) -> list[int]:
    """Where each main call that came to an end was started, in order. Call number 1 is the first."""
    ended = {
        event.call
        for event in events
        if isinstance(event, CallEnded) and event.purpose == "main"
    }
    return [
        place
        for place, event in enumerate(events)
        if isinstance(event, CallStarted)
        and event.purpose == "main"
        and event.call in ended
    ]
