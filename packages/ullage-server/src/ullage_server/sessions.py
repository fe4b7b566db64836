"""Sessions as a whole: create, list, show their state, delete, fork, export and import."""

from __future__ import annotations

import asyncio
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from litestar import delete, get, post
from litestar.datastructures import State
from litestar.exceptions import ClientException
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Stream
from msgspec.structs import replace

from ullage.encoding import shown_as
from ullage.errors import UllageError
from ullage.masking import refuse_passwords
from ullage.store.export import export_lines, id_in
from ullage.store.searching import search
from ullage.store.store import DEFAULT_TENANT, SessionCursor, SessionRow
from ullage.store.words import in_code_units
from ullage.turns.loop import Loop
from ullage.turns.standing import NEEDS_A_PERSON, Standing
from ullage.watching.status import status_of
from ullage_agent.runtime.copying import fork, imported
from ullage_agent.runtime.session import Session
from ullage_server.api_types import (
    AgentState,
    Created,
    CreatedFork,
    Import,
    Link,
    ListedSession,
    MatchingSession,
    NeedsPerson,
    NewFork,
    NewLink,
    NewSession,
    OpenToolCall,
    SearchResult,
    SessionLine,
    SessionList,
    SessionState,
    SkippedLine,
    StandingView,
)
from ullage_server.guard import unescaped
from ullage_server.problems import AnyRequest, told
from ullage_server.requests import (
    LARGEST,
    LONGEST_ID,
    Opened,
    TheHost,
    received,
    usable_id,
    usable_id_in,
)
from ullage_server.scopes import bearer_of

ID: Final = f"^[A-Za-z0-9][A-Za-z0-9._~-]{{0,{LONGEST_ID - 1}}}$"

JSON_LINES: Final = "application/x-ndjson"

T = TypeVar("T")

Before: TypeAlias = Annotated[str | None, QueryParameter(max_length=1000)]
"""The value from the previous list or answer, which asks for the next one."""

CURSOR: Final = msgspec.json.Decoder(SessionCursor)
"""Reads a place in the list of sessions."""

_NUMBER: Final[msgspec.json.Decoder[int]] = msgspec.json.Decoder(
    Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
)
"""Reads a place in what a search finds."""


@post(
    "/v1/sessions",
    status_code=201,
    summary="Create a session",
)
async def begin_session(host: TheHost, data: JSONBody[NewSession]) -> Created:
    """Refuses an id that exists already. Without ``model`` and ``place`` the server's own are used."""
    settings = dict(data.settings)
    if data.model:
        settings["model"] = data.model
    refuse_passwords(settings)
    session = await host.begin(usable_id(data.id), settings, data.place)
    return Created(id=session.id)


@get(
    "/v1/sessions",
    summary="List sessions, the last changed first",
)
async def list_sessions(
    host: TheHost,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
    before: Before = None,
    needs: FromQuery[Literal["person"] | None] = None,
) -> SessionList:
    """``before`` is the value from the previous list, an opaque text. ``needs=person`` lists the sessions in which
    nothing goes on until a person acts.
    """
    cursor = place_of(before, CURSOR)
    states = () if needs is None else NEEDS_A_PERSON
    rows = await host.store.sessions(limit=limit, before=cursor, states=states)
    sessions = tuple(ListedSession(**_listed(row)) for row in rows)
    following = next_page(rows, limit)
    counts = await host.store.standing_counts()
    needing = {
        state: int(counts[state].sessions) for state in NEEDS_A_PERSON if state in counts
    }
    return SessionList(sessions=sessions, before=following, needs=NeedsPerson(**needing))


