"""A request's body as pieces that are the same on every wire: who says what. Only to tell conversations apart.

Left out is what a client alters in a message that it sends again: reasoning, ids, cache marks, reminders that it puts
into the user's messages, and messages of the system between those of the conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple

from ullage.codec.held import continued_in
from ullage.messages import Message, TextPart, ToolCallPart

Speaker = Literal["user", "assistant", "call", "result"]

SYSTEM_ROLES: Final = ("system", "developer")

_REMINDERS: Final = re.compile("<system-reminder>.*?</system-reminder>", re.DOTALL)
"""Claude Code and qwen-code put them into user messages, and leave some out in a later process (2.1.330, 0.24.4)."""

_BILLING: Final = "x-anthropic-billing-header:"
"""How the first block of Claude Code's system prompt begins. It differs between the requests of a session."""

_DEEPEST: Final = 16
"""Contents of a result inside each other; deeper ones are left out."""


_FIELDS: Final = {"generateContent": "contents", "responses": "input"}
"""Where a wire has its history; the others have it in ``messages``."""

_SYSTEM_FIELDS: Final = ("system", "instructions", "systemInstruction")

_MEDIA: Final = (
    "image",
    "document",
    "file",
    "audio",
    "video",
)
"""Words in the kinds of such blocks."""

JsonFields = dict[str, Any]


class BodyPiece(NamedTuple):
    """One text, call of a tool or result. ``id`` is that of a call, which is no part of its digest."""

    speaker: Speaker
    text: str
    id: str = ""

    @property
    def digest(self) -> str:
        data = f"{self.speaker}\n{self.text}".encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=8).hexdigest()


@dataclass(slots=True)
class BodyPieces:
    """The pieces of a body in order. ``context`` are the texts of the user and of the system between them, whole.

    ``chained`` is what the provider holds and the body continues: see ``codec.held``.
    """

    system: str = ""
    tools: tuple[str, ...] = ()
    pieces: list[BodyPiece] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    model: str = ""
    chained: str = ""

    @property
    def last_said(self) -> str:
        """The texts of the user at the end, joined; empty where the body ends with an answer."""
        texts: list[str] = []
        for piece in reversed(self.pieces):
            if piece.speaker != "user":
                break
            texts.append(piece.text)
        texts.reverse()
        return "\n".join(texts)

    def add(
        self,
        speaker: Speaker,
        text: str,
        id: str = "",
    ) -> None:
        """Add a piece, unless its text is empty."""
        text = text.strip()
        if text:
            self.pieces.append(BodyPiece(speaker, text, id))

    def add_call(
        self,
        name: object,
        given: object,
        id: object,
    ) -> None:
        """Add a call, whether the wire has its arguments as text or as an object."""
        if isinstance(given, str):
            with suppress(ValueError, RecursionError):
                given = json.loads(given)
        if not isinstance(given, str):
            given = _canonical(given or {})
        text = f"{_text(name)} {given}"
        self.add("call", text, _text(id))

    def add_result(self, content: object) -> None:
        """Add what a tool gave back."""
        texts = _texts(content)
        self.add("result", "\n".join(texts))

    def add_said(
        self,
        speaker: Speaker,
        text: str,
    ) -> None:
        """Add what the user or the model wrote."""
        if speaker == "user":
            self.context.append(text)
            if "<system-reminder>" in text:
                text = _REMINDERS.sub("", text)
        self.add(speaker, text)


def pieces_of(
    wire: str,
    body: object,
) -> BodyPieces:
    """The pieces of a request of this wire. Never raises: what is no part of a request is left out."""
    found = BodyPieces()
    if not isinstance(body, dict):
        return found
    found.model = _text(body.get("model"))
    found.chained = continued_in(wire, body)
    tools = body.get("tools")
    found.tools = tuple(_tool_names(tools))
    systems: list[str] = []
    for name in _SYSTEM_FIELDS:
        systems.extend(_texts(body.get(name)))
    field_name = _FIELDS.get(wire, "messages")
    items = body.get(field_name)
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in _dicts(items):
        _read_item(item, systems, found)
    kept = []
    for text in systems:
        if not text.startswith(_BILLING):
            kept.append(text)
    found.system = "\n".join(kept)
    return found


