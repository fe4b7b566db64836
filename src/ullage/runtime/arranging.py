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
from ullage.runtime.settings import Settings
from ullage.runtime.work import Work

RESOLVED = ("window", "default_window", "reserve", "trigger", "auto", "include_in_context", "strip")
"""Settings that a reading depends on: they are written down as they count, wherever they were said."""


async def arrange(work: Work) -> None:
    """Write what has changed since the last time; nothing where nothing has. Raises ``SettingError``."""
    loop = work.ledger.loop
    tools = work.shared.tools(work.settings)
    if work.arranged is loop.settings and work.tools is tools and not work.memory.broken:
        return
    work.settings = work.shared.resolve(loop.settings, changed=work.changed).settings
    work.tools = work.shared.tools(work.settings)
    events = changes(work)
    if events:
        await work.ledger.write(events)
    work.arranged = loop.settings  # not what was said while this was written: that is arranged the next time


def changes(work: Work) -> list[Event]:
    """Events for what the ledger has otherwise than the settings."""
    settings, meter = work.settings, work.ledger.meter
    held = meter.request(messages=())
    events: list[Event] = []
    rewrites: list[str] = []
    if said := _limits(settings, work):
        events.append(SettingsChanged(settings=said, source="resolved"))
        if {"include_in_context", "strip"} & said.keys():
            rewrites.append("policy")
    if settings.model and _model(settings) != (held.provider, held.wire, held.model):
        provider, wire, model = _model(settings)
        events.append(ModelChanged(model=model, wire=wire, provider=provider))
        rewrites.append("model")
    system = work.shared.system(settings)
    if system != held.system or not work.ledger.loop.turns:
        events.append(SystemChanged(system=system))
        rewrites.append("system")
    declared = _declared(work)
    events += _server_notices(work, held.tools, declared)
    if declared != held.tools or not work.ledger.loop.turns:
        events.append(ToolsChanged(tools=declared))
        rewrites.append("tools")
    if dict(settings.params) != held.params:
        events.append(ParamsChanged(params=dict(settings.params)))
    if work.memory.broken:
        rewrites.append(work.memory.broken)
    if rewrites and work.memory.started is not None:
        events.append(work.new_epoch(" and ".join(rewrites)))
    return events


def _server_notices(work: Work, before: Sequence[Tool], after: Sequence[Tool]) -> list[Event]:
    """An event for each MCP server of which something new is to be told."""
    notices: list[Event] = []
    is_first = not work.ledger.loop.turns
    for server in work.shared.servers():
        was = {tool.name: tool for tool in before if tool.server == server.name}
        now = {tool.name: tool for tool in after if tool.server == server.name}
        is_compared = bool(was) and not is_first  # of a new session, or a server that had no tools, all are new
        changed = tuple(name for name in now if name in was and now[name] != was[name])
        added = tuple(name for name in now if name not in was) if is_compared else ()
        removed = tuple(name for name in was if name not in now) if is_compared and not server.problem else ()
        state = (server.problem, server.notes)
        if state != work.noticed.get(server.name, ("", ())) or added or removed or changed:
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
        work.noticed[server.name] = state
    return notices


def _model(settings: Settings) -> tuple[str, str, str]:
    provider, model = settings.destination()
    return provider.name, provider.wire, model


def _declared(work: Work) -> tuple[Tool, ...]:
    return tuple(tool.declaration for tool in work.tools.values())


def _limits(settings: Settings, work: Work) -> dict[str, object]:
    """The settings of the reading that the meter does not have yet."""
    limits, policy = work.ledger.meter.limits, work.ledger.meter.policy
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
