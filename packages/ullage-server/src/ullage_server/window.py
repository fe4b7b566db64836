"""The context window of a session or of another agent's log: the reading, the steps, the largest items, the spend."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal

from litestar import MediaType, Response, get, post
from litestar.datastructures import State
from litestar.params import FromQuery, QueryParameter
from msgspec.structs import replace

from ullage.advice.cause import Cause
from ullage.advice.history import WindowHistory, history_of
from ullage.advice.outcomes import outcomes_of, until_removal
from ullage.advice.suggestions import Advice, advice_of
from ullage.cli.context import largest
from ullage.cli.listing import previews
from ullage.encoding import shown_as
from ullage.events import Event, FirstCall
from ullage.importers import ImportedSession
from ullage.importers.subagent_tools import subagent_tools
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage.meter.track import Step
from ullage.watching.usable_logs import read_usable
from ullage_server.advice_view import advice_view
from ullage_server.api_types import LargeItem, Largest, LogFacts, LogView, StepLine, Steps
from ullage_server.live_types import AdviceView
from ullage_server.problems import AnyRequest
from ullage_server.requests import LARGEST, Opened, TheHost, received

PICTURE: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
}
"""It has its own styles in it, and runs nothing."""


@get(
    "/v1/sessions/{session:str}/context",
    summary="The reading, with all rows",
)
async def get_context(opened: Opened) -> Reading:
    """The number that is displayed, compared and enforced: ``snapshot_id`` is the same on every display."""
    return await opened.context()


@get(
    "/v1/sessions/{session:str}/steps",
    summary="Estimate and actual of every call",
)
async def list_steps(opened: Opened) -> Steps:
    """With the growth of the window, and the events before each call."""
    ledger = (await opened._look()).ledger
    causes = await ledger.explain()
    return Steps(steps=tuple(step_lines(ledger.meter.steps, causes)))


@get(
    "/v1/sessions/{session:str}/largest",
    summary="The parts that cost most",
)
async def list_largest(
    opened: Opened, count: Annotated[int, QueryParameter(ge=1, le=1000)] = 20
) -> Largest:
    """Reads the whole view."""
    return Largest(largest=largest_of(await opened._meter(), count))


@get(
    "/v1/sessions/{session:str}/spend",
    summary="What the session has cost",
)
async def get_spend(opened: Opened) -> Spend:
    """All calls of all purposes, failed ones and children included."""
    return (await opened.context()).spend


@get(
    "/v1/sessions/{session:str}/advice",
    summary="What would make room in the window",
)
async def get_advice(opened: Opened) -> AdviceView:
    """Suggestions with what each saves, and the next compaction. Reads the whole session."""
    events = await opened.history()
    history, advice = await asyncio.to_thread(session_advice, events, Meter())
    return advice_view(advice, history)


@get(
    "/v1/sessions/{session:str}/picture",
    summary="The picture of the session, as a page or as SVG",
    media_type=MediaType.HTML,
)
async def get_picture(
    opened: Opened, format: FromQuery[Literal["html", "svg"]] = "html"
) -> Response[str]:
    """What fills the window, how it grew, and what would make room: one file, which loads nothing."""
    picture = await opened.picture()
    kind = "image/svg+xml" if format == "svg" else MediaType.HTML
    draw = picture.svg if format == "svg" else picture.html
    drawn = await asyncio.to_thread(draw)
    return Response(drawn, media_type=kind, headers=PICTURE)


def session_advice(
    events: Sequence[Event],
    meter: Meter,
    imported: ImportedSession | None = None,
) -> tuple[WindowHistory, Advice]:
    """The history of a session, and the advice for it. ``meter`` is one without events; it has applied them afterwards.

    ``imported`` is the log or ledger that the events were read from, beside which those of its subagents are.
    """
    history = history_of(events, meter)
    called: frozenset[str] = frozenset()
    if imported is not None:
        called = subagent_tools(imported)
    advice = advice_of(history, meter, events, subagent_tools=called)
    outcomes = outcomes_of(until_removal(events), Meter(), history)
    return history, replace(advice, outcomes=outcomes)


def step_lines(
    steps: Sequence[Step], causes: Mapping[str, Cause | None]
) -> Iterator[StepLine]:
    """The steps as lines, with the causes by call."""
    before: int | None = None
    for step in steps:
        grown = None if before is None else step.tokens - before
        yield shown_as(StepLine, step, grown=grown, cause=causes.get(step.call))
        before = step.tokens


def largest_of(meter: Meter, count: int = 200) -> tuple[LargeItem, ...]:
    """The largest items that cost anything, with the beginning of each."""
    items = largest(meter, count)
    texts = previews(meter.messages, items)
    return tuple(
        shown_as(LargeItem, item, preview=texts.get(item.part, "")) for item in items
    )


@post(
    "/v1/look",
    status_code=200,
    summary="The window of another agent's log, which is the body",
    request_max_body_size=LARGEST,
)
async def look_at_log(
    request: AnyRequest,
    state: State,
    host: TheHost,
    session: Annotated[str, QueryParameter(max_length=300)] = "",
    window: Annotated[int | None, QueryParameter(ge=1, le=10**12)] = None,
) -> LogView:
    """The body is a log of any program that `ullage context` reads. Nothing of it is stored."""
    earlier = await asyncio.to_thread(host.first_calls)
    async with received(request, "session.jsonl") as path:
        look = partial(read_log, path, session, window, earlier)
        return await asyncio.get_running_loop().run_in_executor(state.readers, look)


def read_log(
    path: Path,
    session: str = "",
    window: int | None = None,
    earlier: Sequence[FirstCall] = (),
) -> LogView:
    """The reading of a log file. Raises ``NotASession``, ``UnreadableInput``, ``UnusableSession``."""
    imported = read_usable(path, session)
    meter = Meter(window=window, overhead=earlier)
    return log_view(imported, imported.events, meter)


def log_view(imported: ImportedSession, events: Sequence[Event], meter: Meter) -> LogView:
    """What these events of a log come to. ``meter`` is one without events; it has applied them afterwards."""
    history, advice = session_advice(events, meter, imported)
    calls, skipped = len(meter.steps), dict(imported.reasons)
    return LogView(
        reading=meter.reading(),
        log=shown_as(LogFacts, imported, calls=calls, skipped=skipped),
        steps=tuple(step_lines(meter.steps, history.causes)),
        largest=largest_of(meter),
        advice=advice_view(advice, history),
    )
