"""Steering the loop: cancel, resume, approve, settings, compaction, pins, going back."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import get, patch, post
from litestar.params import FromPath, JSONBody

from ullage.encoding import encode
from ullage.errors import CommandRefused
from ullage.runtime.settings import KEYS
from ullage.server.access import Opened
from ullage.server.answers import (
    Approval,
    CancelAnswer,
    CancelOrder,
    CompactOrder,
    PassageLine,
    PinOrder,
    RewindOrder,
    SettingsView,
    UncompactOrder,
    Where,
)
from ullage.server.guard import unescaped

PRIVATE = frozenset({"mcp", "models", "params"})
"""Settings whose values may hold what is nobody else's to read: environments and headers of MCP servers."""


@post(
    "/v1/sessions/{session:str}/cancel",
    status_code=200,
    operation_id="cancel",
    summary="Stop what is under way",
)
async def cancel(opened: Opened, data: JSONBody[CancelOrder | None] = None) -> CancelAnswer:
    """Answers once what was kept is stored, also when nothing was under way."""
    done = await opened.cancel(None if data is None else data.tools)
    returned = tuple(msgspec.Raw(encode(message)) for message in done.returned)
    return CancelAnswer(cancelled=done.cancelled, persisted=done.persisted, returned=returned)


@post(
    "/v1/sessions/{session:str}/resume", status_code=202, operation_id="resume", summary="Go on with a turn that waits"
)
async def resume(opened: Opened) -> None:
    """After a failure, or with budgets counted anew. Refused when nothing waits."""
    await opened.resume()


@post(
    "/v1/sessions/{session:str}/approvals/{call:str}",
    status_code=202,
    operation_id="approve",
    summary="Answer for a tool call that waits for a person",
)
async def approve(opened: Opened, call: FromPath[str], data: JSONBody[Approval]) -> None:
    """Refused when no such call waits for approval. The answer outlives this process."""
    call_id = unescaped(call)
    loop = (await opened.look()).ledger.loop
    if not any(one.call_id == call_id and one.state == "asked" for one in loop.open):
        raise CommandRefused(f"No call {call_id!r} waits for approval in the session {opened.id}.")
    await opened.approve(call_id, data.approved, data.note)


@get("/v1/sessions/{session:str}/settings", operation_id="get_settings", summary="The session's settings")
async def get_settings(opened: Opened) -> SettingsView:
    """What was set for it, and what counts."""
    work = await opened.look()
    settings = work.shared.resolve(work.ledger.loop.settings, changed=work.changed).settings
    effective = {key: msgspec.to_builtins(getattr(settings, key), enc_hook=str) for key in KEYS if key not in PRIVATE}
    own = {key: value for key, value in work.ledger.loop.settings.items() if key not in PRIVATE}
    return SettingsView(own=own, effective=effective)


@patch(
    "/v1/sessions/{session:str}/settings",
    operation_id="change_settings",
    summary="Change settings of this session",
)
async def change_settings(opened: Opened, data: JSONBody[dict[str, Any]]) -> SettingsView:
    """Names of docs/settings.md and their values; ``null`` takes one back. All of them are taken, or none."""
    await opened.set(**data)
    return await get_settings.fn(opened)  # type: ignore[no-any-return]


@post("/v1/sessions/{session:str}/compact", status_code=202, operation_id="compact", summary="Compact now")
async def compact(opened: Opened, data: JSONBody[CompactOrder | None] = None) -> None:
    """At rest at once; in a turn before its next call. What came of it is an event."""
    await opened.compact("" if data is None else data.instructions)


@post(
    "/v1/sessions/{session:str}/uncompact",
    status_code=202,
    operation_id="uncompact",
    summary="Bring back the view from before a compaction",
)
async def uncompact(opened: Opened, data: JSONBody[UncompactOrder]) -> None:
    """Refused while a turn is under way."""
    await opened.uncompact(data.compaction)


@post(
    "/v1/sessions/{session:str}/pins", status_code=202, operation_id="pin", summary="Keep messages through compactions"
)
async def pin(opened: Opened, data: JSONBody[PinOrder]) -> None:
    """Or let them go again, with ``pinned`` false."""
    await opened.pin(*data.messages, pinned=data.pinned)


@post("/v1/sessions/{session:str}/rewind", status_code=202, operation_id="rewind", summary="Go on from a message")
async def rewind(opened: Opened, data: JSONBody[RewindOrder]) -> None:
    """What came after it leaves the view and stays in the ledger. Refused while a turn is under way."""
    await opened.rewind(data.to)


@get("/v1/sessions/{session:str}/explain/{message:str}", operation_id="explain", summary="Where a message went")
async def explain(opened: Opened, message: FromPath[str]) -> Where:
    """In view, cleared, in which summary, or dropped and why."""
    found = await opened.explain(unescaped(message))
    return Where(
        message=found.message,
        status=found.status,
        holder=found.holder,
        pinned=found.pinned,
        passages=tuple(PassageLine(**each._asdict()) for each in found.passages),
        text=str(found),
    )