@get(
    "/v1/search",
    summary="Search titles, messages and tool results of all sessions",
)
async def search_sessions(
    host: TheHost,
    q: Annotated[str, QueryParameter(min_length=1, max_length=200)],
    limit: Annotated[int, QueryParameter(ge=1, le=100)] = 20,
    before: Before = None,
) -> SearchResult:
    """Sessions with all words of ``q`` in one message or in the title; the last word may go on. What was said last is
    first. ``before`` is the value from the previous answer.
    """
    place = place_of(before, _NUMBER)
    page = await search(host.store, q, limit=limit, before=place, tenant=host.tenant)
    found = []
    for each in page.found:
        found.append(
            MatchingSession(
                **_listed(each.row),
                message=each.message,
                excerpt=each.excerpt,
                marks=tuple(in_code_units(each.excerpt, each.marks)),
            )
        )
    following = None if page.next is None else text_of(page.next)
    return SearchResult(sessions=tuple(found), before=following)


def next_page(rows: Sequence[SessionRow], limit: int) -> str | None:
    """What asks for the page behind these rows; ``None`` where they are fewer than the ``limit``."""
    return text_of(rows[-1].cursor) if len(rows) == limit else None


def text_of(place: SessionCursor | int) -> str:
    """A place in the list of sessions, or in what was found, as clients get it."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place_of(text: str | None, reader: msgspec.json.Decoder[T]) -> T | None:
    """The place of ``text_of``. Raises ``ClientException``."""
    if text is None:
        return None
    try:
        return reader.decode(urlsafe_b64decode(text + "=="))
    except (ValueError, msgspec.MsgspecError) as problem:
        raise ClientException(
            "`before` is not from an answer of this address: give the value of the previous one, or none."
        ) from problem


@get(
    "/v1/sessions/{session:str}",
    summary="The state of a session",
)
async def get_session(request: AnyRequest, host: TheHost, opened: Opened) -> SessionState:
    """State, open tool calls, queue length and short status, all as of the event ``seq``."""
    found = await session_state(opened, await host.store.about(opened.id))
    return replace(found, held_by="") if bearer_of(request).session else found


@delete(
    "/v1/sessions/{session:str}",
    status_code=204,
    summary="Delete a session",
)
async def delete_session(host: TheHost, session: FromPath[str]) -> None:
    """Refused while another process drives it. Its work in this process is stopped first."""
    await host.delete(unescaped(session))


@post(
    "/v1/sessions/{session:str}/links",
    status_code=201,
    summary="A link: a token that reads this session alone",
)
async def add_link(
    request: AnyRequest,
    host: TheHost,
    state: State,
    session: FromPath[str],
    data: JSONBody[NewLink],
) -> Link:
    """The page opens it as ``/#session=ID&token=TOKEN``. ``ullage admin token revoke NAME`` revokes it, and the links
    that a token made are revoked with that token."""
    row = await host.store.about(unescaped(session))
    return await asyncio.to_thread(
        state.tokens.add_link,
        row.id,
        bearer_of(request),
        data.hours * 3_600,
        session_created=row.created,
    )


@post(
    "/v1/sessions/{session:str}/fork",
    status_code=201,
    summary="Fork a session",
)
async def fork_session(
    host: TheHost, session: FromPath[str], data: JSONBody[NewFork]
) -> CreatedFork:
    """The copy has the origin's events and is at rest; queued messages stay in the origin alone."""
    made = await fork(
        host.store,
        unescaped(session),
        host.id_of(usable_id(data.id)),
        through=data.through,
    )
    return CreatedFork(id=made.session, dropped=made.dropped)


@get(
    "/v1/sessions/{session:str}/export",
    summary="The session as JSON lines",
    media_type=JSON_LINES,
)
async def export_session(host: TheHost, session: FromPath[str]) -> Stream:
    """The format of docs/store.md, streamed. Events written meanwhile are not in it."""
    name = unescaped(session)
    await host.store.about(name)
    file_name = re.sub(r"[^\w.-]", "_", name)
    headers = {"content-disposition": f'attachment; filename="{file_name}.jsonl"'}
    return Stream(
        _gathered(export_lines(host.store, name)), media_type=JSON_LINES, headers=headers
    )


