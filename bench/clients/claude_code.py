"""Claude Code. Environment variables: https://code.claude.com/docs/en/settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bench.clients.client import Client, Place, ToolCall, Turn


class ClaudeCode(Client):
    """``claude -p``; a session continues with ``-c``. Its log: ``~/.claude/projects/<directory>/<session>.jsonl``."""

    name = "claude-code"
    title = "Claude Code"
    package = "@anthropic-ai/claude-code"
    version = "2.1.330"
    program = "claude"
    newer_node = False
    family = "anthropic"
    model = "claude-opus-5-5"
    other_model = "claude-sonnet-4-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "it declares no tools with free text as input"
    }
    refused_rightly: ClassVar[Mapping[str, str]] = {
        "prefix_changed": "thinking kept behind a summary; the client sends it again without the thinking: "
        "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
    }
    summary_prompt = "Your task is to create a detailed summary"

    def prepare(self, place: Place) -> dict[str, str]:
        variables = {
            "ANTHROPIC_BASE_URL": f"{place.address}/anthropic",
            "ANTHROPIC_API_KEY": "any-key",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        if place.small_window:
            # The smallest that it takes. It compacts at about 67,000.
            variables["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        return variables

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["-c"]
        text = "/compact" if turn.deed == "compact" else turn.text
        model = self.other_model if turn.other_model else self.model
        tools = "Bash,Read,Agent"
        return ["-p", *again, "--model", model, "--allowedTools", tools, "--", text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("Bash", {"command": command, "description": "Look"})

    def read(self, path: Path) -> ToolCall:
        return ToolCall("Read", {"file_path": str(path)})

    def subagent(self, prompt: str) -> ToolCall:
        about = {"description": "look around", "subagent_type": "general-purpose"}
        return ToolCall("Agent", {**about, "prompt": prompt})
