"""A Responses request in pieces, and its bill: cache inside ``input_tokens``, reasoning inside ``output_tokens``.

Sources: openai 3.52 ``types/responses/response_usage.py``; that o-series and gpt-5 floor ``reasoning_tokens`` to a
multiple of 64 was measured (0 means 0-63; in every recorded call of these models).
"""

from __future__ import annotations

import json
from typing import Any

from ullage_simulators.models import Model
from ullage_simulators.prompt import DeclaredTool, PromptPieces, ScriptContext
from ullage_simulators.responses.checks import WIRE, kind
from ullage_simulators.seal import unseal
from ullage_simulators.wire import Bill, CallInProgress

CACHE_BLOCK = 128
PROMPT = "Summarize this conversation."
"""Stands for the server's own prompt for a compaction, whose words are not known."""


def pieces(call: CallInProgress) -> PromptPieces:
    """Tools, instructions, then the items."""
    body, prompt = call.body, PromptPieces()
    prompt.add(framing="request")
    prompt.add_tools(body.get("tools") or [])
    if body.get("instructions"):
        prompt.add(body["instructions"], framing="message")
    for item in body["input"]:
        _add(prompt, item, call)
    prompt.ask = _ask(body)
    if call.endpoint.compact:
        prompt.ask = ScriptContext(prompt.ask.step, PROMPT)
    return prompt


def _add(prompt: PromptPieces, item: dict[str, Any], call: CallInProgress) -> None:
    match kind(item):
        case "message":
            prompt.add(framing="message")
            content = item.get("content") or ""
            if isinstance(content, str):
                content = [{"text": content}]
            for part in content:
                if part.get("type") == "input_image":
                    prompt.add(framing="image")
                else:
                    prompt.add(
                        str(
                            part.get("text")
                            or part.get("refusal")
                            or part.get("file_data", "")
                        )
                    )
            if item.get("role") == "user":
                prompt.turn_begins = len(prompt.pieces)
        case "reasoning":
            prompt.add(hidden=_size(item, call), reasoning=True)
        case "compaction":
            prompt.add(hidden=_size(item, call))
        case "function_call":
            prompt.add(f"{item['name']} {item['arguments']}", framing="call")
        case "function_call_output":
            prompt.add(framing="result")
            for part in _parts(item.get("output")):
                framing = "image" if part.get("type") == "input_image" else ""
                prompt.add(part.get("text", ""), framing=framing)
        case _:
            prompt.add(json.dumps(item))


def _parts(output: Any) -> list[dict[str, Any]]:
    if isinstance(output, list):
        return output
    return [{"type": "input_text", "text": str(output or "")}]


def _size(item: dict[str, Any], call: CallInProgress) -> int:
    carried = unseal(WIRE, item.get("encrypted_content"))
    record = call.memory.items.get(item.get("id", ""))
    known = carried or record
    return int(known["n"]) if known else 0


def _ask(body: dict[str, Any]) -> ScriptContext:
    items = body["input"]
    names = {
        item["call_id"]: item["name"] for item in items if kind(item) == "function_call"
    }
    results: list[tuple[str, str]] = []
    text: list[str] = []
    steps, was_said = 0, False
    for item in items:
        is_said = (
            kind(item) not in ("message", "function_call_output")
            or item.get("role") == "assistant"
        )
        if is_said:
            results, text = [], []
            steps += not was_said
        elif kind(item) == "function_call_output":
            heard = "\n".join(part.get("text", "") for part in _parts(item.get("output")))
            results.append((names.get(item.get("call_id"), ""), heard))
        elif item.get("role") == "user":
            content = item.get("content")
            if not isinstance(content, str):
                content = "\n".join(part.get("text", "") for part in content or [])
            text.append(content)
        was_said = is_said
    tools = []
    for tool in body.get("tools") or []:
        if tool.get("type") == "function":
            tools.append(
                DeclaredTool(str(tool.get("name")), tool.get("parameters") or {})
            )
    return ScriptContext(steps + 1, "\n".join(text), tuple(results), tuple(tools))


def shown(bill: Bill, model: Model) -> dict[str, Any]:
    """The usage object."""
    reasoning = bill.reasoning
    if "floors-reasoning" in model.traits:
        reasoning = reasoning // 64 * 64
    return {
        "input_tokens": bill.input,
        "input_tokens_details": {
            "cached_tokens": bill.cache_read,
            "cache_write_tokens": 0,
        },
        "output_tokens": bill.output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": bill.input + bill.output,
    }
