"""Which conversation a call of LiteLLM belongs to, and what of its arguments is the request.

LiteLLM's callbacks are told of single calls. A conversation is recognised by the id of a session where there is one, by
its first message, and by each request continuing the one before. Imports nothing of LiteLLM.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final
from uuid import uuid4

from ullage.codec.foreign import as_plain
from ullage.codec.held import CONTINUING, continued_in
from ullage.events import Outcome
from ullage.plugins.conversations import Conversations, HeldConversation

__all__ = [
    "FIELDS",
    "SUMMARY_PREFIX",
    "LiteLLMCall",
    "OpenCalls",
    "history_of",
    "is_left",
    "name_of",
    "request_of",
    "summary_arguments",
]

FIELDS: Final = {
    "completion": "messages",
    "acompletion": "messages",
    "anthropic_messages": "messages",
    "aresponses": "input",
}
"""The functions of LiteLLM that are followed, and the argument that holds the history."""
REQUEST: Final = frozenset(
    {
        "input",
        "instructions",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "messages",
        "model",
        "parallel_tool_calls",
        "prompt",
        "reasoning",
        "reasoning_effort",
        "response_format",
        "store",
        "system",
        "temperature",
        "text",
        "thinking",
        "tool_choice",
        "tools",
        "top_p",
        *CONTINUING["messages"],
        *CONTINUING["responses"],
    }
)
"""Arguments that are fields of the provider's request; the others say where it goes, and how."""
DESTINATION: Final = frozenset(
    {
        "api_base",
        "api_key",
        "api_version",
        "base_url",
        "custom_llm_provider",
        "default_headers",
        "extra_headers",
        "headers",
        "litellm_metadata",
        "metadata",
        "organization",
        "project",
        "ssl_verify",
        "timeout",
    }
)
DESTINATION_PREFIXES: Final = ("aws_", "azure_", "vertex_", "watsonx_")
"""A request for a summary goes to the server, and on the account, of the call that it is made for."""
SUMMARY_PREFIX: Final = "ullage-summary-"
"""How LiteLLM's id of a call begins that asks for a summary: it belongs to no conversation."""
MOST_OPEN: Final = 256
"""Calls that are remembered while they have not ended: a stream that its reader left ends without a word."""


@dataclass(slots=True)
class LiteLLMCall:
    """A call of ``function``, and ``items``, its history as the caller gave it. ``arguments`` may hold a secret key."""

    name: str
    function: str
    key: str
    held: HeldConversation
    items: list[Any]
    arguments: Mapping[str, Any] = field(repr=False)
    caller: object = None
    has_ended: bool = False

    def is_continued(self, items: list[Any], caller: object) -> bool:
        """Whether a history goes on from this call's, or is sent again by the same task or thread."""
        known = len(self.items)
        if len(items) == known and caller != self.caller:
            return False
        return items[:known] == self.items

    def is_answered(self, items: list[Any]) -> bool:
        """Whether a history that goes on from this call's holds its answer."""
        if len(items) == len(self.items):
            return False
        added = as_plain(items[len(self.items)])
        return isinstance(added, dict) and added.get("role", "assistant") == "assistant"


