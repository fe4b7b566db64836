"""Records changed settings in the ledger: model, system prompt, tools, parameters and limits.

They are written as events before the next decision, so that the reading follows at once. Changes that alter what the
model has already seen begin one new epoch together. ``reading_in_effect`` counts those that are not written yet: a
changed system prompt that is told by a message waits for the next turn, as such a message has to follow a user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ullage.context.costs import after as fold_after
from ullage.events import (
    Event,
    ModelChanged,
    ParamsChanged,
    SettingsChanged,
    ToolsChanged,
    ToolServerNoticed,
)
from ullage.messages import SystemBlock, Tool, clean_text
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage_agent.runtime.answer_tool import answer_tool, is_by_tool, params_with
from ullage_agent.runtime.deferring import ToolSet, tool_set, undeferred
from ullage_agent.runtime.output_type import OutputType
from ullage_agent.runtime.policy import LONGEST_PROBLEM
from ullage_agent.runtime.session_runtime import SessionRuntime, SyncedTo, answering
from ullage_agent.runtime.settings import Settings
from ullage_agent.runtime.system_notes import (
    changed_system,
    has_to_change,
    is_told,
    may_follow,
)
from ullage_agent.runtime.turn_instructions import (
    TurnContext,
    WrittenInstructions,
    writer_name,
    written,
)

RESOLVED = (
    "window",
    "reserve",
    "trigger",
    "auto",
)
"""Settings that a reading depends on: their values in effect are recorded, whatever their source."""


NOT_COUNTED = "The MCP server {} offers no tools yet, so none are counted: {}."


class PendingChanges(NamedTuple):
    """What the settings change in the ledger: the events, the tools, and what is told of each MCP server.

    ``told`` are further events, by which the model is told of a changed system prompt.
    """

    events: list[Event]
    told: list[Event]
    tools: ToolSet
    noticed: dict[str, tuple[str, tuple[str, ...]]]


async def sync_settings(runtime: SessionRuntime) -> None:
    """Record the changes since the last call. Raises ``SettingError``."""
    if is_synced(runtime):
        return
    own = runtime.ledger.loop.settings
    runtime.settings = runtime.resolve_settings().settings
    state = _state(runtime, own)
    pending = changes(runtime, runtime.settings)
    runtime.tools = pending.tools.tools
    runtime.deferrable = pending.tools.deferrable
    runtime.noticed = pending.noticed
    is_in_turn = bool(runtime.ledger.loop.turn) and may_follow(runtime.fold)
    events = [*pending.events, *(pending.told if is_in_turn else ())]
    if events:
        await runtime.ledger.write(events)
    # What changes during the write is recorded the next time, but for what the changes themselves have set.
    now = _state(runtime, own)
    runtime.synced = state._replace(
        window=now.window, looked_up=now.looked_up, told=now.told
    )
    if pending.told and not is_in_turn:
        runtime.synced = None


def is_synced(runtime: SessionRuntime) -> bool:
    """Whether the ledger holds the settings of this process as they are now."""
    if runtime.synced is None or runtime.memory.broken:
        return False
    if runtime.synced.answering != answering(runtime.ledger.loop):
        return False
    return runtime.synced == _state(runtime, runtime.ledger.loop.settings)


async def reading_in_effect(runtime: SessionRuntime) -> Reading:
    """The reading of the next request with the settings of this process, whether they are recorded yet or not.

    Writes nothing. Raises ``SettingError``, ``StoreUnavailable``.
    """
    reading, fold = runtime.reading, runtime.fold
    if not is_synced(runtime):
        pending = changes(runtime, runtime.resolve_settings().settings)
        if any(isinstance(event, ModelChanged) for event in pending.events):
            await runtime.ledger.load()  # another model counts every message anew
            reading = runtime.reading  # the driver may have recorded them meanwhile
            pending = changes(runtime, runtime.resolve_settings().settings)
        events = [*pending.events, *pending.told]
        fold = fold_after(runtime.fold, events)
        after = Meter._of(fold).reading()
        reading = replace(after, seq=reading.seq)
    notes: list[str] = []
    warning = runtime.ledger.causes.expected(fold, runtime.shared.clock())
    if warning is not None:
        notes.append(f"The next call: {warning.line}.")
    for server in runtime.shared.servers():
        if server.is_missing:
            problem = clean_text(server.problem).text[:LONGEST_PROBLEM]
            notes.append(NOT_COUNTED.format(server.name, problem))
    if notes:
        reading = replace(reading, notes=(*reading.notes, *notes))
    return reading


def _state(runtime: SessionRuntime, own: Mapping[str, object]) -> SyncedTo:
    offered = runtime.shared.tools(runtime.settings)
    in_use = runtime.memory.tools_in_use.names
    looked_up = tuple(name for name in in_use if name in runtime.deferrable)
    fold = runtime.fold
    return SyncedTo(
        own,
        offered,
        looked_up,
        fold.limits.denominators.window.tokens,
        answering(runtime.ledger.loop),
        runtime.output,
        runtime.instructions,
        fold.told,
        bool(fold.compactions),
    )


def changes(runtime: SessionRuntime, settings: Settings) -> PendingChanges:
    """The differences between the ledger and the settings. Changes nothing."""
    meter = runtime.ledger.meter
    held = meter.request(messages=())
    events: list[Event] = []
    rewrites: list[str] = []
    if limits := _limits(settings, runtime):
        events.append(SettingsChanged(settings=limits, source="resolved"))
        if "include_in_context" in limits or "strip" in limits:
            rewrites.append("policy")
    wire = held.wire
    if settings.model:
        provider, model = settings.destination()
        if (provider.name, provider.wire, model) != (
            held.provider,
            held.wire,
            held.model,
        ):
            events.append(
                ModelChanged(model=model, wire=provider.wire, provider=provider.name)
            )
            rewrites.append("model")
        wire = provider.wire
    fold = runtime.fold
    is_first = fold.tools is None and not runtime.ledger.loop.turns
    declared = fold.tools or ()
    found = tool_set(
        runtime,
        runtime.shared.tools(settings),
        settings,
        fold_after(fold, events) if events else fold,
    )
    found = _with_answer(found, runtime.output, settings, wire)
    noticed = dict(runtime.noticed)
    events += _server_notices(
        runtime, undeferred(declared), undeferred(found.declared), noticed
    )
    if found.declared != declared or is_first:
        events.append(ToolsChanged(tools=found.declared))
        if _sent(found.declared) != _sent(declared):
            rewrites.append("tools")
    system = (*runtime.shared.system(settings), *_written(runtime, fold.in_force))
    told: list[Event] = []
    if is_first or has_to_change(fold, system):
        changed = changed_system(fold_after(fold, events) if events else fold, system)
        if is_told(changed):
            told = changed
        else:
            events += changed
            rewrites.append("system")
    params = params_with(runtime.output, settings, wire)
    if params != held.params:
        events.append(ParamsChanged(params=params))
    if runtime.memory.broken:
        rewrites.append(runtime.memory.broken)
    if rewrites and runtime.memory.started is not None:
        events.append(runtime.new_epoch(" and ".join(rewrites), events))
    return PendingChanges(events, told, found, noticed)


async def write_instructions(runtime: SessionRuntime) -> None:
    """Have the program's functions write the instructions of this turn. Raises what they raise."""
    loop, settings = runtime.ledger.loop, runtime.resolve_settings().settings
    session, root = runtime.ledger.session, settings.root or Path.cwd()
    context = TurnContext(session, root, settings.model, runtime.deps)
    blocks = await written(runtime.shared.writers, context)
    runtime.instructions = WrittenInstructions(loop.turn, loop.agent, blocks)


