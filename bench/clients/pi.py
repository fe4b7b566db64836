"""pi. Settings: ``docs/settings.md`` and ``docs/models.md`` of its npm package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bench.clients.client import Client, Place, ToolCall, Turn


class Pi(Client):
    """``pi -p``; a session continues with ``-c``. Its log: ``~/.pi/agent/sessions/<directory>/*.jsonl``."""

    name = "pi"
    title = "pi"
    package = "@earendil-works/pi-coding-agent"
    version = "0.87.1"
    """The newest that installs: packages that 1.5.2 needs are not on npm."""
    program = "pi"
    family = "anthropic"
    model = "anthropic/claude-opus-4-8"
    other_model = "openai/gpt-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "it declares no tools with free text as input",
        "subagent": "it has none",
        "compact": "with -p, /compact is sent to the model as text",
    }
    summary_prompt = "summar"

    def prepare(self, place: Place) -> dict[str, str]:
        address = place.address
        providers = {
            "anthropic": {"baseUrl": f"{address}/anthropic"},
            "openai": {"baseUrl": f"{address}/openai/v1"},
            "google": {"baseUrl": f"{address}/gemini/v1beta"},
        }
        place.write(".pi/agent/models.json", {"providers": providers})
        if place.small_window:
            # It compacts above its window (1,000,000 for this model) less the reserve.
            compaction = {"reserveTokens": 985_000, "keepRecentTokens": 2_000}
            place.write(".pi/agent/settings.json", {"compaction": compaction})
        return {
            "ANTHROPIC_API_KEY": "any-key",
            "OPENAI_API_KEY": "any-key",
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
        }

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["-c"]
        chosen = self.other_model if turn.other_model else self.model
        provider, _, model = chosen.partition("/")
        return ["-p", *again, "--provider", provider, "--model", model, turn.text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("bash", {"command": command})

    def read(self, path: Path) -> ToolCall:
        return ToolCall("read", {"path": str(path)})
