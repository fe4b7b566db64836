"""Rows of recorded conversations, as words: pairs of consecutive calls, and whole requests.

A row is one JSON object of a file of lines. Nothing in it is trusted: what is missing or of another type reads as
absent, and a row that makes no sense still gives a (poor) value, so that every row can be answered.
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
from ullage.reasoning import SentBack

Row = Mapping[str, Any]

LARGEST: Final = 10**9
"""More tokens than any request can hold."""

MEDIA: Final = frozenset({"image", "file", "audio", "video"})
OPAQUE: Final = frozenset({"server_tool", "other"})
_ROLES: Final[dict[str, Role]] = {"system": "system", "developer": "system", "assistant": "assistant", "tool": "tool"}
_SAME: Final = ("same_system", "same_tools", "same_params")
_WIRES: Final = {"chat(litellm)": "chat"}
_SENT: Final[dict[str, SentBack]] = {"yes": "yes", "no": "no", "none": "none", "server": "server", "unknown": "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Usage as the row holds it; ``None`` is what it doesn't say."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two consecutive calls: the first with its usage and answer, and what the second sends beside that.

    ``truth`` is the second's input, for learning and comparing after the prediction is made.
    """

    id: str
    kind: str
    conversation: tuple[str, ...]
    wire: str
    provider: str
    model: str
    stream: bool
    first: Counted
    truth: int | None
    answer: tuple[Part, ...]
    echo: tuple[Part, ...] | None
    """The answer as the second call sent it back, where that is not the answer as it came."""
    altered: bool
    new: tuple[Message, ...]
    call_names: Mapping[str, str]
    sent_back: SentBack
    user_turn: bool
    tool_turn: bool
    placeholder: bool
    media: bool
    disturbed: bool
    """Whether the answer or what follows holds what can't be counted."""
    clean: bool
    changed: tuple[Request, Request] | None = None
    """What the two calls carry beside their messages (system, tools, parameters), where it is not the same."""


def is_pair(row: Row) -> bool:
    """Whether a row is a pair of calls; else it is a whole request."""
    return "usage_b" in row or "new" in row or "a_response" in row


def pair_of(row: Row) -> Pair:
    """The pair that a row describes."""
    model = _text(row.get("model")) or _text(row.get("model_resp"))
    answer = _atoms(row.get("a_response"))
    new = _atoms(row.get("new"))
    seen = [*answer, *new, *_atoms(row.get("a_atoms")), *_atoms(row.get("b_echo"))]
    opaque = any(_kind(atom) in OPAQUE for atom in seen)
    disturbed = any(_kind(atom) in OPAQUE for atom in (*answer, *new)) or bool(row.get("compacted"))
    media = any(_kind(atom) in MEDIA for atom in seen)
    parts = _parts(answer, "answer")
    edited = row.get("echo_match") is False and isinstance(row.get("b_echo"), list)
    return Pair(
        id=_text(row.get("id")),
        kind=_text(row.get("kind")),
        conversation=tuple(_text(row.get(key)) for key in ("kind", "source", "conv")),
        wire=_WIRES.get(_text(row.get("api")), _text(row.get("api"))),
        provider=_text(row.get("provider")),
        model=model,
        stream=bool(row.get("stream_a")),
        first=_counted(row.get("usage_a")),
        truth=_counted(row.get("usage_b")).input,
        answer=parts,
        echo=_parts(_atoms(row.get("b_echo")), "echo") if edited else None,
        altered=any(row.get(key) is False for key in _SAME),
        new=_messages(new, "new"),
        call_names={part.call_id: part.name for part in parts if isinstance(part, ToolCallPart)},
        sent_back=_SENT.get(_text(row.get("reasoning_sent_back")), "unknown"),
        user_turn=bool(row.get("user_turn")),
        tool_turn=bool(row.get("tool_turn")),
        placeholder=bool(row.get("output_placeholder")),
        media=media,
        disturbed=disturbed,
        clean=not opaque and _is_clean(row),
        changed=_changed(row),
    )


def _changed(row: Row) -> tuple[Request, Request] | None:
    if all(row.get(key) is not False for key in _SAME):
        return None
    after = {"api": row.get("api"), "provider": row.get("provider"), "model": row.get("model")}
    after |= {"system": row.get("system"), "tools": row.get("tools"), "params": row.get("params_b")}
    before = after | {"params": row.get("params_a")}
    for key in ("system", "tools"):
        if row.get(f"a_{key}") is not None:
            before[key] = row[f"a_{key}"]
    return request_of(before), request_of(after)


