"""Files of recorded model calls: two consecutive ones in a row, or one whole request.

A row is one JSON object a line. It is not trusted: a missing field, or one of another type, reads as absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    Request,
    ResultContent,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)
from ullage.usage import Usage

RecordedRow = Mapping[str, Any]

LARGEST: Final = 10**9
"""More tokens than any request can hold."""

MEDIA: Final = frozenset({"image", "file", "audio", "video"})
OPAQUE: Final = frozenset({"server_tool", "other"})
_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "tool": "tool",
}
_SAME: Final = ("same_system", "same_tools", "same_params")
_WIRES: Final = {"chat(litellm)": "chat"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two consecutive calls of a conversation, as two requests, the answer between them, and the usage of both."""

    id: str
    kind: str
    """Where it was recorded: ``cassette`` is an HTTP exchange, others name a program whose log it is."""
    conversation: tuple[str, ...]
    first: Request
    """The first call; without its messages where the log does not hold them."""
    usage: Usage
    answer: tuple[Part, ...]
    returned: tuple[Part, ...]
    """The answer as the second request holds it."""
    new: tuple[Message, ...]
    second: Request
    """What the second call sends beside its messages."""
    reported: Usage
    """The second call's usage. A prediction may not look at it."""
    has_media: bool
    is_clean: bool
    """Whether nothing happened between the calls that the row does not hold."""

    @property
    def truth(self) -> int | None:
        """The input of the second call."""
        return self.reported.input

    @property
    def growth(self) -> int | None:
        """By how much that exceeds the input of the first call."""
        if self.reported.input is None or self.usage.input is None:
            return None
        return self.reported.input - self.usage.input


def is_pair(row: RecordedRow) -> bool:
    """Whether a row is a pair of calls; else it is a whole request."""
    return "usage_b" in row or "new" in row or "a_response" in row


def is_call(row: RecordedRow) -> bool:
    """Whether a row is a whole request."""
    return "atoms" in row


def is_scored(row: RecordedRow) -> bool:
    """A first call whose count is known and whose content can be counted."""
    is_first = not row.get("is_b") and bool(truth_of(row))
    return is_first and not kinds_of(row) & (MEDIA | OPAQUE)


def kinds_of(row: RecordedRow) -> set[str]:
    """The kinds of content that a whole request holds."""
    return {_kind(atom) for atom in _atoms(row.get("atoms"))}


def texts_of(row: RecordedRow, *keys: str) -> Iterable[str]:
    """Every text and name in these fields of a row."""
    for atom in (atom for key in keys for atom in _atoms(row.get(key))):
        yield from (
            text for text in (atom.get("t"), atom.get("name")) if isinstance(text, str)
        )


def pair_of(row: RecordedRow) -> Pair:
    answered = _atoms(row.get("a_response"))
    new = _atoms(row.get("new"))
    before = _atoms(row.get("a_atoms"))
    seen = {
        _kind(atom) for atom in (*answered, *new, *before, *_atoms(row.get("b_echo")))
    }
    is_placeholder = bool(row.get("output_placeholder"))
    first, second = _requests(row)
    answer = _made_by(first, _parts(answered, "answer"))
    return Pair(
        id=_text(row.get("id")),
        kind=_text(row.get("kind")),
        conversation=tuple(_text(row.get(key)) for key in ("kind", "source", "conv")),
        first=first,
        usage=msgspec.structs.replace(
            _usage(row.get("usage_a")), placeholder=is_placeholder
        ),
        answer=answer,
        returned=_made_by(first, _returned(row, answer)),
        new=_messages(new, "new"),
        second=second,
        reported=_usage(row.get("usage_b")),
        has_media=bool(seen & MEDIA),
        is_clean=not seen & OPAQUE and _is_clean(row),
    )


def _returned(row: RecordedRow, answer: tuple[Part, ...]) -> tuple[Part, ...]:
    """The answer as the application sent it back: edited, or without its reasoning, of which a call's may stay."""
    echo = _atoms(row.get("b_echo"))
    if row.get("echo_match") is False:
        answer = _parts(echo, "echo") or answer
    is_unsent = row.get("reasoning_sent_back") == "no"
    has_reasoning = any(_kind(atom) == "reasoning" for atom in echo) or not echo
    kept: list[Part] = []
    for part in answer:
        if isinstance(part, ToolCallPart) and is_unsent:
            kept.append(msgspec.structs.replace(part, opaque_size=0))
        elif not isinstance(part, ReasoningPart) or (has_reasoning and not is_unsent):
            kept.append(part)
    return tuple(kept)


