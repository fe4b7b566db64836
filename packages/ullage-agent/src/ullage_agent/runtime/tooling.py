"""Carries out ``RunTools``: records the start of each call, runs it, and records its result at once."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ullage.codec.tool_references import reference_to
from ullage.context.plan import unread_room
from ullage.errors import SessionNotFound
from ullage.events import (
    ApprovalAsked,
    Event,
    HandedOver,
    MessageAdded,
    ToolCallReplaced,
    ToolEnded,
    ToolOutcome,
    ToolStarted,
)
from ullage.messages import (
    Message,
    ResultContent,
    TextPart,
    ToolResultPart,
    clean_text,
)
from ullage.similar import did_you_mean
from ullage.store.store import SessionStore
from ullage.turns.approving import REFUSED_BY_A_RULE
from ullage.turns.closing import closed
from ullage.turns.loop import OpenCall
from ullage_agent.loop.steps import Compact
from ullage_agent.runtime.approvals import grant_for, is_to_ask, needs_approval
from ullage_agent.runtime.compacting import situation_of
from ullage_agent.runtime.file_steps import file_step
from ullage_agent.runtime.hooks import Refusal, arguments_text, hook_name, run_hook
from ullage_agent.runtime.session_runtime import BLOB_SOURCE, SessionRuntime
from ullage_agent.tools.result_budget import budget_tokens, fit
from ullage_agent.tools.retries import out_of_retries, with_retries_left
from ullage_agent.tools.running import parse_arguments, run_call
from ullage_agent.tools.tool import (
    DEFAULT_TIMEOUT_S,
    AgentTool,
    BadArguments,
    Output,
    ToolContext,
)


@dataclasses.dataclass(frozen=True, slots=True)
class CallContext:
    """The session as a running call may use it."""

    session: str
    call_id: str
    root: Path
    store: SessionStore
    runtime: SessionRuntime
    children: list[str] = dataclasses.field(default_factory=list)
    """What the subagents of the call are called, in the order in which they were asked."""

    def next_child(self) -> str:
        """The name of one more subagent: the same when the call runs again after a crash."""
        number = len(self.children) + 1
        name = self.call_id if number == 1 else f"{self.call_id}.{number}"
        self.children.append(name)
        return name

    @property
    def deps(self) -> object:
        return self.runtime.deps

    async def keep(self, data: bytes) -> str:
        return await self.store.keep(self.session, data)

    async def kept(
        self, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        try:
            return await self.store.kept(self.session, handle, start=start, size=size)
        except SessionNotFound:
            text = await self._text_of(handle)
            if text is None:
                raise
            return text[start:] if size is None else text[start : start + size]

    async def _text_of(self, part: str) -> bytes | None:
        """The original text of a part, of which a compaction has left the ends, with its id as a handle."""
        for event in await self.store.read(self.session):
            if isinstance(event, MessageAdded):
                for one in event.message.parts:
                    if one.id == part and isinstance(one, TextPart | ToolResultPart):
                        return one.text.encode()
        return None


class _Ready(NamedTuple):
    call: OpenCall
    tool: AgentTool


async def run_tools(runtime: SessionRuntime, calls: tuple[OpenCall, ...]) -> None:
    """Run these calls at the same time. The start of each is stored before it runs.

    Approval is checked here once more: a call that no person approved byte for byte is asked about. An exception of a
    tool becomes its result; raises only errors of the store and of hooks. A cancel cancels the tools, waits for their
    cleanup, and leaves the calls without a result open, until the driver settles them.
    """
    calls = await _after_hooks(runtime, calls)
    ready: list[_Ready] = []
    rows = runtime.reading_events()
    for call in calls:
        tool = runtime.tools.get(call.name)
        if tool is None:
            rows += closed([call], "not_started", _unknown(call.name, runtime.tools))
        elif refusal_text := out_of_retries(tool, runtime.memory.retries):
            rows += closed([call], "not_started", refusal_text)
        elif is_to_ask(runtime, call):
            rows.append(_asked(call))
        else:
            ready.append(_Ready(call, _timed(tool, runtime)))
            rows.append(_started(runtime, call, tool))
    await runtime.ledger.write(rows, durable=True)
    try:
        async with (
            file_step(runtime, [one.call for one in ready]),
            asyncio.TaskGroup() as group,
        ):
            for one in ready:
                group.create_task(_run(runtime, one))
    except BaseExceptionGroup as problems:
        raise problems.exceptions[0] from problems


def _started(runtime: SessionRuntime, call: OpenCall, tool: AgentTool) -> ToolStarted:
    is_granted = not call.is_approved and needs_approval(runtime, call)
    grant = grant_for(runtime, call) if is_granted else None
    return ToolStarted(
        call_id=call.call_id,
        name=call.name,
        idempotent=tool.idempotent,
        grant="" if grant is None else grant.id,
        is_answer=tool.is_answer,
    )


def _unknown(name: str, known: Iterable[str]) -> str:
    return f"There is no tool {name!r}.{did_you_mean(name, known)}"


def _timed(tool: AgentTool, runtime: SessionRuntime) -> AgentTool:
    """The tool with the session's timeout, unless it has one of its own."""
    if tool.timeout_s != DEFAULT_TIMEOUT_S:
        return tool
    return dataclasses.replace(tool, timeout_s=runtime.settings.timeout)


