"""``ullage top``: all sessions that run on this machine, a line each, drawn again and again."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from typing import Any, Final

import msgspec

from ullage.cli.full_screen import CLOSED, RESIZED, FullScreen, can_draw
from ullage.cli.meters import client_settings, stored_calibration
from ullage.cli.overhead import usable_overhead
from ullage.cli.screen import Screen, progress
from ullage.cli.top_table import SORTS, TopView, in_order, top_lines
from ullage.display.text import json_text
from ullage.importers import ImportedSession
from ullage.meter.meter import Meter
from ullage.meter.spend import NOTHING_SPENT
from ullage.watching.policy import PATIENCE_S
from ullage.watching.running import FOREVER_S, Running, RunningList

QUICKLY_S: Final = 0.4
"""How long a look reads, once the first picture is there: no key waits longer."""

CONTENT: Final = ("title", "cwd", "path", "project")
"""What a line has of a person's own words and names."""


def top(options: argparse.Namespace) -> int:
    """Show the list until q or Ctrl-C; once on a pipe and with ``--once``. Gives the exit code."""
    sessions = new_list()
    screen = Screen(sys.stdout)
    is_drawn = not (options.json or options.once) and can_draw(screen)
    with suppress(KeyboardInterrupt):
        if is_drawn:
            with FullScreen(screen) as full:
                TopScreen(sessions, options, full).run()
        elif options.json:
            _print_json(sessions, options)
        else:
            _print_once(sessions, options, screen)
    return 0


def new_list() -> RunningList:
    """The list, whose meters begin with what was learnt from earlier sessions."""
    learnt = stored_calibration()
    overhead = usable_overhead()

    def new_meter(imported: ImportedSession) -> Meter:
        found = client_settings(imported)
        return Meter(calibration=learnt, overhead=overhead, client_settings=found.values)

    return RunningList(new_meter=new_meter)


def _print_once(
    sessions: RunningList, options: argparse.Namespace, screen: Screen
) -> None:
    with progress("Reading the sessions"):
        running = sessions.look(_since(options), patience_s=FOREVER_S)
    view = TopView(
        width=screen.width,
        glyphs=screen.glyphs,
        sort=options.sort,
        with_content=not options.no_content,
    )
    screen.show(top_lines(running, view))


def _print_json(sessions: RunningList, options: argparse.Namespace) -> None:
    """An object for each look, as a line."""
    patience_s = FOREVER_S if options.once else PATIENCE_S
    while True:
        running = sessions.look(_since(options), patience_s=patience_s)
        whole = as_json(running, options.sort, with_content=not options.no_content)
        print(json_text(whole), flush=True)
        if options.once:
            return
        time.sleep(options.interval)


def as_json(running: Running, sort: str, *, with_content: bool) -> bytes:
    """The list as one JSON object."""
    whole: dict[str, Any] = msgspec.to_builtins(running)
    whole["sessions"] = lines = []
    for session in in_order(running.sessions, sort):
        line: dict[str, Any] = msgspec.to_builtins(session)
        line["project"] = session.project
        if not with_content:
            line |= dict.fromkeys(CONTENT, "")
            line["problem"] = "not readable" if session.problem else ""
        lines.append(line)
    if not with_content:
        whole["problems"] = len(running.problems)
    return msgspec.json.encode(whole)


def _since(options: argparse.Namespace) -> float | None:
    return None if options.all else options.since


class TopScreen:
    """The list on a terminal: looks, draws, and does what keys say."""

    def __init__(
        self, sessions: RunningList, options: argparse.Namespace, full: FullScreen
    ) -> None:
        self._sessions = sessions
        self._options = options
        self._full = full
        self._sort: str = options.sort
        self._first = 0
        self._running = Running(at=0, sessions=(), today=NOTHING_SPENT)

    def run(self) -> None:
        """Until q is pressed, or the terminal is gone."""
        patience_s = PATIENCE_S
        while True:
            self._running = self._sessions.look(
                _since(self._options), patience_s=patience_s
            )
            patience_s = QUICKLY_S
            pause_s = 0.0 if self._running.unread else self._options.interval
            until = time.monotonic() + pause_s
            key = RESIZED
            while key:
                self._draw()
                key = self._full.key(max(0.0, until - time.monotonic()))
                if key in ("q", "Q", CLOSED):
                    return
                self._press(key)

    def _press(self, key: str) -> None:
        page = max(1, self._full.size.lines - 6)
        steps = {
            "up": -1,
            "k": -1,
            "down": 1,
            "j": 1,
            "page up": -page,
            "page down": page,
        }
        last = len(self._running.sessions)
        if key == "s":
            place = SORTS.index(self._sort) + 1
            self._sort = SORTS[place % len(SORTS)]
        elif key == "home":
            self._first = 0
        elif key == "end":
            self._first = last
        elif key in steps:
            self._first = min(last, max(0, self._first + steps[key]))

    def _draw(self) -> None:
        size = self._full.size
        screen = self._full.screen
        view = TopView(
            width=size.columns
            - 1,  # the last cell is lost where the rest of a line is erased
            glyphs=screen.glyphs,
            height=size.lines,
            first=self._first,
            sort=self._sort,
            with_content=not self._options.no_content,
            has_keys=True,
        )
        self._full.draw(top_lines(self._running, view))
