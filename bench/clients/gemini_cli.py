"""Gemini CLI. Settings: https://github.com/google-gemini/gemini-cli, ``docs/get-started/configuration.md``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bench.clients.client import Client, Lane, Place, ToolCall, Turn


class GeminiCli(Client):
    """``gemini -p``; a session continues with ``--resume latest``. Log: ``~/.gemini/tmp/…/chats/session-*.jsonl``."""

    name = "gemini-cli"
    title = "Gemini CLI"
    package = "@google/gemini-cli"
    version = "0.61.0"
    program = "gemini"
    family = "gemini"
    model = "gemini-2.5-flash"
    other_model = "gemini-2.5-pro"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "it declares no tools with free text as input",
        "compact": "with -p, /compress is of its terminal screen",
    }
    refused_rightly: ClassVar[Mapping[str, str]] = {
        "result_count": "a resumed session repeats tool results: "
        "https://github.com/google-gemini/gemini-cli/issues/16437"
    }
    unlogged: ClassVar[Mapping[Lane, str]] = {
        "child": "its log has the subagent's answer and none of its calls"
    }
    summary_prompt = "<state_snapshot>"

    def prepare(self, place: Place) -> dict[str, str]:
        settings: dict[str, object] = {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        }
        if place.small_window:
            settings["model"] = {"compressionThreshold": 0.02}
        place.write(".gemini/settings.json", settings)
        return {
            "GEMINI_API_KEY": "any-key",
            "GOOGLE_GEMINI_BASE_URL": f"{place.address}/gemini",
        }

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["--resume", "latest"]
        model = self.other_model if turn.other_model else self.model
        return [*again, "-m", model, "--yolo", "-p", turn.text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("run_shell_command", {"command": command})

    def read(self, path: Path) -> ToolCall:
        return ToolCall("read_file", {"file_path": str(path)})

    def subagent(self, prompt: str) -> ToolCall:
        return ToolCall("invoke_agent", {"agent_name": "generalist", "prompt": prompt})
