"""A session log of another agent, looked at: what fills its window."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

from litestar import Request, post
from litestar.params import QueryParameter

from ullage.errors import InputError
from ullage.importers import Imported, read
from ullage.meter.meter import Meter
from ullage.server.api_types import LogFacts, LogView
from ullage.server.uploads import LARGEST, received
from ullage.server.window import largest_of, step_lines

LARGEST_SHOWN = 20


class NothingInIt(InputError):
    """A log that was recognised, but holds nothing of a conversation."""


@post(
    "/v1/look",
    status_code=200,
    operation_id="look_at_log",
    summary="What fills the window of another agent's session log",
    request_max_body_size=LARGEST,
)
async def look_at_log(
    request: Request[Any, Any, Any],
    session: Annotated[str, QueryParameter(max_length=300)] = "",
    window: Annotated[int | None, QueryParameter(ge=1, le=10**12)] = None,
) -> LogView:
    """The body is the log file: Claude Code, Codex, pi, Gemini CLI, OpenCode, ours. Nothing of it is kept."""
    async with received(request, "session.jsonl") as path:
        return await asyncio.to_thread(look, path, session, window)


def look(path: Path, session: str = "", window: int | None = None) -> LogView:
    """The reading of a log file. Raises ``NotASession``, ``UnreadableInput``, ``NothingInIt``."""
    imported = read(path, session=session)
    if not imported.usable:
        raise NothingInIt(
            f"This looks like a log of {imported.program or imported.format}, but holds no message and no model call."
        )
    meter = Meter(window=window)
    for event in imported.events:
        meter.apply(event)
    return LogView(
        reading=meter.reading(),
        log=_facts(imported, len(meter.steps)),
        steps=tuple(step_lines(meter.steps)),
        largest=largest_of(meter, LARGEST_SHOWN),
    )


def _facts(imported: Imported, calls: int) -> LogFacts:
    return LogFacts(
        format=imported.format,
        program=imported.program,
        title=imported.title,
        session=imported.session,
        calls=calls,
        lines=imported.lines,
        skipped_lines=imported.skipped_lines,
        skipped=dict(imported.reasons),
        other_sessions=imported.other_sessions,
    )
