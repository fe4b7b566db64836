"""Sessions as a whole: begin, list, look at, delete, fork, carry out and in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from litestar import Request, delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Stream

from ullage.runtime.copying import fork, imported
from ullage.server.access import Opened, TheHost, usable_id
from ullage.server.api_types import (
    Created,
    CreatedFork,
    Import,
    NewFork,
    NewSession,
    SessionList,
    SessionState,
    SkippedLine,
)
from ullage.server.guard import unescaped
from ullage.server.masking import refuse_passwords
from ullage.server.session_state import line_of, session_state
from ullage.server.uploads import LARGEST, received
from ullage.store.export import export_lines

ID: Final = "^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$"

JSON_LINES: Final = "application/x-ndjson"


@post("/v1/sessions", status_code=201, operation_id="begin_session", summary="Begin a session")
async def begin_session(host: TheHost, data: JSONBody[NewSession]) -> Created:
    """An id that is taken is refused. Without ``model`` the server's own is used."""
    settings = {**data.settings, "model": data.model} if data.model else data.settings
    refuse_passwords(settings)
    session = await host.begin(usable_id(data.id), settings)
    return Created(id=session.id)


@get("/v1/sessions", operation_id="list_sessions", summary="List sessions, the one changed last first")
async def list_sessions(
    host: TheHost,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
    before: FromQuery[float | None] = None,
) -> SessionList:
    """``before`` is the value that the list before it gave."""
    rows = await host.store.sessions(limit=limit, before=before)
    return SessionList(sessions=tuple(map(line_of, rows)), before=rows[-1].changed if len(rows) == limit else None)


@get("/v1/sessions/{session:str}", operation_id="get_session", summary="Where a session stands")
async def get_session(host: TheHost, opened: Opened) -> SessionState:
    """State, open tool calls, queue length and short status, all of one moment: the event ``seq``."""
    return await session_state(opened, await host.store.about(opened.id))


@delete("/v1/sessions/{session:str}", status_code=204, operation_id="delete_session", summary="Delete a session")
async def delete_session(host: TheHost, session: FromPath[str]) -> None:
    """Refused while another process drives it. What it does here is stopped first."""
    name = unescaped(session)
    await host.store.about(name)
    await host.forget(name)
    await host.store.delete(name)


@post("/v1/sessions/{session:str}/fork", status_code=201, operation_id="fork_session", summary="Fork a session")
async def fork_session(host: TheHost, session: FromPath[str], data: JSONBody[NewFork]) -> CreatedFork:
    """The copy begins with the origin's events and is at rest; queued messages stay in the origin alone."""
    made = await fork(host.store, unescaped(session), usable_id(data.id), through=data.through)
    return CreatedFork(id=made.session, dropped=made.dropped)


@get(
    "/v1/sessions/{session:str}/export",
    operation_id="export_session",
    summary="The session as JSON lines",
    media_type=JSON_LINES,
)
async def export_session(host: TheHost, session: FromPath[str]) -> Stream:
    """The format of docs/store.md, streamed. What is written to the session meanwhile is not in it."""
    name = unescaped(session)
    await host.store.about(name)
    file_name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    headers = {"content-disposition": f'attachment; filename="{file_name}.jsonl"'}
    return Stream(_gathered(export_lines(host.store, name)), media_type=JSON_LINES, headers=headers)


async def _gathered(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines in chunks of some size: a line each would cost more to send than to make."""
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
    operation_id="import_session",
    summary="Make a session of an exported file",
    request_max_body_size=LARGEST,
)
async def import_session(
    request: Request[Any, Any, Any],
    host: TheHost,
    id: Annotated[str | None, QueryParameter(pattern=ID)] = None,
) -> Import:
    """The body is the file. The session is at rest. What can't be used of the file, or is not taken, is named."""
    name = usable_id(id)
    async with received(request) as path:
        taken = await imported(host.store, path, name)
    skipped = tuple(SkippedLine(line=line, reason=reason) for line, reason in taken.skipped)
    return Import(id=taken.session, events=taken.events, kept=taken.kept, skipped=skipped, dropped=taken.dropped)
