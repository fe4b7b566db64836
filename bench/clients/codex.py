"""Codex. Settings: https://github.com/openai/codex, ``docs/config.md``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import ClassVar

from bench.clients.client import Client, Place, ToolCall, Turn

CONFIG = """model_provider = "simulator"
check_for_update_on_startup = false
{more}
[model_providers.simulator]
name = "simulator"
base_url = "{address}/openai/v1"
env_key = "SIMULATOR_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""

BUILT_IN = """openai_base_url = "{address}/openai/v1"
check_for_update_on_startup = false
web_search = "disabled"
{more}
[analytics]
enabled = false
"""
"""Its own provider, which tries a WebSocket first. OpenAI's own search costs 9,500 tokens there (``tokens/tools.py``),
and nothing at a simulator."""

PATCH = """*** Begin Patch
*** Add File: patched.txt
+one line
*** End Patch
"""


class Codex(Client):
    """``codex exec``; a session continues with ``resume --last``. Its log: ``~/.codex/sessions/…/rollout-*.jsonl``."""

    name = "codex"
    title = "Codex"
    package = "@openai/codex"
    version = "0.169.0"
    program = "codex"
    newer_node = False
    family = "openai"
    model = "gpt-5.5"
    other_model = "gpt-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "subagent": "its tools for subagents are found by a tool search, which the simulators don't have",
        "compact": "`codex exec` takes no commands; /compact is of its terminal screen",
    }
    summary_prompt = "CONTEXT CHECKPOINT COMPACTION"

    def prepare(self, place: Place) -> dict[str, str]:
        more = "model_auto_compact_token_limit = 14000\n" if place.small_window else ""
        # Its own provider has OpenAI make the summaries, which the simulators don't.
        is_built_in = place.by_proxy and not place.small_window
        config = BUILT_IN if is_built_in else CONFIG
        text = config.format(address=place.address, more=more)
        place.write(".codex/config.toml", text)
        place.write(".codex/auth.json", {"OPENAI_API_KEY": "any-key"})
        return {"CODEX_HOME": str(place.home / ".codex"), "SIMULATOR_KEY": "any-key"}

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["resume", "--last"]
        model = self.other_model if turn.other_model else self.model
        free = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        return ["exec", *again, *free, "--json", "-m", model, turn.text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("exec_command", {"cmd": command})

    def read(self, path: Path) -> ToolCall:
        return self.shell(f"cat {quote(str(path))}")

    def patch(self) -> ToolCall:
        return ToolCall("apply_patch", {}, custom=PATCH)
