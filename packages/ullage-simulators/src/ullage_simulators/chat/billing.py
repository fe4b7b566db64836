"""A Chat request in pieces, and its bill in the variant's dialect.

Cache is inside ``prompt_tokens`` everywhere. Reasoning is inside ``completion_tokens`` but for xAI (measured:
total = prompt + completion + reasoning). Sources: openai 3.52 ``types/completion_usage.py``;
https://api-docs.deepseek.com/api/create-chat-completion (``prompt_cache_hit_tokens``).
"""

from __future__ import annotations

from typing import Any

from ullage_simulators.body import Body
from ullage_simulators.chat.checks import WIRE, tool_kind
from ullage_simulators.chat.variants import Variant
from ullage_simulators.image_size import pixels_of_url
from ullage_simulators.openai_images import image_tokens
from ullage_simulators.prompt import DeclaredTool, PromptPieces, ScriptContext
from ullage_simulators.seal import digest, unseal
from ullage_simulators.wire import Bill, CallInProgress


def pieces(call: CallInProgress) -> PromptPieces:
    """Tools, then the messages."""
    body, prompt = call.body, PromptPieces()
    prompt.add(framing="request")
    prompt.add_tools(body.get("tools") or [])
    for message in body["messages"]:
        prompt.add(framing="result" if message["role"] == "tool" else "message")
        if message["role"] == "assistant":
            _add_reasoning(prompt, message, call)
        for part in parts(message.get("content")):
            if part.get("type") == "image_url":
                _add_image(prompt, part["image_url"], call.model_name)
            else:
                prompt.add(part.get("text", ""))
        for each in message.get("tool_calls") or []:
            called = each[tool_kind(each)]
            content = called.get("input") or called.get("arguments")
            prompt.add(f"{called['name']} {content}", framing="call")
        if message["role"] == "user":
            prompt.turn_begins = len(prompt.pieces)
    prompt.ask = _ask(body)
    return prompt


def _add_reasoning(prompt: PromptPieces, message: Body, call: CallInProgress) -> None:
    text = message.get("reasoning_content")
    if isinstance(text, str) and text:
        may_leave = not (
            message.get("tool_calls") and "reasoning-for-ever" in call.model.traits
        )
        prompt.add(text, reasoning=may_leave)
    elif call.model.even_unsent:
        prompt.add(hidden=call.memory.items.get(said(message), 0), reasoning=True)
    for detail in message.get("reasoning_details") or []:
        carried = unseal(WIRE, detail.get("signature"))
        if carried:
            prompt.add(hidden=int(carried["n"]), reasoning=True)


def _add_image(prompt: PromptPieces, image: Any, model: str) -> None:
    """An image, or its URL alone: llama.cpp and Mistral take both."""
    shown = image if isinstance(image, dict) else {"url": image}
    size = image_tokens(model, pixels_of_url(shown.get("url")), shown.get("detail"))
    prompt.add(hidden=size, framing="" if size else "image")


def said(message: Body) -> str:
    """A name for an assistant message, by which its maker knows it again."""
    calls = [each.get("id") for each in message.get("tool_calls") or []]
    return f"said {digest(message.get('content') or '', calls)}"


def parts(content: Any) -> list[Body]:
    """A message's content as parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [part for part in content if isinstance(part, dict)]


def _ask(body: Body) -> ScriptContext:
    messages = body["messages"]
    names = {}
    for message in messages:
        for each in message.get("tool_calls") or []:
            names[each.get("id")] = each[tool_kind(each)]["name"]
    results: list[tuple[str, str]] = []
    text: list[str] = []
    for message in messages:
        heard = "\n".join(part.get("text", "") for part in parts(message.get("content")))
        match message["role"]:
            case "assistant":
                results, text = [], []
            case "tool":
                results.append((names.get(message.get("tool_call_id"), ""), heard))
            case "user":
                text.append(heard)
    step = 1 + sum(message["role"] == "assistant" for message in messages)
    tools = []
    for tool in body.get("tools") or []:
        kind = tool_kind(tool)
        declared = tool.get(kind) or {}
        schema = declared.get("parameters") or {}
        tools.append(DeclaredTool(str(declared.get("name")), schema, kind == "custom"))
    return ScriptContext(step, "\n".join(text), tuple(results), tuple(tools))


def shown(bill: Bill, variant: Variant) -> Body:
    """The usage object."""
    completion = bill.output if variant.inside else bill.output - bill.reasoning
    usage: Body = {
        "prompt_tokens": bill.input,
        "completion_tokens": completion,
        "total_tokens": bill.input + bill.output,
        "prompt_tokens_details": {"cached_tokens": bill.cache_read},
        "completion_tokens_details": {"reasoning_tokens": bill.reasoning},
    }
    if variant.cache_fields == "hit-and-miss":
        usage["prompt_cache_hit_tokens"] = bill.cache_read
        usage["prompt_cache_miss_tokens"] = bill.input - bill.cache_read
    return usage
