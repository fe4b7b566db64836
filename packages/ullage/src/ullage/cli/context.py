"""``ullage context``: what fills the window of a recorded session."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from ullage.advice.outcomes import outcomes_of, until_removal
from ullage.advice.suggestion import AdviceOutcome
from ullage.cli.advice import advice_lines
from ullage.cli.drawing import WIDEST, Subject, draw, draw_top
from ullage.cli.listing import largest_items, previews, step_table, without_content
from ullage.cli.meters import client_settings, new_meter, stored_calibration
from ullage.cli.overhead import remember_overhead, usable_overhead
from ullage.cli.screen import Screen, progress
from ullage.cli.session import Metered, metered
from ullage.cli.sessions import chosen_session, newest_session, session_before
from ullage.cli.table import LARGEST_NAMED
from ullage.display.gauge_line import spelled
from ullage.display.text import counted, printable
from ullage.importers import ImportedSession
from ullage.importers.subagent_tools import subagent_tools
from ullage.log_lines import logged
from ullage.meter.meter import UNKNOWN_WINDOW, Meter
from ullage.meter.reading import Reading
from ullage.meter.rows import PartEstimate
from ullage.picture.model import SessionPicture, picture_of
from ullage.watching.usable_logs import skipped


def context(options: argparse.Namespace) -> int:
    """Print the reading of the chosen session; gives the exit code. Raises ``UllageError`` when nothing is usable."""
    if options.follow:
        from ullage.cli.follow import follow

        return follow(options)
    named = options.file or options.session
    imported = chosen_session(named, options.session) if named else newest_session()
    learnt = stored_calibration()
    overhead = usable_overhead()
    found = client_settings(imported)
    meter = new_meter(options, learnt, overhead, found)
    with logged(options.log, os.environ):
        session = metered(imported, meter, options.at)
    remember_overhead(meter.overhead)
    screen = Screen()
    has_picture = options.html or options.svg or options.png
    if options.advice or has_picture:
        with progress("Looking for what could be left out"):
            new = partial(new_meter, options, learnt, overhead, found)
            picture = _advised(session, options, new)
        if has_picture:
            from ullage.cli.pictures import write_pictures  # no other reading pays for it

            reading = for_people(picture.reading, session.imported, found.notes)
            write_pictures(replace(picture, reading=reading), options)
        else:
            _show_advice(picture, session, options, screen)
        return 0
    ending = f"/{meter.reading().model}"
    earlier = sum(state.n for key, state in learnt.models.items() if key.endswith(ending))
    if options.json:
        screen.show_json(as_json(session, options, earlier, found.notes))
    else:
        _show(session, options, screen, earlier, found.notes)
    return 0


def _advised(
    session: Metered, options: argparse.Namespace, new: Callable[[], Meter]
) -> SessionPicture:
    """The session with its advice. The events are folded once more, with each item followed."""
    imported = session.imported
    picture = picture_of(
        session.events,
        new(),
        title=imported.title,
        program=imported.program or imported.format,
        no_content=options.no_content,
        subagent_tools=subagent_tools(imported),
    )
    before = session_before(imported)
    outcomes: list[AdviceOutcome] = []
    for events in (until_removal(session.events), before.events if before else ()):
        outcomes += outcomes_of(
            events, new(), picture.history, no_content=options.no_content
        )
    advice = replace(picture.advice, outcomes=tuple(outcomes))
    return replace(picture, advice=advice)


def _show_advice(
    picture: SessionPicture,
    session: Metered,
    options: argparse.Namespace,
    screen: Screen,
) -> None:
    advice, history = picture.advice, picture.history
    if options.json:
        screen.show_json(msgspec.json.encode({"advice": advice, "history": history}))
        return
    subject = subject_of(session, no_content=options.no_content)
    lines = draw_top(subject, screen.width, screen.glyphs)
    screen.show(lines + advice_lines(advice, history, screen.width, screen.glyphs))


def subject_of(
    session: Metered,
    *,
    no_content: bool = False,
    every_row: bool = False,
    learnt_earlier: int = 0,
    notes: Sequence[str] = (),
) -> Subject:
    """What is drawn of a metered session. ``notes`` stand below those of the reading."""
    meter, imported = session.meter, session.imported
    return Subject(
        reading=without_content(for_people(meter.reading(), imported, notes), no_content),
        program=imported.program or imported.format,
        title="" if no_content else imported.title,
        step=session.step,
        calls=session.calls,
        steps=meter.steps,
        learnt_earlier=learnt_earlier,
        # one of them may be the summary, which has its own row
        largest=largest(meter, LARGEST_NAMED + 1, no_content=no_content),
        skipped=tuple(skipped(imported)),
        every_row=every_row,
    )


def for_people(
    reading: Reading, imported: ImportedSession, more: Sequence[str] = ()
) -> Reading:
    """The reading with notes for a person: options of the command line in the place of a program's arguments."""
    notes = [
        note
        for note in reading.notes
        if reading.window.tokens or not note.startswith(UNKNOWN_WINDOW)
    ]
    if imported.other_sessions:
        others = counted(imported.other_sessions, "other session")
        notes.append(
            f"The file holds {others}; --session ID chooses one, `ullage sessions --json` has the ids."
        )
    if imported.missing_results:
        missing = counted(imported.missing_results, "tool result")
        notes.append(
            f"The log leaves out {missing}, so the intervals are wide. Read the program's own log instead of an export."
        )
    return replace(reading, notes=(*notes, *more))