def _written(
    runtime: SessionRuntime, held: Sequence[SystemBlock]
) -> tuple[SystemBlock, ...]:
    """What the program's functions wrote; those of the ledger where they have not been called in this process."""
    now = runtime.instructions
    if now is not None and now.agent == runtime.ledger.loop.agent:
        return now.blocks
    names = {writer_name(writer) for writer in runtime.shared.writers}
    return tuple(block for block in held if block.name in names)


def _with_answer(
    found: ToolSet, output: OutputType[Any] | None, settings: Settings, wire: str
) -> ToolSet:
    """With the tool for the answer, where it is asked for as a tool call. It is never deferred."""
    if output is None or not is_by_tool(output, settings, wire):
        return found
    tool = answer_tool(output, found.tools)
    tools = {**found.tools, tool.name: tool}
    return found._replace(tools=tools, declared=(*found.declared, tool.declaration))


def _sent(tools: Sequence[Tool]) -> list[Tool]:
    return [tool for tool in tools if not tool.deferred]


def _tools_by_name(tools: Sequence[Tool], server: str) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools if tool.server == server}


def _server_notices(
    runtime: SessionRuntime,
    before: Sequence[Tool],
    after: Sequence[Tool],
    noticed: dict[str, tuple[str, tuple[str, ...]]],
) -> list[Event]:
    """An event for each MCP server whose tools, problem or notes have changed; ``noticed`` is brought up to now."""
    notices: list[Event] = []
    is_first = not runtime.ledger.loop.turns
    for server in runtime.shared.servers():
        was = _tools_by_name(before, server.name)
        now = _tools_by_name(after, server.name)
        changed = tuple(name for name in now if name in was and now[name] != was[name])
        added: tuple[str, ...] = ()
        removed: tuple[str, ...] = ()
        if (
            was and not is_first
        ):  # in a new session, or if the server had no tools, all of them are new
            added = tuple(name for name in now if name not in was)
            if not server.problem:
                removed = tuple(name for name in was if name not in now)
        state = (server.problem, server.notes)
        if state != noticed.get(server.name, ("", ())) or added or removed or changed:
            notices.append(
                ToolServerNoticed(
                    server=server.name,
                    problem=server.problem,
                    added=added,
                    removed=removed,
                    changed=changed,
                    notes=server.notes,
                )
            )
        noticed[server.name] = state
    return notices


def _limits(settings: Settings, runtime: SessionRuntime) -> dict[str, object]:
    """The settings of the reading in which the meter differs."""
    limits, policy = runtime.ledger.meter.limits, runtime.ledger.meter.policy
    window = None
    if limits.window is not None and limits.window.source == "user":
        window = limits.window.tokens
    has: dict[str, object] = {
        "window": window,
        "reserve": limits.reserve,
        "trigger": limits.trigger,
        "auto": limits.auto,
        "include_in_context": policy.include_in_context,
        "strip": policy.strip,
    }
    wanted: dict[str, object] = {name: getattr(settings, name) for name in RESOLVED}
    wanted["auto"] = settings.compacts
    wanted["include_in_context"] = settings.policy.include_in_context
    wanted["strip"] = settings.policy.strip
    return {name: value for name, value in wanted.items() if value != has[name]}