def _is_clean(row: Row) -> bool:
    """The accuracy definition: nothing happened between the calls that the row can't account for."""
    if not row.get("echo_match", True) or row.get("complete") is False:
        return False
    if any(row.get(key) is False for key in _SAME):
        return False
    return not (row.get("compacted") or row.get("new_has_assistant") or row.get("output_placeholder"))


def request_of(row: Row) -> Request:
    """The whole request that a row describes."""
    system = clean_text(_text(row.get("system"))).text
    params = row.get("params")
    return Request(
        wire=_WIRES.get(_text(row.get("api")), _text(row.get("api"))),
        provider=_text(row.get("provider")),
        model=_text(row.get("model")),
        system=(SystemBlock(text=system),) if system else (),
        tools=tools_of(row.get("tools")),
        messages=_messages(_atoms(row.get("atoms")), "m"),
        params=dict(params) if isinstance(params, Mapping) else {},
        stream=bool(row.get("stream")),
        chained=_text(row.get("prev_id")) or _text(row.get("conv_id")),
    )


def truth_of(row: Row) -> int | None:
    """The input that a whole request was charged; ``None`` when it is not known."""
    return _counted(row.get("usage")).input


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
    kind = _text(declared.get("type")) or ("nova_grounding" if "systemTool" in declared else "function")
    if kind == "function" and not name and len(declared) == 1:
        kind = next(iter(declared))  # Gemini and xAI name a hosted tool by its only key
    # A tool with a schema of its own is a declaration like any other, whatever its type is called.
    if kind == "custom" or (isinstance(inner.get("parameters"), Mapping) and declared.get("execution") == "client"):
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
    for key in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"):
        found = inner.get(key)
        if isinstance(found, Mapping):
            return found["json"] if isinstance(found.get("json"), Mapping) else found
        if isinstance(found, str):
            return found
    fields = inner.get("parameter_definitions")
    return {"type": "object", "properties": fields} if isinstance(fields, Mapping) else {}


def _counted(usage: object) -> Counted:
    if not isinstance(usage, Mapping):
        return Counted()
    return Counted(
        input=_number(usage.get("input")) or None,
        output=_number(usage.get("output")),
        reasoning=_number(usage.get("reasoning")),
    )


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < LARGEST:
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
        Message(id=f"{prefix}:{index}", role=role, parts=tuple(parts)) for index, (_, role, parts) in enumerate(groups)
    )


def _parts(atoms: Sequence[Mapping[str, Any]], prefix: str) -> tuple[Part, ...]:
    return tuple(part for message in _messages(atoms, prefix) for part in message.parts)


def _append(parts: list[Part], atom: Mapping[str, Any], name: str) -> None:
    """Add an atom to a message. What continues a tool result, or lies in one, goes into that result."""
    kind = _kind(atom)
    last = parts[-1] if parts else None
    inside = bool(atom.get("in_tool")) or (kind == "tool_result" and bool(atom.get("cont")))
    if inside and isinstance(last, ToolResultPart):
        parts[-1] = msgspec.structs.replace(last, content=(*last.content, _content(atom, name)))
        return
    if kind == "tool_result" or atom.get("in_tool"):
        parts.append(
            ToolResultPart(
                id=name, call_id=_text(atom.get("id")), name=_text(atom.get("name")), content=(_content(atom, name),)
            )
        )
        return
    parts.append(_part(atom, name))


def _content(atom: Mapping[str, Any], name: str) -> ResultContent:
    part = _part({**atom, "k": "text"} if atom.get("k") == "tool_result" else atom, f"{name}.0")
    if isinstance(part, ReasoningPart | ToolCallPart | ToolResultPart):
        return ProviderItem(id=f"{name}.0", text=clean_text(_text(atom.get("t"))).text)
    return part


def _part(atom: Mapping[str, Any], name: str) -> Part:
    kind = _kind(atom)
    text = clean_text(_text(atom.get("t"))).text
    if kind == "text":
        return TextPart(id=name, text=text)
    if kind == "reasoning":
        return ReasoningPart(id=name, text=text, opaque_size=_number(atom.get("enc")) or 0)
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
    width, height, size = _number(blob.get("w")), _number(blob.get("h")), _number(blob.get("bytes"))
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
        seconds=float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None,
        width=width,
        height=height,
        size_bytes=size,
        text=text,
        source=source,
    )
