"""Copilot CLI. Its own provider: ``copilot help providers``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bench.clients.client import Client, Place, ToolCall, Turn


class CopilotCli(Client):
    """``copilot -p``; a session continues with ``--continue``. Log: ``~/.copilot/session-state/<id>/events.jsonl``."""

    name = "copilot-cli"
    title = "Copilot CLI"
    package = "@github/copilot"
    version = "1.0.102"
    program = "copilot"
    family = "anthropic"
    model = "claude-sonnet-4-5"
    other_model = "claude-haiku-4-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "with a provider of one's own it declares no such tool"
    }
    summary_prompt = "Please create a detailed summary of the conversation so far"

    def prepare(self, place: Place) -> dict[str, str]:
        variables = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": f"{place.address}/anthropic",
            "COPILOT_PROVIDER_API_KEY": "any-key",
        }
        if place.small_window:
            variables["COPILOT_PROVIDER_MAX_PROMPT_TOKENS"] = "40000"
        return variables

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["--continue"]
        model = self.other_model if turn.other_model else self.model
        text = "/compact" if turn.deed == "compact" else turn.text
        return [*again, "--model", model, "--allow-all-tools", "-p", text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("bash", {"command": command, "description": "Look"})

    def read(self, path: Path) -> ToolCall:
        return ToolCall("view", {"path": str(path)})

    def read_large(self, path: Path) -> ToolCall:
        whole = {"view_range": [1, 900], "forceReadLargeFiles": True}
        return ToolCall("view", {"path": str(path), **whole})

    def subagent(self, prompt: str) -> ToolCall:
        about = {"description": "look around", "agent_type": "general-purpose"}
        return ToolCall("task", {**about, "name": "looker", "prompt": prompt})