class OpenCalls:
    """The calls that have not ended, by LiteLLM's id of the call."""

    def __init__(self, conversations: Conversations) -> None:
        self.conversations = conversations
        self._open: OrderedDict[str, LiteLLMCall] = OrderedDict()
        self._lock = threading.Lock()

    def named(self, name: str) -> LiteLLMCall | None:
        """The open call with LiteLLM's id of it."""
        return self._open.get(name)

    def continued(
        self, arguments: Mapping[str, Any], items: list[Any]
    ) -> LiteLLMCall | None:
        """The open call that a history goes on from."""
        key, caller = _key(arguments, items), _caller()
        for call in list(self._open.values()):
            if call.key == key and call.is_continued(items, caller):
                return call
        return None

    def begin(
        self, function: str, items: list[Any], arguments: Mapping[str, Any]
    ) -> LiteLLMCall:
        """A new call. Of the calls that nobody ends, the oldest is given up."""
        if len(self._open) >= MOST_OPEN:
            self.end(next(iter(self._open)), outcome="cancelled")
        name, key = name_of(arguments), _key(arguments, items)
        texts = [_text(item) for item in items]
        continues = continued_of(function, arguments)
        if continues:
            key = str(arguments.get("litellm_session_id") or "")
        held = self.conversations.enter(key, texts, continues=continues)
        call = LiteLLMCall(name, function, key, held, list(items), arguments, _caller())
        self._open[name] = call
        return call

    def end(
        self,
        name: str,
        usage: object | None = None,
        outcome: Outcome = "finished",
        response: str = "",
    ) -> None:
        """End an open call, whose answer has the id ``response``; nothing is done for another.

        LiteLLM reports from threads of its own: the call is open until its conversation is free for the next one.
        """
        with self._lock:
            call = self._open.get(name)
            if call is None:
                return
            try:
                call.held.compactor.after(usage, outcome=outcome, response=response)
            finally:
                self.abandon(name, response)

    def finished(self, arguments: Mapping[str, Any], response: Any) -> None:
        """End the call of these arguments with the usage of its answer; without it where its client has left."""
        name = name_of(arguments)
        if is_left(arguments):
            self.end(name, outcome="cancelled")
        elif self.named(name) is not None:
            answer = as_plain(response)
            found = answer if isinstance(answer, dict) else {}
            self.end(name, found.get("usage"), response=str(found.get("id") or ""))

    def abandon(self, name: str, response: str = "") -> None:
        """Forget an open call that was not sent, or has ended."""
        call = self._open[name]
        self.conversations.leave(call.held, response)
        call.has_ended = True
        del self._open[name]


def history_of(function: str, arguments: Mapping[str, Any]) -> list[Any] | None:
    """The history in the arguments of a function; ``None`` for a call that can't be followed.

    Those are functions that are no conversation, and messages that were not passed by name.
    """
    items = arguments.get(FIELDS.get(function, ""))
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    return items if isinstance(items, list) else None


def continued_of(function: str, arguments: Mapping[str, Any]) -> str:
    """What a call continues of that which the provider holds; empty for one that has its whole history."""
    wire = "responses" if FIELDS[function] == "input" else "messages"
    return continued_in(wire, arguments)


def name_of(arguments: Mapping[str, Any]) -> str:
    """LiteLLM's id of a call, in the arguments of a function or of a callback."""
    return str(arguments.get("litellm_call_id", ""))


def is_left(arguments: Mapping[str, Any]) -> bool:
    """Whether a report is about a stream that the proxy's client left.

    The proxy reports such a call as a success. What it says of the usage is an estimate of its own, unless the end of
    the stream had reached it already, and does not say which (traced with 1.106.0 and 1.109.1).
    """
    for holder in (arguments.get("litellm_params"), arguments):
        metadata = holder.get("metadata") if isinstance(holder, Mapping) else None
        if isinstance(metadata, Mapping) and metadata.get("client_disconnected"):
            return True
    return False


def request_of(call: LiteLLMCall) -> dict[str, Any]:
    """The provider's request in the arguments of a call."""
    body = {}
    for name in REQUEST & call.arguments.keys():
        if call.arguments[name] is not None:
            body[name] = call.arguments[name]
    body[FIELDS[call.function]] = call.items
    return body


def summary_arguments(call: LiteLLMCall, body: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for a request for a summary, which goes where the call goes."""
    arguments: dict[str, Any] = {}
    for name, value in call.arguments.items():
        if name in DESTINATION or name.startswith(DESTINATION_PREFIXES):
            arguments[name] = value
    name = f"{SUMMARY_PREFIX}{uuid4()}"
    return {**arguments, **body, "stream": False, "litellm_call_id": name}


def _key(arguments: Mapping[str, Any], items: list[Any]) -> str:
    """What does not change while a conversation goes on: whose it is, and its first message."""
    marks = [arguments.get("litellm_session_id")]
    for name in ("metadata", "litellm_metadata"):
        found = arguments.get(name)
        if isinstance(found, Mapping):
            marks += [found.get("session_id"), found.get("user_api_key_hash")]
    first = next((item for item in items if not _is_system(item)), None)
    content = f"{marks!r} {_text(first)}".encode("utf-8", "surrogatepass")
    return f"litellm-{blake2b(content, digest_size=12).hexdigest()}"


def _caller() -> object:
    """What makes one call at a time: the task, or the thread without one."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return threading.get_ident()


def _text(item: Any) -> str:
    return json.dumps(as_plain(item))


def _is_system(item: Any) -> bool:
    plain = as_plain(item)
    return isinstance(plain, dict) and plain.get("role") in ("system", "developer")
