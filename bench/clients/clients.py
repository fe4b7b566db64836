"""The clients of the bench, by name."""

from __future__ import annotations

from collections.abc import Mapping

from bench.clients.claude_code import ClaudeCode
from bench.clients.client import Client
from bench.clients.codex import Codex
from bench.clients.copilot import CopilotCli
from bench.clients.gemini_cli import GeminiCli
from bench.clients.opencode import OpenCode
from bench.clients.pi import Pi
from bench.clients.qwen_code import QwenCode

_ALL: tuple[Client, ...] = (
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    OpenCode(),
    Pi(),
    QwenCode(),
    CopilotCli(),
)

CLIENTS: Mapping[str, Client] = {client.name: client for client in _ALL}
