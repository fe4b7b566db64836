"""What one run of a client came to, as the store tells it: a line for each of its sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ullage.directories import data_directory
from ullage.display.text import counted, dollars, number, percent
from ullage.errors import UllageError
from ullage.events import CallStarted, Event, SessionStarted
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.store.sqlite.store import SqliteStore
from ullage_programs.facts import NO_SETTINGS, ClientSettings
from ullage_programs.programs import facts_of
from ullage_programs.settings import PROXY_FILE, settings_of

MOST: Final = 20
"""Sessions that were changed last, which are looked at."""


class WrappedSession(NamedTuple):
    """A session that a run took part in. ``calls`` are those of the run; ``reading`` is after the last one."""

    id: str
    calls: int
    reading: Reading
    has_other_calls: bool = False
    """Of other runs: its cost is not that of this run alone."""


def wrapped_calls(store: str, relay: str) -> list[str]:
    """A line for each session of the relay of that name, and how to see more; none without calls."""
    path = Path(store) if store else data_directory() / PROXY_FILE
    if not path.exists():
        return []
    try:
        found = asyncio.run(_sessions(path, relay))
    except UllageError as problem:
        return [f"What was metered can't be read: {problem}"]
    return [_line(each) for each in found]


async def _sessions(path: Path, relay: str) -> list[WrappedSession]:
    store = SqliteStore(path)
    found = []
    try:
        for row in await store.sessions(limit=MOST):
            if row.origin:
                continue  # a subagent's calls are in its session too
            events = await store.read(row.id)
            settings = client_settings(events, path)
            meter = Meter(session=row.id, client_settings=settings)
            calls = 0
            others = 0
            for event in events:
                meter.apply(event)
                if not isinstance(event, CallStarted):
                    continue
                if event.call.startswith(f"{relay}-"):
                    calls += 1
                else:
                    others += 1
            if calls:
                reading = meter.reading()
                found.append(WrappedSession(row.id, calls, reading, others > 0))
    finally:
        await store.close()
    return found


def client_settings(events: Sequence[Event], path: Path) -> ClientSettings:
    """The settings of the program whose session this is, as they are now: its window follows from them."""
    for event in events:
        if isinstance(event, SessionStarted):
            return settings_of(facts_of(event.program), path, event.cwd).values
    return NO_SETTINGS


def _line(session: WrappedSession) -> str:
    reading = session.reading
    used = f"{number(reading.used.tokens)} tokens"
    window = reading.window.tokens
    if window is not None:
        share = percent(reading.used.tokens, window)
        used = f"{number(reading.used.tokens)} of {number(window)} tokens ({share})"
    items = [counted(session.calls, "call"), used]
    money = reading.spend.money
    if money.priced:
        about = "about " if money.inexact or money.unpriced else ""
        of_all = " with its earlier runs" if session.has_other_calls else ""
        items.append(f"{about}{dollars(money.usd)}{of_all}")
    return (
        f"session {session.id}: {', '.join(items)}. "
        f"`ullage context {session.id}` shows more."
    )
