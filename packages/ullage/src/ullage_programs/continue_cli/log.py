"""Continue's sessions: ``~/.continue/sessions/<session>.json``.

Source: https://github.com/continuedev/continue, ``core/index.d.ts`` (``Session``, ``ChatHistoryItem``), and what 1.5.47
wrote. Messages are in the form of Chat with names of its own. Nothing says when a call was made.
"""

from __future__ import annotations

from collections.abc import Iterator

import ullage.importers.fields as f
from ullage.codec.dialects import CONTINUE
from ullage.codec.usage import read_usage
from ullage.codec.wires.chat.reports import OPENAI_CHAT
from ullage.importers.conversation import ConversationReader
from ullage.importers.fields import JsonObject
from ullage.importers.reader import LogFormat
from ullage.usage import Usage


class ContinueReader(ConversationReader):
    """Reads a session as it stands in its file."""

    format = "continue-cli"
    is_undated = True

    def read(self, entry: JsonObject) -> None:
        rows = self.rows
        rows.session = f.text(entry, "sessionId") or rows.session
        rows.cwd = f.text(entry, "workspaceDirectory")
        title = f.text(entry, "title")
        self.titles["program"] = "" if title == "Untitled Session" else title
        for item in f.objects(entry, "history"):
            self.messages += _plain(f.mapping(item, "message"))
            self.messages += _results(item)

    def usage_of(self, response: JsonObject) -> Usage | None:
        usage = f.mapping(response, "usage")
        details = f.mapping(usage, "prompt_tokens_details")
        is_claude = "cache_write_tokens" in details and "cache_read_tokens" in details
        dialect = CONTINUE if is_claude else OPENAI_CHAT
        return read_usage(dialect, usage) if usage else None


def _plain(message: JsonObject) -> Iterator[JsonObject]:
    """The message, unless it is what Continue shows alone: the thinking before an answer."""
    role = f.text(message, "role")
    if role not in ("system", "user", "assistant"):
        return
    plain: JsonObject = {"role": role, "content": message.get("content")}
    calls = f.objects(message, "toolCalls")
    if calls:
        plain["tool_calls"] = calls
    usage = f.mapping(message, "usage")
    if usage:
        plain |= {"usage": usage, "model": f.text(usage, "model"), "provider": ""}
    yield plain


def _results(item: JsonObject) -> Iterator[JsonObject]:
    for state in f.objects(item, "toolCallStates"):
        texts = [f.text(each, "content") for each in f.objects(state, "output")]
        if texts:
            call = f.text(state, "toolCallId")
            yield {"role": "tool", "tool_call_id": call, "content": "\n\n".join(texts)}


def fits(entry: JsonObject) -> bool:
    """Whether an object is a session of Continue."""
    history = f.objects(entry, "history")
    return "sessionId" in entry and any("message" in each for each in history)


FORMAT = LogFormat(
    "continue-cli", fits, "no object with a sessionId and a history", ContinueReader
)