async def _gathered(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines in larger chunks: sending each line would cost more than making it."""
    held: list[bytes] = []
    size = 0
    async for line in lines:
        held.append(line)
        size += len(line)
        if size > 64 * 1024:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


@post(
    "/v1/sessions/import",
    status_code=201,
    summary="Import an exported session, at rest",
    request_max_body_size=LARGEST,
)
async def import_session(
    request: AnyRequest,
    host: TheHost,
    id: Annotated[str | None, QueryParameter(pattern=ID)] = None,
) -> Import:
    """The body is the file. The session is at rest. The answer names what is unusable or not imported.

    Without ``id`` it has the id that the file names; a tenant's has a new one. It is at the server's place.
    """
    name = usable_id(id)
    if name or host.tenant != DEFAULT_TENANT:
        name = host.id_of(name)
    async with received(request) as path:
        name = name or usable_id_in(await asyncio.to_thread(id_in, path))
        taken = await imported(host.store, path, name, place=host.place)
    skipped = tuple(
        SkippedLine(line=line, reason=reason) for line, reason in taken.skipped
    )
    return Import(
        id=taken.session,
        events=taken.events,
        kept=taken.kept,
        skipped=skipped,
        dropped=taken.dropped,
    )


def _listed(row: SessionRow) -> dict[str, Any]:
    return shown(row) | {"used": row.standing.used, "window": row.standing.window}


def shown(row: SessionRow) -> dict[str, Any]:
    """A session's row as JSON. The driver's name has that of its machine, and is not for tenants."""
    line = {name: getattr(row, name) for name in SessionLine.__struct_fields__}
    if row.tenant != DEFAULT_TENANT:
        line["held_by"] = ""
    line["standing"] = shown_as(StandingView, row.standing_now(time.time()))
    return line


async def session_state(session: Session, row: SessionRow) -> SessionState:
    """The state of the session at its newest event. Raises what reading the session raises."""
    work = await session._look()
    loop = work.ledger.loop
    stopped = _stopped(session, row.tenant)
    line = shown(row) | {"seq": loop.seq, "model": work.settings.model or row.model}
    standing = line["standing"]
    lacks_driver = standing.kind in ("worker", "interrupted")
    note = stopped or loop.note or (standing.reason if lacks_driver else "")
    wait_s = loop.retry_at - time.time()
    if wait_s > 0 and not note:
        note = f"{loop.retry_note} Waiting {wait_s:.0f} s"
    open_calls = []
    for call in loop.open:
        open_calls.append(shown_as(OpenToolCall, call))
    reading = work.memory.taken
    return shown_as(
        SessionState,
        loop,
        **line,
        state=_state(loop, standing, is_stopped=bool(stopped)),
        note=note,
        open=tuple(open_calls),
        queued=len(loop.queue),
        status=None if reading is None else status_of(reading),
    )


def _stopped(session: Session, tenant: str) -> str:
    """Why the session's driver has stopped, for callers of this tenant; empty if it has not."""
    failure = session._failure
    if failure is None or not session._is_idle:
        return ""
    if isinstance(failure, UllageError):
        return told(failure, tenant)
    return f"{type(failure).__name__}: {failure}"


def _state(loop: Loop, standing: Standing, *, is_stopped: bool) -> AgentState:
    if not _rests(loop):
        if is_stopped or standing.kind == "worker":
            return "waiting"
        if standing.kind == "interrupted":
            return "interrupted"
    return state_of(loop)


def state_of(loop: Loop) -> AgentState:
    """What the agent is doing, if a driver works on it."""
    if loop.paused:
        return "waiting"
    if _rests(loop):
        return "idle"
    if loop.compaction or loop.compact_asked is not None:
        return "compacting"
    if loop.open and not loop.call:
        return "executing_tools"
    return "streaming"


def _rests(loop: Loop) -> bool:
    return not (
        loop.turn or loop.queue or loop.compaction or loop.compact_asked is not None
    )