def _show(
    session: Metered,
    options: argparse.Namespace,
    screen: Screen,
    earlier: int,
    notes: Sequence[str],
) -> None:
    meter = session.meter
    subject = subject_of(
        session,
        no_content=options.no_content,
        every_row=options.rows,
        learnt_earlier=earlier,
        notes=notes,
    )
    lines = draw(subject, screen.width, screen.glyphs)
    width = min(screen.width, WIDEST)
    if options.top:
        whole = subject.reading.window.tokens or subject.reading.used.tokens
        items, texts = _items(meter, options)
        lines += [(), *largest_items(items, whole, texts, width)]
    if options.steps:
        lines += [(), *step_table(meter.steps, width)]
    screen.show(spelled(line, screen.glyphs) for line in lines)


def _items(
    meter: Meter, options: argparse.Namespace
) -> tuple[Sequence[PartEstimate], dict[str, str]]:
    """The largest items that are asked for, and how their texts begin."""
    items = largest(meter, options.top, no_content=options.no_content)
    return items, {} if options.no_content else previews(meter.messages, items)


def as_json(
    session: Metered,
    options: argparse.Namespace,
    earlier: int,
    notes: Sequence[str] = (),
) -> bytes:
    """The reading's own JSON, and beside its keys what the command knows of the session."""
    meter, imported = session.meter, session.imported
    no_content: bool = options.no_content
    reading = without_content(meter.reading(), no_content)
    whole: dict[str, Any] = msgspec.to_builtins(reading)
    whole["notes"] = [*reading.notes, *notes]
    whole["log"] = {
        "path": "" if no_content else imported.path,
        "format": imported.format,
        "program": imported.program,
        "title": "" if no_content else imported.title,
        "calls": session.calls,
        "before_call": session.step,
        "learnt_earlier": earlier,
        "lines": imported.lines,
        "skipped_lines": imported.skipped_lines,
        "skipped": dict(imported.reasons),
        "other_sessions": imported.other_sessions,
        "missing_results": imported.missing_results,
    }
    whole["growth"] = [
        {"step": s.number, "tokens": s.tokens, "marks": s.marks} for s in meter.steps
    ]
    if options.top:
        items, texts = _items(meter, options)
        whole["largest"] = largest_json = [item._asdict() for item in items]
        for item in largest_json:
            if item["part"] in texts:
                item["preview"] = printable(texts[item["part"]])
    if options.steps:
        whole["steps"] = [
            {
                **msgspec.structs.asdict(step),
                "error": step.error,
                "error_percent": step.error_percent,
            }
            for step in meter.steps
        ]
    return msgspec.json.encode(whole)


def largest(
    meter: Meter, count: int, *, no_content: bool = False
) -> tuple[PartEstimate, ...]:
    """The largest single items, without those that cost nothing; ``no_content`` leaves out files and commands."""
    items = [item for item in meter.largest(count) if item.tokens]
    if no_content:
        items = [item._replace(label="") for item in items]
    return tuple(items)
