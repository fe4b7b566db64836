"""The sessions of subagents: below a call of the parent's, and spend of the parent."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import Annotated, Any, Protocol

from msgspec.structs import replace

from ullage.errors import CommandRefused
from ullage.events import CallEnded, CallStarted, ChildStarted, SessionEvent
from ullage.store.refusals import check_new_id
from ullage.tasks import background
from ullage.wire.client import Client
from ullage_agent.loop.budgets import reached, used_by_turn
from ullage_agent.runtime.driver import used_by_session
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.message_input import MessageInput
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.output_type import OutputType
from ullage_agent.runtime.policy import CHILD_CANCEL_S, CHILD_TASK_S
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_agent.runtime.text_stream import end_turn
from ullage_agent.runtime.tooling import CallContext
from ullage_agent.tools.functions import tool
from ullage_agent.tools.outputs import as_output
from ullage_agent.tools.tool import AgentTool, BadArguments, Output, ToolContext


class Asked(Protocol):
    """What is used of an agent that another one asks."""

    name: str
    description: str
    _hooks: tuple[Hook, ...]
    _is_hosted: bool

    def _within(self, store: Any, client: Client, place: str = "") -> Any: ...

    def session(self, id: str = "", *, resume: bool = True, deps: Any = None) -> Any: ...

    async def ask(self, *pieces: MessageInput) -> Result[Any]: ...

    def run_sync(self, *pieces: MessageInput) -> Result[Any]: ...


async def task_itself(
    task: Annotated[
        str,
        "What to do, with everything that has to be known: the conversation is not seen.",
    ],
) -> str:
    """The task as the model writes it."""
    return task


def task_tool(
    agent: Asked,
    write: Callable[..., Any],
    *,
    name: str,
    description: str,
    timeout_s: float = CHILD_TASK_S,
) -> AgentTool:
    """A tool that gives the agent the task which this function writes."""
    written = tool(name=name, description=description)(write)

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        task = (await written.run(arguments, context)).text
        if not task.strip():
            raise BadArguments("Nothing was done: the task must say what to do.")
        return told(await answer_within(agent, (task,), context))

    return dataclasses.replace(
        written,
        run=run,
        idempotent=True,
        read_only=True,  # its own calls are steps of its session
        outlives_cancel=False,
        timeout_s=timeout_s,
    )


async def answer_within(
    agent: Asked,
    pieces: Sequence[MessageInput],
    context: ToolContext,
    *,
    deps: object = None,
    output_type: Any = None,
) -> Result[Any]:
    """What ``agent`` answers as a subagent of the call with this context; an unsuccessful turn is a result too.

    Raises ``CommandRefused`` for a context that is not of a running call, and ``AnswerInvalid``.
    """
    if not isinstance(context, CallContext):
        raise CommandRefused(
            "`within` takes the ToolContext that a running tool was given. Leave it out to ask outside of a session."
        )
    runtime = context.runtime
    shared = runtime.shared
    agent = agent._within(shared.store, shared.client, runtime.first.place)
    agent._is_hosted = runtime.first.is_hosted
    _inherit(agent, shared.hooks)
    child = child_of(context.session, context.next_child())
    deps = context.deps if deps is None else deps
    session = agent.session(child, resume=False, deps=deps)
    if output_type is not None:
        session._output = OutputType(output_type)
    async with session:
        fold = (await session._look()).fold
        known = await _noted(context) if fold.spend.all.calls else set()
        await runtime.ledger.write(
            [ChildStarted(call_id=context.call_id, child=child, model=fold.model)]
        )
        try:
            async with background(_mirror(session, context, known)):
                return await _answered(session, pieces, runtime)
        finally:
            await _mirror_rest(session, context, known)


def told(result: Result[Any]) -> Output:
    """What another model gets of a result."""
    if result.reason == "finished":
        said = result.output
        return as_output("(The agent said nothing.)" if said == "" else said)
    stopped = f"The agent stopped ({result.reason}). {result.note}".rstrip()
    return Output(f"{stopped}\n{result.text}".rstrip(), is_error=True)


def _inherit(agent: Asked, hooks: Sequence[Hook]) -> None:
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


async def _answered(
    session: Session[Any], pieces: Sequence[MessageInput], parent: SessionRuntime
) -> Result[Any]:
    """The child's result for its task. A cancelled call cancels the child's turn; a process that ends leaves it open.

    An approval is waited for where a person can give it; elsewhere the turn that needs one is ended.
    """
    shared = session._open
    try:
        await session.send(*pieces, id=f"{session.id}/task")
        async with shared.store.watch(session.id) as watch:
            result = await session.wait(check=False)
            while result.reason == "approval" and shared.is_hosted:
                await watch.wait()
                result = await session.wait(check=False)
    except asyncio.CancelledError:
        if parent.ledger.loop.cancel or not parent.is_closing:
            await end_turn(session, CHILD_CANCEL_S)
        raise
    if result.reason == "approval":
        await end_turn(session, CHILD_CANCEL_S)
    return result


async def _noted(context: CallContext) -> set[str]:
    """Calls of children that the parent's ledger has. Reads all of it: for a child only that has made calls before."""
    events = await context.store.read(context.session)
    return {
        event.call
        for event in events
        if isinstance(event, CallEnded) and event.purpose == "child"
    }


async def _mirror(session: Session, context: CallContext, known: set[str]) -> None:
    """The child's calls as spend of the parent, while they happen.

    Cancels the child when it makes another call although a budget of the parent is used up: a last answer is kept.
    """
    async with aclosing(session.events(after=0)) as events:
        async for event in events:
            await _note(event, session, context, known)
            match event:
                case CallStarted() | CallEnded(purpose="child") if _is_spent(
                    context.runtime
                ):
                    await session.cancel(tools="stop")
                    return


def _is_spent(runtime: SessionRuntime) -> bool:
    """Whether a budget allows no further model call."""
    settings, loop = runtime.settings, runtime.ledger.loop
    used = used_by_session(runtime)
    turn = used_by_turn(loop, used, runtime.shared.clock() - loop.since)
    return bool(reached(settings.session_budget, used) or reached(settings.budget, turn))


async def _mirror_rest(session: Session, context: CallContext, known: set[str]) -> None:
    for event in await session.history():
        await _note(event, session, context, known)


async def _note(
    event: SessionEvent, session: Session, context: CallContext, known: set[str]
) -> None:
    if not isinstance(event, CallEnded):
        return
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
