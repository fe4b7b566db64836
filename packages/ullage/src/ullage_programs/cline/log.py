"""Cline's sessions: ``<session>.messages.json`` of its command line, ``api_conversation_history.json`` in VS Code.

Source: https://github.com/cline/cline, ``apps/vscode/src/shared/messages/metrics.ts``, and what 3.0.65 wrote. Messages
are in Anthropic's form for every provider.
"""

from __future__ import annotations

import re
from typing import Final

import ullage.importers.fields as f
from ullage.importers.conversation import ConversationReader
from ullage.importers.fields import JsonObject
from ullage.importers.reader import LogFormat

_CACHE_INSIDE: Final = frozenset({"openai", "litellm", "xai"})
"""Providers whose ``prompt`` holds the cached tokens, in VS Code: ``src/core/api/providers`` of v3.80."""

_ESTIMATED: Final = "vscode-lm"
"""The provider whose counts are Cline's own."""

_AROUND: Final = re.compile(r"</?(?:user_input|task)\b[^>]*>\s*")
"""What Cline puts around a person's words."""


class ClineReader(ConversationReader):
    """Reads a session as it stands in its file."""

    format = "cline"
    dialect = "cline"
    is_undated = True

    def accept(self, entry: object) -> None:
        """A list is of VS Code, where a result is text of the user."""
        self.rows.has_results = not isinstance(entry, list)
        super().accept(entry if self.rows.has_results else {"messages": entry})

    def read(self, entry: JsonObject) -> None:
        rows = self.rows
        self.messages = [_plain(each) for each in f.objects(entry, "messages")]
        for each in self.messages[:1]:
            rows.at = f.seconds(each["timestamp"]) or rows.at
        rows.session = f.text(entry, "sessionId") or rows.session
        version = f.text(f.mapping(entry, "origin"), "version")
        rows.program = f"cline {version}".strip()
        self.use_prompt(f.text(entry, "system_prompt"))

    def prompted(self, text: str) -> None:
        super().prompted(_AROUND.sub("", text))


def _plain(message: JsonObject) -> JsonObject:
    content = [_block(each) for each in f.objects(message, "content")]
    plain: JsonObject = {
        "role": message.get("role"),
        "content": content or message.get("content"),
        "id": f.text(message, "id"),
        "timestamp": message.get("ts"),
    }
    info = f.mapping(message, "modelInfo")
    if not info:
        return plain
    provider = f.text(info, "provider") or f.text(info, "providerId")
    plain["provider"] = provider
    plain["model"] = f.text(info, "id") or f.text(info, "modelId")
    usage = f.mapping(message, "metrics")
    tokens = f.mapping(usage, "tokens")
    if tokens and provider in _CACHE_INSIDE:
        usage = {"tokens": {**tokens, "cached": 0}}
    if usage and provider != _ESTIMATED:
        plain["usage"] = usage
    return plain


def _block(block: JsonObject) -> JsonObject:
    """A block as it is sent: what a tool of Cline gives goes as its JSON."""
    given = f.objects(block, "content")
    if f.text(block, "type") != "tool_result" or all("type" in each for each in given):
        return block
    return {**block, "content": f.as_json(given)}


def fits(entry: object) -> bool:
    """Whether a value holds messages of which one says which model was asked, as Cline does."""
    messages = f.objects({"messages": entry}, "messages")
    if isinstance(entry, dict):
        messages = f.objects(entry, "messages")
    return any(f.mapping(each, "modelInfo") and "role" in each for each in messages)


FORMAT = LogFormat(
    "cline",
    fits,
    "no messages of which one has `modelInfo`",
    ClineReader,
    takes_lists=True,
)
