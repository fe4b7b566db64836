"""Requests and answers of Google's Agent Development Kit as the JSON of generateContent, and back.

Imports nothing of the framework: an ``LlmRequest`` and an ``LlmResponse`` are read through the fields named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

__all__ = [
    "answer_json",
    "body_of",
    "content_json",
    "conversation_of",
    "summary_config",
]

CONFIG_FIELDS: Final = frozenset(
    {
        "candidate_count",
        "frequency_penalty",
        "max_output_tokens",
        "presence_penalty",
        "response_json_schema",
        "response_mime_type",
        "seed",
        "stop_sequences",
        "temperature",
        "thinking_config",
        "top_k",
        "top_p",
    }
)
"""Of ``GenerateContentConfig``: what stands in ``generationConfig`` and is plain JSON."""

MADE_ID: Final = "ullage-call-"
"""How the id of a call begins that has none: ADK takes its own ids out before it calls Gemini."""

_NO_SCHEMA: Final = {
    "response_schema": None,
    "response_json_schema": None,
    "response_mime_type": None,
}


_CALLS: Final = ("functionCall", "functionResponse")


class Dumped(Protocol):
    """A pydantic model."""

    def model_dump(self, **options: Any) -> dict[str, Any]: ...


class Config(Dumped, Protocol):
    """What is read of a ``GenerateContentConfig``."""

    system_instruction: Any
    tools: Sequence[Any] | None
    tool_config: Any


class ModelRequest(Protocol):
    """What is read of an ``LlmRequest``."""

    model: str | None
    contents: list[Any]
    config: Any


def body_of(request: ModelRequest) -> dict[str, Any]:
    """The request as the JSON body of generateContent, with ``model`` beside it; one item for each content."""
    config = request.config
    contents = [_json(content) for content in request.contents]
    _name_calls(contents)
    body: dict[str, Any] = {"contents": contents}
    if request.model:
        body["model"] = request.model
    if config.system_instruction:
        body["systemInstruction"] = _system(config.system_instruction)
    if config.tools:
        body["tools"] = [_tool(tool) for tool in config.tools]
    generation = _json(config, include=set(CONFIG_FIELDS))
    if generation:
        body["generationConfig"] = generation
    return body


def content_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """A content of a body without the ids that ``body_of`` has given to calls."""
    parts: list[Any] = []
    for part in content.get("parts") or ():
        kept = dict(part)
        for kind in _CALLS:
            call = part.get(kind)
            if call and str(call.get("id", "")).startswith(MADE_ID):
                kept[kind] = {name: value for name, value in call.items() if name != "id"}
        parts.append(kept)
    return {**content, "parts": parts}


def summary_config(request: ModelRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """What to change in the config of ``request`` so that ``body``, a request for a summary, is sent with it.

    A system prompt and tools that are those of the request stay the same objects: the provider's cache holds for them.
    """
    own = body_of(request)
    changes: dict[str, Any] = dict(_NO_SCHEMA)
    for name, field in (("systemInstruction", "system_instruction"), ("tools", "tools")):
        if body.get(name) != own.get(name):
            changes[field] = body.get(name)
    if not body.get("tools"):
        changes["tool_config"] = None
    generation = body.get("generationConfig")
    if isinstance(generation, Mapping):
        changes["max_output_tokens"] = generation.get("maxOutputTokens")
    return changes


def answer_json(response: Any) -> dict[str, Any]:
    """An ``LlmResponse`` as the provider's JSON."""
    candidate: dict[str, Any] = {}
    if response.content is not None:
        candidate["content"] = _json(response.content)
    if response.finish_reason is not None:
        candidate["finishReason"] = getattr(
            response.finish_reason, "value", response.finish_reason
        )
    answer: dict[str, Any] = {"candidates": [candidate]}
    if response.usage_metadata is not None:
        answer["usageMetadata"] = _json(response.usage_metadata)
    return answer


def conversation_of(context: Any) -> str:
    """The key of the conversation that a callback belongs to: each agent of a session has a history of its own.

    Session ids are unique only for an app and a user (``BaseSessionService.get_session``); agents that run side by side
    have a branch each, and a delegated task an isolation scope.
    """
    invocation = context.get_invocation_context()
    parts = (
        invocation.app_name,
        invocation.user_id,
        invocation.session.id,
        invocation.branch,
        getattr(invocation, "isolation_scope", None),
        invocation.agent.name,
    )
    return "/".join(_escaped(part) for part in parts)


def _name_calls(contents: list[dict[str, Any]]) -> None:
    """Give an id to each call without one, and to its result: results come in the order of their calls."""
    waiting: list[tuple[str, str]] = []
    count = 0
    for content in contents:
        parts = content.get("parts") or ()
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        if calls:
            waiting = []
        for call in calls:
            count += 1
            if not call.get("id"):
                call["id"] = f"{MADE_ID}{count}"
                waiting.append((call.get("name", ""), call["id"]))
        for part in parts:
            result = part.get("functionResponse")
            if result and not result.get("id"):
                _name_result(result, waiting)


def _name_result(result: dict[str, Any], waiting: list[tuple[str, str]]) -> None:
    for call in waiting:
        if call[0] == result.get("name", ""):
            result["id"] = call[1]
            waiting.remove(call)
            return


def _escaped(part: object) -> str:
    return str(part or "").replace("%", "%25").replace("/", "%2F")


def _json(model: Dumped, **options: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True, **options)


def _system(instruction: Any) -> Any:
    if isinstance(instruction, str):
        return {"parts": [{"text": instruction}], "role": "user"}
    return _plain(instruction)


def _tool(tool: Any) -> Any:
    """A tool's JSON. A function or a session of MCP, which the SDK turns into a declaration itself, by its name."""
    if hasattr(tool, "model_dump"):
        return _json(tool)
    name = getattr(tool, "__name__", type(tool).__name__)
    about = getattr(tool, "__doc__", None) or ""
    return {"functionDeclarations": [{"name": name, "description": about}]}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _json(value) if hasattr(value, "model_dump") else value