def _requests(row: RecordedRow) -> tuple[Request, Request]:
    """Both requests; the second is without messages, and in what is the same for both it is as the first."""
    model = _text(row.get("model")) or _text(row.get("model_resp"))
    after = {key: row.get(key) for key in ("api", "provider", "system", "tools")} | {
        "model": model
    }
    before = after | {
        "params": row.get("params_a"),
        "stream": row.get("stream_a"),
        "atoms": row.get("a_atoms"),
    }
    if all(row.get(key) is not False for key in _SAME):
        first = request_of(before)
        return first, msgspec.structs.replace(first, messages=())
    for key in ("system", "tools"):
        if row.get(f"a_{key}") is not None:
            before[key] = row[f"a_{key}"]
    return request_of(before), request_of(after | {"params": row.get("params_b")})


def _is_clean(row: RecordedRow) -> bool:
    """The accuracy definition: nothing happened between the calls that the row can't account for."""
    if not row.get("echo_match", True) or row.get("complete") is False:
        return False
    if any(row.get(key) is False for key in _SAME):
        return False
    return not (
        row.get("compacted")
        or row.get("new_has_assistant")
        or row.get("output_placeholder")
    )


def request_of(row: RecordedRow) -> Request:
    """The whole request that a row describes."""
    system = clean_text(_text(row.get("system"))).text
    params = row.get("params")
    request = Request(
        wire=_WIRES.get(_text(row.get("api")), _text(row.get("api"))),
        provider=_text(row.get("provider")),
        model=_text(row.get("model")),
        system=(SystemBlock(text=system),) if system else (),
        tools=tools_of(row.get("tools")),
        params=dict(params) if isinstance(params, Mapping) else {},
        stream=bool(row.get("stream")),
        chained=_text(row.get("prev_id")) or _text(row.get("conv_id")),
    )
    messages = tuple(
        msgspec.structs.replace(each, parts=_made_by(request, each.parts))
        for each in _messages(_atoms(row.get("atoms")), "m")
    )
    return msgspec.structs.replace(request, messages=messages)