def answer_pieces(message: Message) -> list[BodyPiece]:
    """The pieces that an answer will be in the next request."""
    found = BodyPieces()
    for part in message.parts:
        match part:
            case TextPart():
                found.add("assistant", part.text)
            case ToolCallPart():
                found.add_call(part.name, part.arguments, part.call_id)
            case _:
                pass
    return found.pieces


def _read_item(
    item: JsonFields,
    systems: list[str],
    found: BodyPieces,
) -> None:
    """One message, or one item of the Responses API."""
    kind = _text(item.get("type"))
    if item.get("role") in SYSTEM_ROLES:
        texts = found.context if found.pieces else systems
        content = item.get("content")
        texts.extend(_texts(content))
    elif kind.endswith("_output"):
        found.add_result(item.get("output"))
    elif kind.endswith("_call"):
        _read_call_item(kind, item, found)
    elif kind in ("", "message"):
        _read_message(item, found)


def _read_call_item(
    kind: str,
    item: JsonFields,
    found: BodyPieces,
) -> None:
    given = item.get("arguments")
    if given is None:
        given = item.get("input")
    if given is None:
        given = item.get("action")
    name = item.get("name") or kind
    found.add_call(name, given, item.get("call_id"))


def _read_message(
    item: JsonFields,
    found: BodyPieces,
) -> None:
    role = item.get("role")
    content = item.get("content")
    if content is None:
        content = item.get("parts")
    if role in ("tool", "function"):
        found.add_result(content)
        return
    speaker: Speaker = "user"
    if role in ("assistant", "model"):
        speaker = "assistant"
    if isinstance(content, str):
        found.add_said(speaker, content)
    for block in _dicts(content):
        _read_block(block, speaker, found)
    calls = item.get("tool_calls")
    for call in _dicts(calls):
        function = call.get("function") or call.get("custom")
        if isinstance(function, dict):
            given = function.get("arguments") or function.get("input")
            name = function.get("name")
            found.add_call(name, given, call.get("id"))


def _read_block(
    block: JsonFields,
    speaker: Speaker,
    found: BodyPieces,
) -> None:
    kind = _text(block.get("type"))
    called = block.get("functionCall")
    returned = block.get("functionResponse")
    if isinstance(called, dict):
        name = called.get("name")
        given = called.get("args")
        found.add_call(name, given, called.get("id"))
    elif isinstance(returned, dict):
        response = returned.get("response")
        found.add("result", _canonical(response))
    elif kind.endswith("tool_use"):
        name = block.get("name")
        given = block.get("input")
        found.add_call(name, given, block.get("id"))
    elif kind.endswith("tool_result"):
        found.add_result(block.get("content"))
    elif "text" in block:
        if not block.get("thought"):
            text = _text(block.get("text"))
            found.add_said(speaker, text)
    elif _is_media(kind, block):
        plain = dict(block)
        plain.pop("cache_control", None)
        data = BodyPiece(speaker, _canonical(plain))
        found.add(speaker, data.digest)


def _is_media(
    kind: str,
    block: JsonFields,
) -> bool:
    """Whether it is an image, audio or a file, not reasoning."""
    if "inlineData" in block or "fileData" in block:
        return True
    return any(word in kind for word in _MEDIA)


def _canonical(value: object) -> str:
    try:
        return json.dumps(
            value,
            sort_keys=True,
            separators=(",", ":"),
        )
    except (TypeError, ValueError, RecursionError):
        return ""


def _tool_names(tools: object) -> Iterator[str]:
    for tool in _dicts(tools):
        declared = tool.get("functionDeclarations")
        if isinstance(declared, list):
            yield from _tool_names(declared)
            continue
        function = tool.get("function")
        if not isinstance(function, dict):
            function = tool
        name = function.get("name") or tool.get("type")
        yield _text(name)


def _dicts(value: object) -> Iterator[JsonFields]:
    if isinstance(value, list):
        for each in value:
            if isinstance(each, dict):
                yield each


def _texts(
    value: object,
    depth: int = 0,
) -> Iterator[str]:
    """The texts in a content of any wire."""
    if isinstance(value, str):
        yield value
    if depth == _DEEPEST:
        return
    inner: list[object] = []
    if isinstance(value, list):
        inner = value
    elif isinstance(value, dict):
        inner.append(value.get("text"))
        inner.append(value.get("parts"))
        inner.append(value.get("content"))
    for each in inner:
        yield from _texts(each, depth + 1)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
