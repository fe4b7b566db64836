"""Carries out ``RunTools``: each call between two rows of the ledger, its result recorded as soon as it is there."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ullage.agent.approving import REFUSED_BY_A_RULE
from ullage.agent.closing import closed
from ullage.agent.loop import OpenCall
from ullage.errors import SessionNotFound
from ullage.events import ApprovalAsked, Event, MessageAdded, ToolEnded, ToolOutcome, ToolStarted
from ullage.messages import Message, ResultContent, TextPart, ToolResultPart
from ullage.runtime.approvals import grant_for, is_to_ask, needs_approval
from ullage.runtime.hooks import Refusal, run_hook
from ullage.runtime.work import KEPT, Work
from ullage.store.store import Store
from ullage.tools.result_budget import Fitted, budget_tokens, fit
from ullage.tools.running import parse_arguments, run_call
from ullage.tools.tool import DEFAULT_TIMEOUT_S, AgentTool, BadArguments


@dataclasses.dataclass(frozen=True, slots=True)
class Beside:
    """What a running call may use of its session."""

    session: str
    call_id: str
    root: Path
    store: Store
    work: Work

    async def keep(self, data: bytes) -> str:
        return await self.store.keep(self.session, data)

    async def kept(self, handle: str, *, start: int = 0, size: int | None = None) -> bytes:
        try:
            return await self.store.kept(self.session, handle, start=start, size=size)
        except SessionNotFound:
            text = await self._text_of(handle)
            if text is None:
                raise
            return text[start:] if size is None else text[start : start + size]

    async def _text_of(self, part: str) -> bytes | None:
        """The text of a part as it was said, where a compaction has left its ends and its id as a handle."""
        for event in await self.store.read(self.session):
            if isinstance(event, MessageAdded):
                for one in event.message.parts:
                    if one.id == part and isinstance(one, TextPart | ToolResultPart):
                        return one.text.encode()
        return None


class _Ready(NamedTuple):
    call: OpenCall
    tool: AgentTool


async def run_tools(work: Work, calls: tuple[OpenCall, ...]) -> None:
    """Run these calls at the same time. Each has a row that says it was started before it is.

    Whether a call may run is looked at here once more: one that nobody approved byte for byte is asked about.
    What a tool does becomes its result; raises only for the store and for hooks. Cancelling cancels the tools, waits
    for what they have to end, and leaves the calls that have no result yet open for whoever settles them.
    """
    ready: list[_Ready] = []
    rows: list[Event] = []
    for call in calls:
        tool = work.tools.get(call.name)
        if tool is None:
            rows += closed([call], "not_started", _unknown(call.name, work.tools))
        elif is_to_ask(work, call):
            rows.append(ApprovalAsked(call_id=call.call_id, digest=call.digest))
        elif refusal := await _refused(work, call):
            rows += closed([call], "denied", f"{REFUSED_BY_A_RULE} {refusal.why}")
        else:
            ready.append(_Ready(call, _timed(tool, work)))
            rows.append(_started(work, call, tool))
    await work.ledger.write(rows, durable=True)
    try:
        async with asyncio.TaskGroup() as group:
            for one in ready:
                group.create_task(_run(work, one))
    except BaseExceptionGroup as problems:
        raise problems.exceptions[0] from problems


def _started(work: Work, call: OpenCall, tool: AgentTool) -> ToolStarted:
    is_granted = not call.is_approved and needs_approval(work, call)
    grant = grant_for(work, call) if is_granted else None
    return ToolStarted(
        call_id=call.call_id,
        name=call.name,
        idempotent=tool.idempotent,
        grant="" if grant is None else grant.id,
    )


def _unknown(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f"There is no tool {name!r}." + (f" Did you mean {near[0]!r}?" if near else "")


def _timed(tool: AgentTool, work: Work) -> AgentTool:
    """The tool with the session's timeout, unless it has one of its own."""
    if tool.timeout_s != DEFAULT_TIMEOUT_S:
        return tool
    return dataclasses.replace(tool, timeout_s=work.settings.tool_timeout_s)


async def _refused(work: Work, call: OpenCall) -> Refusal | None:
    if not work.shared.hooks:
        return None
    try:
        arguments = parse_arguments(call.arguments)
    except BadArguments:
        arguments = None
    for hook in work.shared.hooks:
        if refusal := await run_hook(hook.before_tool(call.name, arguments, call.call_id)):
            return refusal
    return None


async def _run(work: Work, ready: _Ready) -> None:
    call, tool = ready
    ledger = work.ledger
    beside = Beside(ledger.session, call.call_id, work.root, ledger.store, work)
    ran = await run_call(tool, call.arguments, beside)
    output = ran.output
    for hook in work.shared.hooks:
        output = await run_hook(hook.after_tool(call.name, output, call.call_id))
    reading = work.reading
    room = None if reading.input_limit is None else reading.input_limit - reading.used.high
    running = sum(one.state == "started" for one in ledger.loop.open)
    most = budget_tokens(room, tool.result_tokens or work.settings.result_tokens, calls=running)
    fitted = await fit(output, beside, most)
    await ledger.write(await _result(call, fitted, ran.outcome, beside))


async def _result(call: OpenCall, fitted: Fitted, outcome: ToolOutcome, beside: Beside) -> list[Event]:
    name, output = f"{call.part}.result", fitted.output
    content: list[ResultContent] = []
    if output.text or not output.pictures:
        content.append(TextPart(id=f"{name}.text", text=output.text))
    for place, picture in enumerate(output.pictures):
        handle = await beside.keep(picture.data)
        content.append(replace(picture.part, id=f"{name}.picture{place}", source=f"{KEPT}{handle}"))
    part = ToolResultPart(
        id=name, call_id=call.call_id, name=call.name, content=tuple(content), is_error=output.is_error
    )
    ended = ToolEnded(
        call_id=call.call_id,
        outcome=outcome,
        handle=fitted.handle,
        size_bytes=fitted.size_bytes,
    )
    return [ended, MessageAdded(message=Message(id=f"{name}.message", role="tool", parts=(part,)))]
