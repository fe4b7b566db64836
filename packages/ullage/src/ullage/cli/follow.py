"""``ullage context --follow``: the window of another agent's session, while that agent writes its log.

The reading after each look is the one that ``ullage context`` gives of the same bytes. A terminal shows the gauge at
its bottom and what happened above it; a pipe gets a line for each model call; ``--json`` a reading a line.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.cli.listing import without_content
from ullage.cli.meters import client_settings, new_meter, stored_calibration
from ullage.cli.overhead import remember_overhead, usable_overhead
from ullage.cli.screen import Screen
from ullage.cli.screenplay import (
    Notice,
    near_threshold_notice,
    report_notice,
    window_notice,
)
from ullage.cli.scroll import Scroll
from ullage.cli.sessions import no_session, place_of, short_id
from ullage.display.gauge_line import gauge_line
from ullage.display.text import Span, counted, json_text, number, printable
from ullage.errors import InputError, UnreadableInput
from ullage.events import (
    CompactionCommitted,
    Event,
    Pruned,
)
from ullage.importers import FoundSession, ImportedSession, find_sessions
from ullage.importers.growing import GrowingLog
from ullage.importers.regular import open_regular
from ullage.meter.meter import Meter
from ullage.watching.watched import Seen, UnusableSession, Watched

EVERY_S: Final = 0.25
"""Seconds between two looks at the log."""

NEWER_EVERY_S: Final = 2.0
"""Seconds between two searches for a session that was begun after this one."""

BEGUN_BYTES: Final = 65_536
"""A file without a whole line that is larger than this is no log that was just begun."""

# -- the command --


def follow(options: argparse.Namespace) -> int:
    """Follow until Ctrl-C, which gives 0. Raises ``UllageError``."""
    learnt, overhead = stored_calibration(), usable_overhead()

    def meter_of(imported: ImportedSession) -> Meter:
        return new_meter(options, learnt, overhead, client_settings(imported))

    show = _JsonLines() if options.json else Shown(Screen(sys.stdout))
    show.no_content = options.no_content
    named = options.file or options.session
    newer = None if named else Newer()
    place = place_of(named, options.session) if named else newest()
    watched = _watched(place, meter_of)
    try:
        with suppress(KeyboardInterrupt):
            _look(watched, place, show, is_first=True)
            while True:
                time.sleep(EVERY_S)
                if newer is not None and (begun := newer.than(place)) is not None:
                    place, watched = begun, _watched(begun, meter_of)
                    show.say(f"a newer session began: {begun.path}")
                _look(watched, place, show)
    finally:
        show.end()
    return 0


def _watched(
    place: FoundSession, meter_of: Callable[[ImportedSession], Meter]
) -> Watched:
    return Watched(
        GrowingLog(place.path, place.session),
        meter_of,
        is_notable=window_notice,
        on_overhead=remember_overhead,
    )


def _look(
    watched: Watched, place: FoundSession, show: _JsonLines, *, is_first: bool = False
) -> None:
    """What is wrong with the log from the start is an error, but for one that has only just been begun."""
    try:
        seen = watched.look()
    except InputError as problem:
        is_begun = isinstance(problem, UnusableSession) or is_begun_only(place.path)
        if is_first and not is_begun:
            raise
        show.wait(str(problem))
        return
    if seen is not None:
        show.show(place, seen)


def is_begun_only(path: Path) -> bool:
    """Whether a file does not even hold one whole line yet."""
    try:
        with open_regular(path) as file:
            return (
                b"\n" not in file.read(BEGUN_BYTES) and path.stat().st_size < BEGUN_BYTES
            )
    except (OSError, UnreadableInput):
        return False


def newest() -> FoundSession:
    """The session that was written to last. Raises ``NoSessionFound``."""
    found = find_sessions().once
    if found.newest is None:
        raise no_session(found)
    return found.newest


class Newer:
    """Notices a session that was begun while another one is watched."""

    def __init__(self) -> None:
        self._known = set(_sessions())
        self._looked = time.monotonic()

    def than(self, place: FoundSession) -> FoundSession | None:
        """The newest session that was not there before, if it is not the one that is watched."""
        if time.monotonic() - self._looked < NEWER_EVERY_S:
            return None
        self._looked = time.monotonic()
        found = _sessions()
        self._known.add((place.path, place.session))
        begun = [found[key] for key in found if key not in self._known]
        self._known.update(found)
        return next(iter(begun), None)


def _sessions() -> dict[tuple[Path, str], FoundSession]:
    return {(place.path, place.session): place for place in find_sessions().once.places}


# -- what is shown --


class _JsonLines:
    """A reading a line, with what a program wants to know beside it under ``follow``."""

    no_content = False

    def show(self, place: FoundSession, seen: Seen) -> None:
        """What has changed."""
        whole = msgspec.to_builtins(without_content(seen.reading, self.no_content))
        happened = [
            msgspec.Raw(msgspec.json.encode(_slim(event))) for event in seen.happened
        ]
        whole["follow"] = {
            "path": "" if self.no_content else str(place.path),
            "calls": seen.calls,
            "grown": seen.status.grown,
            "near_limit": seen.status.near_limit,
            "happened": happened,
            "restarted": seen.restarted,
            "lines": seen.imported.lines,
            "skipped_lines": seen.imported.skipped_lines,
        }
        print(json_text(msgspec.json.encode(whole)), flush=True)

    def wait(self, why: str) -> None:
        """Nothing to say to a program: the next reading comes when there is one."""

    def say(self, what: str) -> None:
        """As with ``wait``; another session's readings carry their own id."""

    def end(self) -> None:
        """Nothing is open."""


