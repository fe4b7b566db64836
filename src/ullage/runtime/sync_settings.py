"""Records changed settings in the ledger: model, system prompt, tools, parameters and limits.

They are written as events before the next decision, so that the reading follows at once. Changes that alter what the
model has already seen begin one new epoch together.
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

RESOLVED = (
    "window",
    "default_window",
    "reserve",
    "trigger",
    "auto",
    "include_in_context",
    "strip",
)
"""Settings that a reading depends on: their values in effect are recorded, whatever their source."""


async def sync_settings(runtime: SessionRuntime) -> None:
    """Record the changes since the last call. Raises ``SettingError``."""
    loop = runtime.ledger.loop
    tools = runtime.shared.tools(runtime.settings)
    if (
        runtime.synced_settings is loop.settings
        and runtime.tools is tools
        and not runtime.memory.broken
    ):
        return
    runtime.settings = runtime.resolve_settings().settings
    runtime.tools = runtime.shared.tools(runtime.settings)
    events = changes(runtime)
    if events:
        await runtime.ledger.write(events)
    runtime.synced_settings = (
        loop.settings
    )  # settings that change during the write are recorded the next time


def changes(runtime: SessionRuntime) -> list[Event]:
    """Events for the differences between the ledger and the settings."""
    settings, meter = runtime.settings, runtime.ledger.meter
    held = meter.request(messages=())
    events: list[Event] = []
    rewrites: list[str] = []
    if limits := _limits(settings, runtime):
        events.append(SettingsChanged(settings=limits, source="resolved"))
        if "include_in_context" in limits or "strip" in limits:
            rewrites.append("policy")
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
    system = runtime.shared.system(settings)
    if system != held.system or not runtime.ledger.loop.turns:
        events.append(SystemChanged(system=system))
        rewrites.append("system")
    declared = tuple(tool.declaration for tool in runtime.tools.values())
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


def _server_notices(
    runtime: SessionRuntime, before: Sequence[Tool], after: Sequence[Tool]
) -> list[Event]:
    """An event for each MCP server whose tools, problem or notes have changed."""
    notices: list[Event] = []
    is_first = not runtime.ledger.loop.turns
    for server in runtime.shared.servers():
        was = {tool.name: tool for tool in before if tool.server == server.name}
        now = {tool.name: tool for tool in after if tool.server == server.name}
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
        if (
            state != runtime.noticed.get(server.name, ("", ()))
            or added
            or removed
            or changed
        ):
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


def _limits(settings: Settings, runtime: SessionRuntime) -> dict[str, object]:
    """The settings of the reading in which the meter differs."""
    limits, policy = runtime.ledger.meter.limits, runtime.ledger.meter.policy
    window = None
    if limits.window is not None and limits.window.source == "user":
        window = limits.window.tokens
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
