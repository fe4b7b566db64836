"""qwen-code. Settings: https://github.com/QwenLM/qwen-code, ``docs/users/configuration``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bench.clients.client import Client, Place, ToolCall, Turn


class QwenCode(Client):
    """``qwen -p``; a session continues with ``-c``. Its log: ``~/.qwen/projects/<directory>/chats/<session>.jsonl``."""

    name = "qwen-code"
    title = "qwen-code"
    package = "@qwen-code/qwen-code"
    version = "0.24.4"
    program = "qwen"
    family = "openai"
    model = "deepseek-chat"
    other_model = "deepseek-reasoner"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "it declares no tools with free text as input"
    }
    summary_prompt = "state_snapshot"
    side_prompts = ("Managed memory has TWO directories",)

    def prepare(self, place: Place) -> dict[str, str]:
        settings: dict[str, object] = {"general": {"enableAutoUpdate": False}}
        if place.small_window:
            window = {"contextWindowSize": 60_000}
            settings["model"] = {"generationConfig": window}
        place.write(".qwen/settings.json", settings)
        return {
            "OPENAI_API_KEY": "any-key",
            "OPENAI_BASE_URL": f"{place.address}/deepseek",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        }

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["-c"]
        model = self.other_model if turn.other_model else self.model
        text = "/compress" if turn.deed == "compact" else turn.text
        return [*again, "--auth-type", "openai", "-m", model, "-y", "-p", text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("run_shell_command", {"command": command, "is_background": False})

    def read(self, path: Path) -> ToolCall:
        return ToolCall("read_file", {"file_path": str(path)})

    def subagent(self, prompt: str) -> ToolCall:
        about = {"description": "look around", "subagent_type": "general-purpose"}
        return ToolCall("agent", {**about, "prompt": prompt})
