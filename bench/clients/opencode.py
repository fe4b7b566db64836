"""OpenCode. Settings: https://opencode.ai/docs/config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bench.clients.client import Client, Place, ToolCall, Turn

WINDOW = 200_000
SMALL = 50_000


class OpenCode(Client):
    """``opencode run``; a session continues with ``-c``. Its log: ``~/.local/share/opencode/opencode.db``."""

    name = "opencode"
    title = "OpenCode"
    package = "opencode-ai"
    version = "1.18.33"
    program = "opencode"
    newer_node = False
    family = "anthropic"
    model = "anthropic/claude-sonnet-4-5"
    other_model = "openai/gpt-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "it declares no tools with free text as input",
        "compact": "`opencode run` has no such command; /compact is of its terminal screen",
    }
    summary_prompt = "Do not mention the summary process or that context was compacted"

    def prepare(self, place: Place) -> dict[str, str]:
        window = SMALL if place.small_window else WINDOW
        limit = {"limit": {"context": window, "output": 8_000}}
        address = place.address
        claude = {"baseURL": f"{address}/anthropic/v1", "apiKey": "any-key"}
        gpt = {"baseURL": f"{address}/openai/v1", "apiKey": "any-key"}
        providers = {
            "anthropic": {"options": claude, "models": {"claude-sonnet-4-5": limit}},
            "openai": {"options": gpt, "models": {"gpt-5": limit}},
        }
        config = {"autoupdate": False, "share": "disabled", "provider": providers}
        place.write(".config/opencode/opencode.json", config)
        return {}

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["-c"]
        model = self.other_model if turn.other_model else self.model
        return ["run", *again, "-m", model, turn.text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("bash", {"command": command, "description": "Look"})

    def read(self, path: Path) -> ToolCall:
        return ToolCall("read", {"filePath": str(path)})

    def subagent(self, prompt: str) -> ToolCall:
        about = {"description": "look around", "subagent_type": "general"}
        return ToolCall("task", {**about, "prompt": prompt})
