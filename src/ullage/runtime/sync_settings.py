"""Brings the ledger up to the settings: model, system prompt, tools, parameters and limits as they count now.

What changed is written as events before the next decision, so that the reading follows at once. What the model has seen
and would see otherwise from here on begins a new epoch, once for all changes together.
"""

from __future__ import annotations

from collections.abc import Sequence

from ullage.events import (
    Event,
    ModelChanged,
    ParamsChanged,
    SettingsChanged,
    SystemChanged,
    ToolsChanged,
    ToolServerNoticed,
)
from ullage.messages import Tool
from ullage.runtime.session_runtime import SessionRuntime
from ullage.runtime.settings import Settings

RESOLVED = ("window", "default_window", "reserve", "trigger", "auto", "include_in_context", "strip")
"""Settings that a reading depends on: they are written down as they count, wherever they were said."""


async def sync_settings(runtime: SessionRuntime) -> None:
    """Write what has changed since the last time; nothing where nothing has. Raises ``SettingError``."""
    loop = runtime.ledger.loop
    tools = runtime.shared.tools(runtime.settings)
    if runtime.synced_settings is loop.settings and runtime.tools is tools and not runtime.memory.broken:
        return
    runtime.settings = runtime.resolve_settings().settings
    runtime.tools = runtime.shared.tools(runtime.settings)
    events = changes(runtime)
    if events:
        await runtime.ledger.write(events)
    runtime.synced_settings = loop.settings  # not what was said while this was written: that is arranged the next time


def changes(runtime: SessionRuntime) -> list[Event]:
    """Events for what the ledger has otherwise than the settings."""
    settings, meter = runtime.settings, runtime.ledger.meter
    held = meter.request(messages=())
    events: list[Event] = []
    rewrites: list[str] = []
    if said := _limits(settings, runtime):
        events.append(SettingsChanged(settings=said, source="resolved"))
        if {"include_in_context", "strip"} & said.keys():
            rewrites.append("policy")
    if settings.model and _model(settings) != (held.provider, held.wire, held.model):
        provider, wire, model = _model(settings)
        events.append(ModelChanged(model=model, wire=wire, provider=provider))
        rewrites.append("model")
    system = runtime.shared.system(settings)
    if system != held.system or not runtime.ledger.loop.turns:
        events.append(SystemChanged(system=system))
        rewrites.append("system")
    declared = _declared(runtime)
    events += _server_notices(runtime, held.tools, declared)
    if declared != held.tools or not runtime.ledger.loop.turns:
        events.append(ToolsChanged(tools=declared))
        rewrites.append("tools")
    if dict(settings.params) != held.params:
        events.append(ParamsChanged(params=dict(settings.params)))
    if runtime.memory.broken:
        rewrites.append(runtime.memory.broken)
    if rewrites and runtime.memory.started is not None:
        events.append(runtime.new_epoch(" and ".join(rewrites)))
    return events


def _server_notices(runtime: SessionRuntime, before: Sequence[Tool], after: Sequence[Tool]) -> list[Event]:
    """An event for each MCP server of which something new is to be told."""
    notices: list[Event] = []
    is_first = not runtime.ledger.loop.turns
    for server in runtime.shared.servers():
        was = {tool.name: tool for tool in before if tool.server == server.name}
        now = {tool.name: tool for tool in after if tool.server == server.name}
        is_compared = bool(was) and not is_first  # of a new session, or a server that had no tools, all are new
        changed = tuple(name for name in now if name in was and now[name] != was[name])
        added = tuple(name for name in now if name not in was) if is_compared else ()
        removed = tuple(name for name in was if name not in now) if is_compared and not server.problem else ()
        state = (server.problem, server.notes)
        if state != runtime.noticed.get(server.name, ("", ())) or added or removed or changed:
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
        runtime.noticed[server.name] = state
    return notices


def _model(settings: Settings) -> tuple[str, str, str]:
    provider, model = settings.destination()
    return provider.name, provider.wire, model


def _declared(runtime: SessionRuntime) -> tuple[Tool, ...]:
    return tuple(tool.declaration for tool in runtime.tools.values())


def _limits(settings: Settings, runtime: SessionRuntime) -> dict[str, object]:
    """The settings of the reading that the meter does not have yet."""
    limits, policy = runtime.ledger.meter.limits, runtime.ledger.meter.policy
    window = limits.window.tokens if limits.window is not None and limits.window.source == "user" else None
    has: dict[str, object] = {
        "window": window,
        "default_window": limits.default_window,
        "reserve": limits.reserve,
        "trigger": limits.trigger,
        "auto": limits.auto,
        "include_in_context": policy.include_in_context,
        "strip": policy.strip,
    }
    wants = {name: getattr(settings, name) for name in RESOLVED}
    return {name: value for name, value in wants.items() if value != has[name]}
