"""Steering a session: cancel, resume, approvals, settings, compaction, pins, rewind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from litestar import delete, get, patch, post
from litestar.datastructures import State
from litestar.params import FromPath, JSONBody, QueryParameter

from ullage.context.preview import CompactionPreview
from ullage.context.surgery import Surgery
from ullage.encoding import encode, shown_as
from ullage.errors import CommandRefused
from ullage.events import ApprovalGiven
from ullage.masking import Secrets, refuse_passwords
from ullage_agent.file_history.report import FileChanges
from ullage_agent.runtime.approvals import Question
from ullage_agent.runtime.precedence import left_out
from ullage_agent.runtime.sandboxing import warnings_of
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.setting_values import plain_value
from ullage_agent.runtime.settings import KEYS
from ullage_server.api_types import (
    AcceptOrder,
    Approval,
    CallPieceView,
    CancelOrder,
    CancelResult,
    CompactOrder,
    DropOrder,
    DroppableList,
    GrantLine,
    GrantList,
    NewTitle,
    PassageLine,
    PinOrder,
    Questions,
    QuestionView,
    RewindOrder,
    SettingsView,
    UncompactOrder,
    Where,
)
from ullage_server.guard import unescaped
from ullage_server.requests import Opened

PRIVATE = frozenset({"mcp", "models", "params"})
"""Settings whose values may hold secrets: environments and headers of MCP servers."""


@post(
    "/v1/sessions/{session:str}/cancel",
    status_code=200,
    summary="Cancel what runs",
)
async def cancel(
    opened: Opened, data: JSONBody[CancelOrder | None] = None
) -> CancelResult:
    """Answers after the partial answer is stored, also if nothing ran."""
    tools = None if data is None else data.tools
    done = await opened.cancel(tools)
    returned = tuple(msgspec.Raw(encode(message)) for message in done.returned)
    return shown_as(CancelResult, done, returned=returned)


@post(
    "/v1/sessions/{session:str}/resume",
    status_code=202,
    summary="Continue a turn that failed, used up its budget or was interrupted",
)
async def resume(opened: Opened) -> None:
    """After a failure, or with fresh budgets. Refused if nothing waits."""
    await opened.resume()


@post(
    "/v1/sessions/{session:str}/approvals/{call:str}",
    status_code=202,
    summary="Approve or refuse a tool call",
)
async def approve(opened: Opened, call: FromPath[str], data: JSONBody[Approval]) -> None:
    """Refused if no such call needs approval, its digest differs, or somebody else decided otherwise a moment before.
    The decision survives this process."""
    call_id = unescaped(call)
    seq = (await opened._look()).ledger.loop.seq
    questions = [
        question for question in await opened.questions() if question.call_id == call_id
    ]
    if not questions:
        raise CommandRefused(
            f"No call {call_id!r} needs approval in the session {opened.id}."
        )
    if data.always is None:
        await opened.approve(call_id, data.approved, data.reason, digest=data.digest)
        await _check_counts(opened, call_id, approved=data.approved, after=seq)
        return
    for question in questions:
        if (
            question.digest == data.digest
            and question.offer is not None
            and data.approved
        ):
            await opened.grant(question.name, question.offer, scope=data.always)
            await opened.approve(call_id, digest=question.digest)
            await _check_counts(opened, call_id, approved=True, after=seq)
            return
    raise CommandRefused(
        "`always` can't be used here: it needs `approved`, the digest of the call, and a call that offers it. Decide "
        "without `always`."
    )


async def _check_counts(
    opened: Session, call_id: str, *, approved: bool, after: int
) -> None:
    """Raises ``CommandRefused`` where the first answer for the call is another one: that one counts."""
    for event in await opened.history(after=after):
        if isinstance(event, ApprovalGiven) and event.call_id == call_id:
            if event.approved != approved:
                done = "approved" if event.approved else "refused"
                raise CommandRefused(
                    f"{event.who or 'Another person'} has {done} the call {call_id!r} a moment before, which counts. "
                    "Send a message or cancel the turn if that is wrong."
                )
            return


@get(
    "/v1/sessions/{session:str}/approvals",
    summary="The calls that need approval, whole",
)
async def list_approvals(opened: Opened) -> Questions:
    """Each with its digest, and lines made from the arguments that will run."""
    return Questions(approvals=tuple(map(_shown, await opened.questions())))


def _shown(question: Question) -> QuestionView:
    lines = []
    for line in question.lines:
        lines.append(tuple(shown_as(CallPieceView, piece) for piece in line))
    return shown_as(QuestionView, question, lines=tuple(lines), offer=question.offered)


@get(
    "/v1/sessions/{session:str}/grants",
    summary="What is allowed without asking",
)
async def list_grants(opened: Opened) -> GrantList:
    """In this session and in its project."""
    grants = []
    for scope, grant in await opened.grants():
        grants.append(shown_as(GrantLine, grant, scope=scope))
    return GrantList(grants=tuple(grants))


@delete(
    "/v1/sessions/{session:str}/grants/{grant:str}",
    status_code=204,
    summary="Revoke what is allowed without asking",
)
async def revoke_grant(opened: Opened, grant: FromPath[str]) -> None:
    """Refused if there is no such grant in this session or its project."""
    await opened.revoke(unescaped(grant))


@get(
    "/v1/sessions/{session:str}/settings",
    summary="The session's settings",
)
async def get_settings(opened: Opened, state: State) -> SettingsView:
    """Its own settings, and the values in effect. Names and passwords in addresses are hidden."""
    return await _view(opened, state.secrets)


async def _view(opened: Session, secrets: Secrets) -> SettingsView:
    work = await opened._look()
    resolved = work.resolve_settings()
    shown_keys = [key for key in KEYS if key not in PRIVATE]
    effective = {key: plain_value(getattr(resolved.settings, key)) for key in shown_keys}
    narrowed = {each.key: str(each) for each in resolved.narrowed}
    warnings = [left_out(resolved), *warnings_of(work.tools)]
    return SettingsView(
        own=_shown_settings(work.ledger.loop.settings, secrets),
        effective=_shown_settings(effective, secrets),
        narrowed=_shown_settings(narrowed, secrets),
        warnings=tuple(warning for warning in warnings if warning),
    )


def _shown_settings(settings: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """The settings without private ones, and without secrets in their text."""
    shown = {}
    for key, value in settings.items():
        if key not in PRIVATE:
            shown[key] = secrets.masked(value) if isinstance(value, str) else value
    return shown


@patch(
    "/v1/sessions/{session:str}/settings",
    summary="Change settings of this session",
)
async def change_settings(
    opened: Opened, state: State, data: JSONBody[dict[str, Any]]
) -> SettingsView:
    """Names of docs/settings.md and their values; ``null`` unsets. All of them are set, or none."""
    refuse_passwords(data)
    await opened._set(data)
    return await _view(opened, state.secrets)


@post(
    "/v1/sessions/{session:str}/compact",
    status_code=202,
    summary="Compact now",
)
async def compact(opened: Opened, data: JSONBody[CompactOrder | None] = None) -> None:
    """At rest immediately; in a turn before its next call, and ``from`` is refused. The result is an event."""
    order = CompactOrder() if data is None else data
    await opened.compact(order.instructions, up_to=order.up_to, from_=order.from_)


@post(
    "/v1/sessions/{session:str}/uncompact",
    status_code=202,
    summary="Undo a compaction",
)
async def uncompact(opened: Opened, data: JSONBody[UncompactOrder]) -> FileChanges:
    """Or a prune, or a rewind with the files that it restored. Refused during a turn."""
    return await opened.uncompact(data.compaction)


@post(
    "/v1/sessions/{session:str}/preview",
    status_code=200,
    summary="Show what a compaction would do",
)
async def preview_compaction(
    opened: Opened, data: JSONBody[CompactOrder | None] = None
) -> CompactionPreview:
    """With its summary, for which the model is asked, and what would be lost. Changes nothing; refused during a turn.
    Answers once the summary is there. It may be accepted as long as the messages that it shows are unchanged."""
    order = CompactOrder() if data is None else data
    return await opened.preview(order.instructions, up_to=order.up_to, from_=order.from_)


@post(
    "/v1/sessions/{session:str}/preview/{preview:str}/accept",
    status_code=202,
    summary="Make the compaction that a preview has shown",
)
async def accept_preview(
    opened: Opened, preview: FromPath[str], data: JSONBody[AcceptOrder | None] = None
) -> None:
    """With its summary, or with another one. Refused during a turn, and where the messages have changed."""
    summary = None if data is None else data.summary
    await opened.accept(unescaped(preview), summary=summary)


@get(
    "/v1/sessions/{session:str}/droppable",
    summary="The largest parts, and what dropping each would do",
)
async def list_droppable(
    opened: Opened, count: Annotated[int, QueryParameter(ge=1, le=100)] = 20
) -> DroppableList:
    """With the tokens it frees, the cache that is lost, and the price, or why it can't be dropped."""
    return DroppableList(droppable=await opened.droppable(count))


