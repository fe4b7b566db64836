"""Steering the loop: cancel, resume, approve, settings, compaction, pins, going back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import delete, get, patch, post
from litestar.datastructures import State
from litestar.params import FromPath, JSONBody

from ullage.encoding import encode
from ullage.errors import CommandRefused
from ullage.runtime.approvals import GrantScope, Question
from ullage.runtime.precedence import left_out
from ullage.runtime.sandboxing import warnings_of
from ullage.runtime.session import Session
from ullage.runtime.settings import KEYS
from ullage.server.access import Opened
from ullage.server.api_types import (
    Approval,
    CallPieceView,
    Cancelled,
    CancelOrder,
    CompactOrder,
    GrantLine,
    GrantList,
    PassageLine,
    PinOrder,
    Questions,
    QuestionView,
    RewindOrder,
    SettingsView,
    UncompactOrder,
    Where,
)
from ullage.server.guard import unescaped
from ullage.server.masking import Secrets, refuse_passwords

PRIVATE = frozenset({"mcp", "models", "params"})
"""Settings whose values may hold what is nobody else's to read: environments and headers of MCP servers."""


@post(
    "/v1/sessions/{session:str}/cancel",
    status_code=200,
    operation_id="cancel",
    summary="Stop what is under way",
)
async def cancel(opened: Opened, data: JSONBody[CancelOrder | None] = None) -> Cancelled:
    """Answers once what was kept is stored, also when nothing was under way."""
    done = await opened.cancel(None if data is None else data.tools)
    returned = tuple(msgspec.Raw(encode(message)) for message in done.returned)
    return Cancelled(cancelled=done.cancelled, persisted=done.persisted, returned=returned)


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
    """Refused when no such call needs approval, or when its digest is another one. Outlives this process."""
    call_id = unescaped(call)
    asked = [one for one in await opened.questions() if one.call_id == call_id]
    if not asked:
        raise CommandRefused(f"No call {call_id!r} waits for approval in the session {opened.id}.")
    if data.always is None:
        await opened.approve(call_id, data.approved, data.note, digest=data.digest)
        return
    question = next((one for one in asked if one.digest == data.digest), None)
    if question is None or question.offer is None or not data.approved:
        raise CommandRefused(
            "Nothing can be allowed for good with this answer: it needs `approved`, the digest of the call, and a "
            "question that offers it. Answer without `always`."
        )
    await give(opened, question, data.always)


async def give(opened: Session, question: Question, scope: GrantScope) -> None:
    """Grant what the question offers and approve its call."""
    assert question.offer is not None
    await opened.grant(question.name, question.offer, scope=scope)
    await opened.approve(question.call_id, digest=question.digest)


@get(
    "/v1/sessions/{session:str}/approvals", operation_id="list_approvals", summary="The calls that need approval, whole"
)
async def list_approvals(opened: Opened) -> Questions:
    """Each with its digest, and lines made from the very arguments that will run."""
    return Questions(approvals=tuple(map(_shown, await opened.questions())))


def _shown(question: Question) -> QuestionView:
    lines = tuple(tuple(CallPieceView(**piece._asdict()) for piece in line) for line in question.lines)
    return QuestionView(
        call_id=question.call_id, name=question.name, digest=question.digest, lines=lines, offer=question.offered
    )


@get("/v1/sessions/{session:str}/grants", operation_id="list_grants", summary="What is allowed without asking")
async def list_grants(opened: Opened) -> GrantList:
    """In this session and in its project."""
    return GrantList(
        grants=tuple(
            GrantLine(id=grant.id, scope=scope, tool=grant.tool, prefix=grant.prefix, at=grant.at)
            for scope, grant in await opened.grants()
        )
    )


@delete(
    "/v1/sessions/{session:str}/grants/{grant:str}",
    status_code=204,
    operation_id="revoke_grant",
    summary="Ask about such calls again",
)
async def revoke_grant(opened: Opened, grant: FromPath[str]) -> None:
    """Refused when there is no such grant in this session or its project."""
    await opened.revoke(unescaped(grant))


@get("/v1/sessions/{session:str}/settings", operation_id="get_settings", summary="The session's settings")
async def get_settings(opened: Opened, state: State) -> SettingsView:
    """What was set for it, and what counts. Names and passwords in addresses are hidden."""
    return await _view(opened, state.secrets)


async def _view(opened: Session, secrets: Secrets) -> SettingsView:
    work = await opened._look()
    resolved = work.shared.resolve(work.ledger.loop.settings, changed=work.changed)
    settings = resolved.settings
    effective = {key: msgspec.to_builtins(getattr(settings, key), enc_hook=str) for key in KEYS if key not in PRIVATE}
    own = {key: value for key, value in work.ledger.loop.settings.items() if key not in PRIVATE}
    narrowed = {one.key: str(one) for one in resolved.narrowed if one.place == "session" and one.key not in PRIVATE}
    shown, counts = _hidden(own, secrets), _hidden(effective, secrets)
    narrowed = _hidden(narrowed, secrets)
    warnings = tuple(one for one in (left_out(resolved), *warnings_of(work.tools)) if one)
    return SettingsView(own=shown, effective=counts, narrowed=narrowed, warnings=warnings)


def _hidden(settings: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    return {key: secrets.masked(value) if isinstance(value, str) else value for key, value in settings.items()}


@patch(
    "/v1/sessions/{session:str}/settings",
    operation_id="change_settings",
    summary="Change settings of this session",
)
async def change_settings(opened: Opened, state: State, data: JSONBody[dict[str, Any]]) -> SettingsView:
    """Names of docs/settings.md and their values; ``null`` takes one back. All of them are taken, or none."""
    refuse_passwords(data)
    await opened.set(**data)
    return await _view(opened, state.secrets)


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