def _made_by(request: Request, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts, of which reasoning says that it came over this wire from this model, as it does when it is decoded."""
    data = ProviderData(
        data=msgspec.Raw(b"{}"),
        wire=request.wire,
        provider=request.provider,
        model=request.model,
    )
    return tuple(
        msgspec.structs.replace(part, provider=data)
        if isinstance(part, ReasoningPart)
        else part
        for part in parts
    )


def truth_of(row: RecordedRow) -> int | None:
    """The input that a whole request was charged; ``None`` when it is not known."""
    return _usage(row.get("usage")).input


def as_json(value: object) -> str:
    """A foreign value as compact JSON, valid whatever its strings hold."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
        return json.dumps(clean_text(repr(value)).text)


def tools_of(declared: object) -> tuple[Tool, ...]:
    """Tool declarations of any wire, one ``Tool`` each; wrappers of several are opened."""
    return tuple(_tool(each) for each in _opened(declared))


def _opened(declared: object) -> Iterable[Mapping[str, Any]]:
    if not isinstance(declared, Sequence) or isinstance(declared, str):
        return
    for each in declared:
        if not isinstance(each, Mapping):
            continue
        inner = each.get("functionDeclarations") or each.get("function_declarations")
        if isinstance(inner, Sequence) and not isinstance(inner, str):
            yield from (one for one in inner if isinstance(one, Mapping))
            continue
        if "cachePoint" not in each:
            yield each


def _tool(declared: Mapping[str, Any]) -> Tool:
    inner = declared
    for key in ("function", "toolSpec", "systemTool"):
        if isinstance(declared.get(key), Mapping):
            inner = declared[key]
    name = clean_text(_text(inner.get("name"))).text
    kind = _text(declared.get("type")) or (
        "nova_grounding" if "systemTool" in declared else "function"
    )
    if kind == "function" and not name and len(declared) == 1:
        kind = next(iter(declared))  # Gemini and xAI name a hosted tool by its only key
    # A tool with a schema of its own is a declaration like any other, whatever its type is called.
    if kind == "custom" or (
        isinstance(inner.get("parameters"), Mapping)
        and declared.get("execution") == "client"
    ):
        kind = "function"
    return Tool(
        name=name or clean_text(kind).text,
        description=clean_text(_text(inner.get("description"))).text,
        schema=msgspec.Raw(as_json(_schema(inner)).encode()),
        kind=kind,
        deferred=inner.get("defer_loading") is True,
    )


def _schema(inner: Mapping[str, Any]) -> object:
    """The schema of a tool's arguments: an object, an object inside ``json``, or either as JSON text."""
    for key in (
        "parameters",
        "input_schema",
        "inputSchema",
        "parametersJsonSchema",
        "parameters_json_schema",
    ):
        found = inner.get(key)
        if isinstance(found, Mapping):
            return found["json"] if isinstance(found.get("json"), Mapping) else found
        if isinstance(found, str):
            return found
    fields = inner.get("parameter_definitions")
    return {"type": "object", "properties": fields} if isinstance(fields, Mapping) else {}


def _usage(usage: object) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    return Usage(
        input=_number(usage.get("input")) or None,
        output=_number(usage.get("output")),
        reasoning=_number(usage.get("reasoning")),
    )


def _number(value: object) -> int | None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value < LARGEST
    ):
        return None
    return int(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _kind(atom: Mapping[str, Any]) -> str:
    return _text(atom.get("k"))


def _atoms(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [each for each in value if isinstance(each, Mapping)]


def _messages(atoms: Sequence[Mapping[str, Any]], prefix: str) -> tuple[Message, ...]:
    """Consecutive atoms of one message and role, together."""
    groups: list[tuple[object, Role, list[Part]]] = []
    for place, atom in enumerate(atoms):
        role = _ROLES.get(_text(atom.get("r")), "user")
        if atom.get("k") == "tool_result" or atom.get("in_tool"):
            role = "tool"
        if not groups or groups[-1][:2] != (atom.get("m"), role):
            groups.append((atom.get("m"), role, []))
        _append(groups[-1][2], atom, f"{prefix}{place}")
    return tuple(
        Message(id=f"{prefix}:{index}", role=role, parts=tuple(parts))
        for index, (_, role, parts) in enumerate(groups)
    )


def _parts(atoms: Sequence[Mapping[str, Any]], prefix: str) -> tuple[Part, ...]:
    return tuple(part for message in _messages(atoms, prefix) for part in message.parts)


def _append(parts: list[Part], atom: Mapping[str, Any], name: str) -> None:
    """Add an atom to a message. What continues a tool result, or lies in one, goes into that result."""
    kind = _kind(atom)
    last = parts[-1] if parts else None
    inside = bool(atom.get("in_tool")) or (
        kind == "tool_result" and bool(atom.get("cont"))
    )
    if inside and isinstance(last, ToolResultPart):
        parts[-1] = msgspec.structs.replace(
            last, content=(*last.content, _content(atom, name))
        )
        return
    if kind == "tool_result" or atom.get("in_tool"):
        parts.append(
            ToolResultPart(
                id=name,
                call_id=_text(atom.get("id")),
                name=_text(atom.get("name")),
                content=(_content(atom, name),),
            )
        )
        return
    parts.append(_part(atom, name))


def _content(atom: Mapping[str, Any], name: str) -> ResultContent:
    part = _part(
        {**atom, "k": "text"} if atom.get("k") == "tool_result" else atom, f"{name}.0"
    )
    if isinstance(part, ReasoningPart | ToolCallPart | ToolResultPart):
        return ProviderItem(id=f"{name}.0", text=clean_text(_text(atom.get("t"))).text)
    return part


def _part(atom: Mapping[str, Any], name: str) -> Part:
    kind = _kind(atom)
    text = clean_text(_text(atom.get("t"))).text
    if kind == "text":
        return TextPart(id=name, text=text)
    if kind == "reasoning":
        return ReasoningPart(
            id=name, text=text, opaque_size=_number(atom.get("enc")) or 0
        )
    if kind == "tool_call":
        return ToolCallPart(
            id=name,
            call_id=_text(atom.get("id")),
            name=_text(atom.get("name")),
            arguments=text,
            opaque_size=_number(atom.get("enc")) or 0,
        )
    if kind in MEDIA:
        return _media(atom, name, text)
    return ProviderItem(id=name, kind=_text(atom.get("type")) or kind, text=text)


def _media(atom: Mapping[str, Any], name: str, text: str) -> ImagePart | FilePart:
    given = atom.get("blob")
    blob: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    mime = _text(blob.get("mime"))
    source = _text(blob.get("url")) or _text(blob.get("file_id"))
    width, height, size = (
        _number(blob.get("w")),
        _number(blob.get("h")),
        _number(blob.get("bytes")),
    )
    if atom.get("k") == "image":
        return ImagePart(
            id=name,
            mime=mime or "image/",
            width=width,
            height=height,
            size_bytes=size,
            detail=_text(atom.get("detail")),
            source=source,
        )
    seconds = blob.get("seconds")
    kind = _text(atom.get("k"))
    return FilePart(
        id=name,
        mime=mime or ("" if kind == "file" else f"{kind}/"),
        name=_text(atom.get("name")),
        pages=_number(blob.get("pages")),
        seconds=float(seconds)
        if isinstance(seconds, int | float) and not isinstance(seconds, bool)
        else None,
        width=width,
        height=height,
        size_bytes=size,
        text=text,
        source=source,
    )