async def ask_approval(runtime: SessionRuntime, calls: tuple[OpenCall, ...]) -> None:
    """Record that a person is to approve these calls, as hooks have left them. Raises as ``run_tools`` does."""
    needed = {call.part: call.digest for call in calls}
    asked = [
        _asked(call)
        for call in await _after_hooks(runtime, calls)
        # A rule is asked again about other arguments alone: where it raised, or changed its mind, a person is asked.
        if call.digest == needed[call.part] or is_to_ask(runtime, call)
    ]
    if asked:
        rows = [*runtime.reading_events(), *asked]
        await runtime.ledger.write(rows, durable=True)


def _asked(call: OpenCall) -> ApprovalAsked:
    return ApprovalAsked(call_id=call.call_id, tool=call.name, digest=call.digest)


async def _after_hooks(
    runtime: SessionRuntime, calls: tuple[OpenCall, ...]
) -> tuple[OpenCall, ...]:
    """The calls that hooks leave open, with the arguments that they put in place. What hooks change is stored first.

    Each call is asked about once, before its approval. Raises ``HookFailed``.
    """
    rows: list[Event] = []
    parts = {call.part for call in calls}
    for call in calls if runtime.shared.hooks else ():
        tool = runtime.tools.get(call.name)
        is_asked = call.is_replaced or call.part in runtime.hooked
        if tool is not None and not tool.is_answer and not is_asked:
            rows += await _hooked(runtime, call, tool)
    if rows:
        await runtime.ledger.write(rows, durable=True)
        calls = tuple(call for call in runtime.ledger.loop.open if call.part in parts)
    runtime.hooked |= parts
    return calls


async def _hooked(
    runtime: SessionRuntime, call: OpenCall, tool: AgentTool
) -> list[Event]:
    """What hooks make of a call: its end, other arguments, or nothing."""
    text, by = call.arguments, list[str]()
    for hook in runtime.shared.hooks:
        arguments = _readable(text)
        given = await run_hook(
            hook,
            "before_tool",
            call.name,
            arguments,
            call.call_id,
            takes=(Mapping, Output, Refusal),
        )
        match given:
            case Refusal():
                return closed([call], "denied", f"{REFUSED_BY_A_RULE} {given.why}")
            case Output():
                name = hook_name(hook)
                return await _ended(runtime, call, tool, given, "not_started", name)
            case Mapping() if given != _readable(text):
                text = arguments_text(hook, given)
                by.append(hook_name(hook))
    if not by:
        return []
    replaced = ToolCallReplaced(
        call_id=call.call_id, part=call.part, arguments=text, replaced_by=tuple(by)
    )
    return [replaced]