@post(
    "/v1/sessions/{session:str}/drop",
    status_code=200,
    summary="Take results, images, messages or stretches out of view",
)
async def drop(opened: Opened, data: JSONBody[DropOrder]) -> Surgery:
    """Undone by `uncompact` with its `id`. With `dry_run` only what it would do. What can't be dropped is in
    `refused`, and nothing has changed then."""
    return await opened.drop(
        *data.places, dry_run=data.dry_run, loses_reasoning=data.loses_reasoning
    )


@post(
    "/v1/sessions/{session:str}/pins",
    status_code=202,
    summary="Keep messages through compactions",
)
async def pin(opened: Opened, data: JSONBody[PinOrder]) -> None:
    """Or unpin them, with ``pinned`` false."""
    await opened.pin(*data.messages, pinned=data.pinned)


@post(
    "/v1/sessions/{session:str}/rename",
    status_code=202,
    summary="Rename the session",
)
async def rename(opened: Opened, data: JSONBody[NewTitle]) -> None:
    """In every list and on every page that shows the session."""
    await opened.rename(data.title)


@post(
    "/v1/sessions/{session:str}/rewind",
    status_code=202,
    summary="Continue from an earlier message",
)
async def rewind(opened: Opened, data: JSONBody[RewindOrder]) -> FileChanges:
    """Later messages leave the view and stay in the ledger. Refused during a turn. The files are those restored."""
    return await opened.rewind(data.to, files=data.files)


@get(
    "/v1/sessions/{session:str}/files",
    summary="Files that tools changed since a message",
)
async def get_changed_files(
    opened: Opened, since: Annotated[str, QueryParameter(max_length=1000)] = ""
) -> FileChanges:
    """What a rewind to the message would restore, with diffs. Without ``since``: since the beginning."""
    return await opened.changed_files(since)


@get(
    "/v1/sessions/{session:str}/explain/{message:str}",
    summary="Where a message went",
)
async def explain(opened: Opened, message: FromPath[str]) -> Where:
    """In view, cleared, in a summary, or dropped, and why."""
    found = await opened.explain(unescaped(message))
    passages = tuple(shown_as(PassageLine, each) for each in found.passages)
    return shown_as(Where, found, passages=passages, text=str(found))
