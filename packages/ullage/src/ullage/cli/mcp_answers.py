"""What ``ullage mcp`` answers: sessions, readings, what fills a window, and the next compaction, as plain JSON.

Sessions are named by their ids alone, so that a caller opens no file that ``ullage sessions`` does not list. No answer
of these holds the text of a conversation (``mcp_recall`` has those that do, for a user who wants them), and every text
is without control characters and without what looks like a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from ullage.advice.history import WindowHistory, history_of
from ullage.advice.next_compaction import next_compaction
from ullage.advice.outcomes import outcomes_of, until_removal
from ullage.advice.sentences import outcome_text
from ullage.advice.suggestions import advice_of
from ullage.cli.context import for_people, largest
from ullage.cli.meters import client_settings
from ullage.cli.overhead import usable_overhead
from ullage.cli.session import Metered, metered, read_session
from ullage.cli.sessions import (
    SHORTEST_ID,
    line_of,
    meant_by,
    no_session,
    places_here,
)
from ullage.codec.problems import strike_keys
from ullage.display.text import printable, quoted, shortened
from ullage.errors import InputError, UllageError
from ullage.events import Event
from ullage.importers import FoundSession, find_sessions
from ullage.importers.subagent_tools import subagent_tools
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.store.calibration import CalibrationStore
from ullage.tokens.calibration import Calibration

MOST_LISTED: Final = 100
MOST_LARGEST: Final = 50
LONGEST_ID: Final = 200
LOG_BYTES: Final = 256 * 1024 * 1024
"""The largest log that is read for an answer."""

BODY_BYTES: Final = 16 * 1024 * 1024
LONGEST_TEXT: Final = 300
"""Characters of one text in an answer."""


class AnswerRules(NamedTuple):
    """What the user allows: only sessions of this directory, and no titles, paths and commands."""

    is_here_only: bool = False
    no_content: bool = False


def listed(rules: AnswerRules, limit: int = 20) -> dict[str, Any]:
    """The newest sessions of all programs."""
    most = min(max(1, limit), MOST_LISTED)
    places = _places(rules)
    sessions = [_outlined(place, rules) for place in places[:most]]
    return {"sessions": sessions, "more": max(0, len(places) - most)}


def _outlined(place: FoundSession, rules: AnswerRules) -> dict[str, Any]:
    found = line_of(place)
    line: dict[str, Any] = {
        "id": place.id,
        "program": found.program,
        "model": found.model,
        "calls": found.calls,
        "active_at": datetime.fromtimestamp(place.modified, UTC).isoformat(),
    }
    if not rules.no_content:
        line |= {"title": found.title, "directory": found.cwd}
    if found.problem:
        line["problem"] = found.problem
    if found.reading is not None:
        line |= {
            "used": found.reading.used.tokens,
            "window": found.reading.window.tokens,
        }
    return shown(line)


def reading_of(rules: AnswerRules, session: str = "") -> dict[str, Any]:
    """The window of a session: used tokens with their interval, limits, rows and what the session has cost."""
    found = _metered(rules, session)
    return shown(_with_session(found, rules, _reading(_person_reading(found))))


def explained(rules: AnswerRules, session: str = "", count: int = 10) -> dict[str, Any]:
    """What fills the window: its rows, the largest single parts, and what could be left out."""
    found = _metered(rules, session)
    history = history_of(found.events, _meter(found))
    advice = advice_of(
        history,
        found.meter,
        found.events,
        no_content=rules.no_content,
        subagent_tools=subagent_tools(found.imported),
    )
    suggestions: list[dict[str, Any]] = []
    for each in advice.suggestions:
        suggestion = {
            "title": each.title,
            "how": each.how,
            "tokens_a_call": each.saving.tokens,
        }
        if not rules.no_content:
            suggestion["about"] = each.text
        suggestions.append(suggestion)
    answer = _reading(_person_reading(found))
    most = min(max(1, count), MOST_LARGEST)
    answer |= {"largest": _largest(found.meter, most, rules), "advice": suggestions}
    earlier = until_removal(found.events)
    outcomes = outcomes_of(earlier, _meter(found), history, no_content=rules.no_content)
    answer["followed"] = [outcome_text(outcome) for outcome in outcomes]
    return shown(_with_session(found, rules, answer))


def planned(rules: AnswerRules, session: str = "") -> dict[str, Any]:
    """The next compaction of a session: when, and what it takes out. Changes nothing."""
    found = _metered(rules, session)
    history = history_of(found.events, _meter(found))
    answer = _planned(history, found.meter, found.events, rules)
    return shown(_with_session(found, rules, answer))


def measured_body(
    rules: AnswerRules, body: Mapping[str, Any], window: int | None = None
) -> dict[str, Any]:
    """The reading of a request body that was not sent, and what Ullage's compaction would take out of it.

    Raises ``InputError`` for a body of no known API.
    """
    if len(msgspec.json.encode(body)) > BODY_BYTES:
        raise InputError(
            f"The body has more than {BODY_BYTES >> 20} MB, the most that is read. Send a smaller one."
        )
    events: list[Event] = []
    meter = Meter(window=window, calibration=_learnt(), on_event=events.append)
    answer = _reading(meter.before(body))
    history = history_of(events, Meter(window=window))
    answer |= _planned(history, meter, events, rules)
    answer["largest"] = _largest(meter, 10, rules)
    return shown(answer)


# -- finding a session --


def place_of_id(rules: AnswerRules, session: str) -> FoundSession:
    """The session that is meant; without one the newest, of this directory if it has any. Raises ``InputError``."""
    if len(session) > LONGEST_ID:
        raise InputError(
            f"The session's id has {len(session):,} characters; the most is {LONGEST_ID}. `list_sessions` has the ids."
        )
    places = _places(rules)
    if not session:
        if not places:
            raise no_session(find_sessions().once)
        return next(places_here(places), places[0])
    if len(session) < SHORTEST_ID:
        raise InputError(
            f"The id {quoted(session)} is too short: give at least {SHORTEST_ID} characters of its beginning or end."
        )
    found = meant_by(session, places)
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(
            f"There is no session {quoted(session)}. `list_sessions` has the ids; files are not opened by their path."
        )
    several = ", ".join(place.id for place in found[:5])
    raise InputError(
        f"{len(found)} sessions have ids that begin or end with {quoted(session)}: {several}. Give more of the id."
    )


def _places(rules: AnswerRules) -> Sequence[FoundSession]:
    places = find_sessions().once.places
    return list(places_here(places)) if rules.is_here_only else places


def _metered(rules: AnswerRules, session: str) -> Metered:
    place = place_of_id(rules, session)
    size = place.path.stat().st_size
    if not place.session and size > LOG_BYTES:
        raise InputError(
            f"The log of {quoted(place.id)} has {size >> 20} MB, more than is read for an answer. "
            "Use `ullage context` in a terminal."
        )
    imported = read_session(place.path, place.session)
    settings = client_settings(imported).values
    meter = Meter(
        calibration=_learnt(), overhead=usable_overhead(), client_settings=settings
    )
    return metered(imported, meter)


def _meter(found: Metered) -> Meter:
    """A meter without events, as the history needs it."""
    settings = client_settings(found.imported).values
    return Meter(calibration=_learnt(), client_settings=settings)


def _learnt() -> Calibration:
    try:
        return CalibrationStore().read()
    except UllageError:
        return Calibration()


# -- answers --


def _person_reading(found: Metered) -> Reading:
    return for_people(found.meter.reading(), found.imported)


def _with_session(
    found: Metered, rules: AnswerRules, answer: dict[str, Any]
) -> dict[str, Any]:
    imported = found.imported
    session: dict[str, Any] = {
        "id": imported.session,
        "program": imported.program or imported.format,
        "calls": found.calls,
    }
    if not rules.no_content:
        session |= {"title": imported.title, "directory": imported.cwd}
    return {"session": session} | answer


def _reading(reading: Reading) -> dict[str, Any]:
    used, spend = reading.used, reading.spend
    rows: list[dict[str, Any]] = []
    for row in reading.rows:
        rows.append({"name": row.name, "tokens": row.tokens})
    return {
        "model": reading.model,
        "used": {"tokens": used.tokens, "low": used.low, "high": used.high},
        "window": reading.window.tokens,
        "compaction_threshold": reading.threshold.tokens,
        "until_compaction": reading.until_compaction,
        "should_compact": reading.should_compact(),
        "rows": rows,
        "spend": {
            "calls": spend.all.calls,
            "input": spend.all.input,
            "output": spend.all.output,
            "usd": round(spend.money.usd, 4),
        },
        "notes": list(reading.notes),
    }


def _largest(meter: Meter, count: int, rules: AnswerRules) -> list[dict[str, Any]]:
    return [
        {"what": item.label or item.name, "kind": item.row, "tokens": item.tokens}
        for item in largest(meter, count, no_content=rules.no_content)
    ]


def _planned(
    history: WindowHistory, meter: Meter, events: Sequence[Event], rules: AnswerRules
) -> dict[str, Any]:
    plan = next_compaction(history, meter, events)
    if plan is None:
        return {"compaction": None, "why": "No threshold is known for this model."}
    leaving: list[dict[str, Any]] = []
    for place in plan.items[:MOST_LARGEST]:
        item = history.items[place]
        line: dict[str, Any] = {"kind": item.category, "tokens": item.tokens}
        if not rules.no_content:
            line["what"] = item.label
        leaving.append(line)
    return {
        "compaction": {
            "by": plan.by or "Ullage",
            "threshold": plan.threshold,
            "in_calls": plan.left and plan.left.calls,
            "in_calls_interval": plan.left and [plan.left.low, plan.left.high],
            "leaves": plan.leaves,
            "stays": plan.stays,
            "writes_summary": plan.is_summary,
            "parts_leaving": len(plan.items),
            "leaving": leaving,
            "note": plan.note,
        }
    }


def shown(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with each text on one line, of bounded length, and without what looks like a key."""
    return {key: _shown(value) for key, value in answer.items()}


def _shown(value: Any) -> Any:
    match value:
        case str():
            return shown_text(value)
        case dict():
            return shown(value)
        case list():
            return [_shown(each) for each in value]
        case _:
            return value


def shown_text(text: str) -> str:
    """One text on one line, of bounded length, and without what looks like a key."""
    return shortened(strike_keys(printable(text[: 8 * LONGEST_TEXT])), LONGEST_TEXT)