def _readable(arguments: str) -> dict[str, object] | None:
    try:
        return parse_arguments(arguments)
    except BadArguments:
        return None


async def _run(runtime: SessionRuntime, ready: _Ready) -> None:
    call, tool = ready
    with contextlib.ExitStack() as blocks:
        for hook in runtime.shared.hooks:
            session = runtime.ledger.session
            blocks.enter_context(hook.around_tool(session, call.call_id))
        ran = await run_call(tool, call.arguments, _context(runtime, call))
    output = ran.output
    for hook in runtime.shared.hooks:
        given = await run_hook(
            hook, "after_tool", call.name, output, call.call_id, takes=(Output,)
        )
        output = output if given is None else given
    if output.asks_retry:
        output = with_retries_left(output, tool, runtime.memory.retries)
    rows = await _ended(runtime, call, tool, output, ran.outcome)
    await runtime.ledger.write(rows)


def _context(runtime: SessionRuntime, call: OpenCall) -> CallContext:
    ledger = runtime.ledger
    return CallContext(ledger.session, call.call_id, runtime.root, ledger.store, runtime)


async def _ended(
    runtime: SessionRuntime,
    call: OpenCall,
    tool: AgentTool,
    output: Output,
    outcome: ToolOutcome,
    given_by: str = "",
) -> list[Event]:
    """The events for the result of a call, with as much of it as the window has room for."""
    most = _room(runtime, tool.result_tokens or runtime.settings.result_tokens)
    context = _context(runtime, call)
    output = output._replace(text=clean_text(output.text).text)
    fitted = await fit(output, context, most)
    name, output = f"{call.part}.result", fitted.output
    content: list[ResultContent] = []
    fold = runtime.fold
    if fold.takes_references:
        for found in output.found:
            reference = reference_to(
                found,
                id=f"{name}.{found}",
                wire=fold.wire,
                provider=fold.provider,
                model=fold.model,
            )
            content.append(reference)
    if output.text or not output.pictures:
        content.append(TextPart(id=f"{name}.text", text=output.text))
    for place, picture in enumerate(output.pictures):
        handle = await context.keep(picture.data)
        content.append(
            replace(
                picture.part, id=f"{name}.picture{place}", source=f"{BLOB_SOURCE}{handle}"
            )
        )
    part = ToolResultPart(
        id=name,
        call_id=call.call_id,
        name=call.name,
        content=tuple(content),
        is_error=output.is_error,
    )
    ended = ToolEnded(
        call_id=call.call_id,
        outcome=outcome,
        handle=fitted.handle,
        size_bytes=fitted.size_bytes,
        found=output.found,
        retry_of=call.name if output.asks_retry else "",
        is_answer=output.is_answer,
        given_by=given_by,
    )
    message = Message(id=f"{name}.message", role="tool", parts=(part,))
    rows: list[Event] = [ended, MessageAdded(message=message)]
    if output.agent:
        rows.insert(0, HandedOver(agent=output.agent, call_id=call.call_id))
    return rows


def page_room(context: ToolContext) -> int:
    """The most tokens of a page that ``read_result`` reads in this session now, so that no page is cut again."""
    assert isinstance(context, CallContext), "an agent runs its tools with one"
    return _room(context.runtime, context.runtime.settings.result_tokens)


def _room(runtime: SessionRuntime, most: int) -> int:
    """How many tokens of one result the model gets, ``most`` at most: what fits now, or behind a compaction.

    A result is recorded before the compaction that makes room for it: a crash between the two loses nothing.
    """
    reading = runtime.reading
    free = (
        None if reading.input_limit is None else reading.input_limit - reading.proven_high
    )
    running = sum(one.state == "started" for one in runtime.ledger.loop.open)
    now = budget_tokens(free, most, calls=running)
    if now >= most or not runtime.settings.compacts:
        return now
    later = unread_room(situation_of(runtime, Compact("point"), "")) / max(1, running)
    return max(now, min(most, int(later)))
