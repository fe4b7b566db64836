"""The sandbox of an agent's commands: its settings, and what is Ullage's own and no command may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ullage.directories import data_directory
from ullage.user_file import user_config
from ullage_agent.runtime.setting_values import McpServerSetting
from ullage_agent.runtime.settings import Settings
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.tool import AgentTool


def sandbox_of(
    settings: Settings, environment: Mapping[str, str], store: Path | None = None
) -> Sandbox:
    """How commands with these settings are confined. ``store`` is a database outside the data directory."""
    config = user_config(environment)
    return Sandbox(
        mode=settings.sandbox,
        readable=settings.sandbox_read,
        writable=settings.sandbox_write,
        hidden=(data_directory(environment), config.parent, config),
        stores=() if store is None else (store,),
        home=Path(environment.get("HOME") or Path.home()),
    )


def confined_server(server: McpServerSetting, sandbox: Sandbox) -> Sandbox | None:
    """The sandbox of an MCP server that is started here; ``None`` for one that asks for none."""
    if server.sandbox == "off":
        return None
    return replace(sandbox, mode=server.sandbox)


def warnings_of(tools: Mapping[str, AgentTool]) -> tuple[str, ...]:
    """What a person should know of these tools before work begins."""
    return tuple(
        f"Commands of {tool.name} are not confined, so each one needs approval: {tool.unconfined}."
        for tool in tools.values()
        if tool.unconfined
    )
