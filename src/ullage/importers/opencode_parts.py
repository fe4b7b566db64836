"""What OpenCode sends of one stored part, in either form of its log.

Source: https://github.com/anomalyco/opencode, ``packages/opencode/src/session/message-v2.ts`` (``toModelMessages``) and
``packages/core/src/session/runner/to-llm-message.ts``.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

import ullage.importers.fields as f
from ullage.codec.parts import PartMaker, data_url
from ullage.codec.wires import WIRES
from ullage.importers.fields import JsonObject
from ullage.messages import Part, ResultContent, ToolResultPart
from ullage.models.providers import provider_named, vendors_of

_GATEWAYS = frozenset({"opencode", "github-copilot", "vercel"})
"""Providers that serve several vendors' models, each on its vendor's wire:
``packages/opencode/src/provider/provider.ts``."""

INTERRUPTED = "[Tool execution was interrupted]"


@dataclass(frozen=True, slots=True)
class CallParts:
    """The parts of one model call within a message, and the part that ended it."""

    parts: tuple[JsonObject, ...]
    finish: JsonObject | None


def wire_of(provider: str, model: str) -> str:
    """The wire a model is asked on; a gateway speaks that of the model's vendor."""
    served_by = provider_named(provider)
    if served_by.name in _GATEWAYS:
        vendor = next(vendors_of(model.rpartition("/")[2]), served_by)
        return vendor.wire if vendor.wire in WIRES else "chat"
    if served_by.wire in WIRES and served_by.wire != "chat" and model.startswith("claude"):
        return "messages"
    return served_by.wire or "chat"


def steps_of(parts: list[JsonObject]) -> list[CallParts]:
    steps: list[CallParts] = []
    current: list[JsonObject] = []
    for part in parts:
        kind = f.text(part, "type")
        if kind == "step-finish":
            steps.append(CallParts(tuple(current), part))
            current = []
        elif kind != "step-start":
            current.append(part)
    if current or not steps:
        steps.append(CallParts(tuple(current), None))
    return steps


def user_part(make: PartMaker, part: JsonObject) -> Part | None:
    """What a user's part sends. Text files are sent as text parts of their own, so the file itself is not."""
    match f.text(part, "type"):
        case "text" if part.get("ignored") is not True:
            return make.text(f.text(part, "text"))
        case "file" if f.text(part, "mime") not in ("text/plain", "application/x-directory"):
            return _file(make, part)
        case "subtask":
            return make.text("The following tool was executed by the user")
        case _:
            return None


def _file(make: PartMaker, part: JsonObject) -> ResultContent:
    url = f.text(part, "url")
    mime, data = data_url(url)
    name = f.text(part, "filename")
    return make.media(f.text(part, "mime") or mime, data=data, url="" if data else url, name=name)


def answer_part(make: PartMaker, part: JsonObject) -> Part | None:
    """What an answer's part sends back, in either form of the log."""
    state = f.mapping(part, "state")
    opaque = _opaque(part)
    match f.text(part, "type"):
        case "text":
            return make.text(f.text(part, "text"), opaque)
        case "reasoning":
            reasoning = make.reasoning(f.text(part, "text"), opaque)
            return msgspec.structs.replace(reasoning, opaque_size=_opaque_size(opaque))
        case "tool":
            call_id = f.text(part, "callID") or f.text(part, "id")
            call = make.call(call_id, f.text(part, "tool") or f.text(part, "name"), state.get("input"), opaque)
            return msgspec.structs.replace(call, opaque_size=_opaque_size(opaque))
        case _:
            return None


def _opaque(part: JsonObject) -> JsonObject:
    """What the provider wants back with a part: signatures, item ids, encrypted content."""
    names = ("metadata", "providerMetadata", "native", "providerState", "provider")
    held = {name: part[name] for name in names if isinstance(part.get(name), dict) and part[name]}
    if isinstance(part.get("state"), dict) and f.text(part, "type") != "tool":
        held["state"] = part["state"]
    return held


def _opaque_size(value: object, key: str = "") -> int:
    if isinstance(value, str):
        name = key.lower()
        return len(value) if any(mark in name for mark in ("signature", "encrypted", "redacted")) else 0
    if isinstance(value, dict):
        return sum(_opaque_size(each, name) for name, each in value.items())
    return sum(_opaque_size(each, key) for each in value) if isinstance(value, list) else 0


def tool_result(make: PartMaker, part: JsonObject) -> ToolResultPart:
    """The result of a tool, as it is sent: an unfinished one is reported as interrupted."""
    state = f.mapping(part, "state")
    status = f.text(state, "status")
    content: list[ResultContent] = []
    if status == "completed":
        content = [make.text(f.text(state, "output"))] if "output" in state else []
        content += [_row_content(make, piece) for piece in f.objects(state, "content")]
        content += [_file(make, each) for each in f.objects(state, "attachments")]
    elif status == "error":
        metadata = f.mapping(state, "metadata")
        kept = f.text(metadata, "output") if metadata.get("interrupted") is True else ""
        said = f.text(state, "error") or f.text(f.mapping(state, "error"), "message")
        content = [make.text(kept or said), *(_row_content(make, piece) for piece in f.objects(state, "content"))]
    else:
        content = [make.text(INTERRUPTED)]
    return make.result(
        f.text(part, "callID") or f.text(part, "id"),
        content,
        name=f.text(part, "tool") or f.text(part, "name"),
        is_error=status != "completed",
    )


def _row_content(make: PartMaker, piece: JsonObject) -> ResultContent:
    if f.text(piece, "type") == "text":
        return make.text(f.text(piece, "text"))
    url = f.text(piece, "url") or f.text(piece, "uri")
    mime, data = data_url(url)
    return make.media(
        f.text(piece, "mime") or mime, data=data or f.text(piece, "data"), url=url, name=f.text(piece, "name")
    )