class Shown(_JsonLines):
    """Lines for a person: on a terminal above the gauge, on a pipe one for each call."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.scroll = Scroll(screen)
        self._place: FoundSession | None = None
        self._calls = 0
        self._is_near = self._is_report_noted = False
        self._said = ""

    def show(self, place: FoundSession, seen: Seen) -> None:
        """What has changed; at first what is watched and how it stands."""
        self._said = ""
        if seen.restarted:
            self.say(f"{seen.restarted}: read from its begin again")
        if place != self._place or seen.restarted:
            self._begin(place, seen)
        for event in seen.happened:
            if (told := window_notice(event)) is not None:
                self._notice(told)
        if seen.status.near_limit and not self._is_near:
            self._notice(near_threshold_notice(seen.reading))
        self._is_near = seen.status.near_limit
        told = report_notice(seen.status)
        if told is not None and not self._is_report_noted:
            self._notice(told)
        self._is_report_noted = told is not None
        grown = f"{seen.status.grown:+,}" if seen.status.grown else ""
        reading, glyphs = seen.reading, self.screen.glyphs
        if self.scroll.moves:
            self.scroll.stay(
                lambda width: gauge_line(reading, width - 1, glyphs, word=grown)
            )
        elif seen.calls != self._calls or seen.happened:
            drawn = gauge_line(reading, self.scroll.width - 12, glyphs, word=grown)
            self.scroll.line((Span(f"call {number(seen.calls):<6} ", "dim"), *drawn))
        self._calls = seen.calls

    def _begin(self, place: FoundSession, seen: Seen) -> None:
        program = seen.imported.program or seen.imported.format
        named = "" if seen.reading.model == "unknown" else seen.reading.model
        about = [program, named, short_id(place), counted(seen.calls, "call")]
        said = " · ".join(printable(each) for each in about if each)
        self.scroll.line((Span(f"Following {said}", "strong"),))
        self._place, self._calls = place, -1
        self._is_near = self._is_report_noted = False

    def wait(self, why: str) -> None:
        """Say once what is being waited for."""
        if why != self._said:
            self._said = why
            self.scroll.line((Span(f"  {printable(why)} Waiting for it.", "warn"),))

    def say(self, what: str) -> None:
        """A sentence about the watching itself."""
        self.scroll.line((Span(f"  {printable(what)}", "warn"),))

    def end(self) -> None:
        """Leave the screen in order."""
        self.scroll.end()

    def _notice(self, notice: Notice) -> None:
        self.scroll.line((Span("  "), *notice.line))


def _slim(event: Event) -> Event:
    """The event without texts of the conversation."""
    if isinstance(event, CompactionCommitted):
        return replace(event, summary=None, replaced=(), added=())
    if isinstance(event, Pruned):
        return replace(event, notice="")
    return event
