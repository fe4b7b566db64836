"""What a loop sends and gets back, from provider JSON into words: ``read_body`` and ``read_output``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ullage.codec.bodies import anthropic, chat, gemini, responses
from ullage.codec.bodies.naming import Namer
from ullage.codec.bodies.parts import PartMaker
from ullage.codec.foreign import as_plain
from ullage.errors import InvalidRequest
from ullage.messages import Message, Request

__all__ = ["detect_wire", "read_body", "read_output"]

_ANSWERS: dict[str, Callable[[object, PartMaker], Message]] = {
    anthropic.WIRE: anthropic.read_answer,
    chat.WIRE: chat.read_answer,
    responses.WIRE: responses.read_answer,
    gemini.WIRE: gemini.read_answer,
}

_MESSAGES_BLOCKS = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"))


def read_body(
    body: Mapping[str, Any], *, wire: str | None = None, provider: str | None = None, model: str = ""
) -> Request:
    """The request in a provider's JSON body, as a user's own loop sends it.

    ``body`` holds dicts or SDK objects. The wire is told from its fields unless given; ``provider`` defaults to the
    wire's own. ``model`` is for Gemini, whose body does not name it. Images and files are measured, not kept. Raises
    ``InvalidRequest`` for a body that fits no known wire.
    """
    plain = as_plain(body)
    if not isinstance(plain, dict):
        raise InvalidRequest(f"A request body is a JSON object; this is a {type(body).__name__}.")
    chosen = wire or detect_wire(plain)
    match chosen:
        case anthropic.WIRE:
            return anthropic.read_request(plain, provider="anthropic" if provider is None else provider, model=model)
        case chat.WIRE:
            return chat.read_request(plain, provider=provider or "", model=model)
        case responses.WIRE:
            return responses.read_request(plain, provider="openai" if provider is None else provider, model=model)
        case gemini.WIRE:
            return gemini.read_request(plain, provider="google" if provider is None else provider, model=model)
        case _:
            raise InvalidRequest(f"There is no wire named {chosen!r}; known are: {', '.join(_ANSWERS)}.")


def read_output(
    wire: str, content: object, *, provider: str = "", model: str = "", after: Request | None = None
) -> Message:
    """The assistant's message in a provider's answer: a response object, or the content inside it.

    Dicts or SDK objects. Sent back unchanged in the next body, its parts get the same ids there, provided that
    ``after``, the request it answers, is given where a part may repeat an earlier one. Raises ``InvalidRequest`` for an
    unknown wire.
    """
    read = _ANSWERS.get(wire)
    if read is None:
        raise InvalidRequest(f"There is no wire named {wire!r}; known are: {', '.join(_ANSWERS)}.")
    make = PartMaker(namer=Namer.after(after), wire=wire, provider=provider, model=model)
    return read(as_plain(content), make)


def detect_wire(body: Mapping[str, Any]) -> str:
    """The wire a plain body belongs to, from its fields. Raises ``InvalidRequest`` when it fits none."""
    if "contents" in body:
        return gemini.WIRE
    if "messages" in body:
        return anthropic.WIRE if _is_anthropic(body) else chat.WIRE
    if "input" in body or "previous_response_id" in body or ("prompt" in body and "instructions" in body):
        return responses.WIRE
    raise InvalidRequest(
        "This body has none of `messages` (Anthropic, Chat), `input` (Responses) or `contents` (Gemini): "
        f"it has {', '.join(sorted(map(str, body))[:12]) or 'no fields'}. Pass wire=… if you know it."
    )


def _is_anthropic(body: Mapping[str, Any]) -> bool:
    """Anthropic's marks against Chat's; a plain body with neither is Anthropic's when its model is a bare Claude id."""
    listed = [one for one in body["messages"] if isinstance(one, Mapping)] if isinstance(body["messages"], list) else []
    tools = _blocks(body.get("tools"))
    if any(key in body for key in ("system", "anthropic_version", "anthropic_beta", "stop_sequences")):
        return True
    if any("input_schema" in one for one in tools):
        return True
    if any(_is_messages_block(block) for one in listed for block in _blocks(one.get("content"))):
        return True
    chat_roles = any(one.get("role") in ("system", "developer", "tool", "function") for one in listed)
    if chat_roles or any("function" in one for one in tools) or any("tool_calls" in one for one in listed):
        return False
    return str(body.get("model") or "").startswith("claude") and "max_tokens" in body


def _is_messages_block(block: Mapping[str, Any]) -> bool:
    """Whether only Anthropic has this block; Mistral's thinking, on the chat wire, is a list of chunks."""
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _MESSAGES_BLOCKS:
        return False
    return not (kind == "thinking" and isinstance(block.get("thinking"), list))


def _blocks(content: object) -> list[Mapping[str, Any]]:
    return [one for one in content if isinstance(one, Mapping)] if isinstance(content, list) else []
