"""An agent as a tool of another: its own session and limits, its spend counted in the parent's.

researcher = ullage.Agent("anthropic:claude-haiku-4-5", tools=[search])
agent = ullage.Agent("anthropic:claude-opus-4-6", tools=[subagent(researcher, name="research", description="…")])
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from ullage.errors import CommandRefused
from ullage.events import CallEnded, ChildStarted
from ullage.messages import Tool
from ullage.store.refusals import check_new_id
from ullage.tasks import background
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.policy import CHILD_CANCEL_S
from ullage_agent.runtime.text_stream import end_turn
from ullage_agent.runtime.tooling import CallContext
from ullage_agent.tools.tool import AgentTool, BadArguments, Output, ToolContext

if TYPE_CHECKING:
    from ullage_agent.runtime.agent import Agent
    from ullage_agent.runtime.session import Session

_SCHEMA: Final = msgspec.Raw(
    b'{"type":"object","properties":{"task":{"type":"string","description":'
    b'"What to do, with everything that has to be known: the conversation is not seen."}},"required":["task"]}'
)


def subagent(
    agent: Agent[Any], *, name: str, description: str, timeout_s: float = 3_600.0
) -> AgentTool:
    """A tool that gives ``agent`` a task and returns its last answer.

    Its session is ``parent/call id`` in the parent's store, at the parent's place, so that it resumes after a crash.
    Each of its calls is a row of purpose ``child`` in the parent's ledger: spend of the parent, and no part of its
    reading. A cancelled parent cancels it.
    """

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        task = arguments.get("task")
        if not isinstance(task, str) or not task.strip():
            raise BadArguments("Nothing was done: `task` must say what to do.")
        if not isinstance(context, CallContext):
            raise BadArguments("A subagent runs inside a session only.")
        return await _perform(agent, task, context)

    declaration = Tool(name=name, description=description, schema=_SCHEMA)
    return AgentTool(
        declaration=declaration, run=run, idempotent=True, timeout_s=timeout_s
    )


async def _perform(agent: Agent[Any], task: str, context: CallContext) -> Output:
    runtime = context.runtime
    agent = agent._within(
        runtime.shared.store, runtime.shared.client, runtime.first.place
    )
    _inherit(agent, runtime.shared.hooks)
    child = child_of(context.session, context.call_id)
    async with agent.session(child, resume=False, deps=context.deps) as session:
        fold = (await session._look()).fold
        known = await _noted(context) if fold.spend.all.calls else set()
        await runtime.ledger.write(
            [ChildStarted(call_id=context.call_id, child=child, model=fold.model)]
        )
        try:
            async with background(_mirror(session, context, known)):
                result = await _answered(session, task)
        finally:
            await _mirror_rest(session, context, known)
    if result.reason == "finished":
        return Output(result.text or "(The agent said nothing.)")
    stopped = f"The agent stopped ({result.reason}). {result.note}".rstrip()
    return Output(f"{stopped}\n{result.text}".rstrip(), is_error=True)


def _inherit(agent: Agent[Any], hooks: Sequence[Hook]) -> None:
    """Give the agent those of its parent's hooks that hold for subagents too."""
    own = {type(hook) for hook in agent._hooks}
    agent._hooks += tuple(
        hook for hook in hooks if hook.is_inherited and type(hook) not in own
    )


def child_of(session: str, call_id: str) -> str:
    """The id of a call's own session: ``parent/call id``, with a digest of a call id that no session's id can hold."""
    child = f"{session}/{call_id}"
    try:
        check_new_id(child)
    except CommandRefused:
        digest = sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{session}/{digest[:32]}"
    return child


async def _answered(session: Session, task: str) -> Result:
    """The child's result for its task. Cancelling cancels the child's turn."""
    try:
        await session.send(task, id=f"{session.id}/task")
        return await session.wait(check=False)
    except asyncio.CancelledError:
        await end_turn(session, CHILD_CANCEL_S)
        raise


async def _noted(context: CallContext) -> set[str]:
    """Calls of children that the parent's ledger has. Reads all of it: for a child only that has made calls before."""
    events = await context.store.read(context.session)
    return {
        event.call
        for event in events
        if isinstance(event, CallEnded) and event.purpose == "child"
    }


async def _mirror(session: Session, context: CallContext, known: set[str]) -> None:
    """The child's calls as spend of the parent, while they happen."""
    async with aclosing(session.events(after=0)) as events:
        async for event in events:
            if isinstance(event, CallEnded):
                await _note(event, session, context, known)


async def _mirror_rest(session: Session, context: CallContext, known: set[str]) -> None:
    for event in await session.history():
        if isinstance(event, CallEnded):
            await _note(event, session, context, known)


async def _note(
    event: CallEnded, session: Session, context: CallContext, known: set[str]
) -> None:
    call = event.call if event.purpose == "child" else f"{session.id}:{event.call}"
    if call in known:
        return
    known.add(call)
    fold = (await session._look()).fold
    spent = CallEnded(
        call=call,
        purpose="child",
        outcome=event.outcome,
        usage=event.usage,
        model=event.model or fold.model,
        provider=event.provider or fold.provider,
    )
    await context.runtime.ledger.write([replace(spent, at=event.at)])
