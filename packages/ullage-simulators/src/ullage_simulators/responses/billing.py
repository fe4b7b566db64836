"""A Responses request in pieces, and its bill: cache inside ``input_tokens``, reasoning inside ``output_tokens``.

Sources: openai 3.52 ``types/responses/response_usage.py``; that o-series and gpt-5 floor ``reasoning_tokens`` to a
multiple of 64 was measured (0 means 0-63; in every recorded call of these models).
"""

from __future__ import annotations

import json
from typing import Any

from ullage_simulators.body import Body
from ullage_simulators.image_size import pixels_of_url
from ullage_simulators.models import Model
from ullage_simulators.openai_images import image_tokens
from ullage_simulators.prompt import DeclaredTool, PromptPieces, ScriptContext
from ullage_simulators.responses.binding import carried, kind
from ullage_simulators.responses.checks import OUTPUTS, is_compaction
from ullage_simulators.wire import Bill, CallInProgress

CACHE_BLOCK = 128
PROMPT = "Summarize this conversation."
"""Stands for the server's own prompt for a compaction, whose words are not known."""


def pieces(call: CallInProgress) -> PromptPieces:
    """Tools, instructions, then the items; from GPT-6.2 on, the instructions come last.

    https://developers.openai.com/api/docs/guides/latest-model/gpt-6.2-astra.md
    """
    body, prompt = call.body, PromptPieces()
    prompt.add(framing="request")
    prompt.add_tools(body.get("tools") or [])
    instructions = body.get("instructions")
    is_last = "instructions-last" in call.model.traits
    if instructions and not is_last:
        prompt.add(instructions, framing="message")
    hidden = {each["id"] for each in call.dropped}
    for item in body["input"]:
        sealed = carried(item, call) or {"n": 0, "id": ""}
        if sealed["id"] not in hidden:
            _add(prompt, item, sealed["n"], call.model_name)
    if instructions and is_last:
        prompt.add(instructions, framing="message")
    prompt.ask = _ask(body)
    if is_compaction(call):
        prompt.ask = ScriptContext(prompt.ask.step, PROMPT)
    return prompt


def _add(prompt: PromptPieces, item: Body, hidden: int, model: str) -> None:
    match kind(item):
        case "message":
            prompt.add(framing="message")
            content = item.get("content") or ""
            if isinstance(content, str):
                content = [{"text": content}]
            for part in content:
                if part.get("type") == "input_image":
                    _add_image(prompt, part, model)
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
            prompt.add(hidden=hidden, reasoning=True)
        case "compaction":
            prompt.add(hidden=hidden)
        case "function_call":
            prompt.add(f"{item['name']} {item['arguments']}", framing="call")
        case "custom_tool_call":
            prompt.add(f"{item['name']} {item['input']}", framing="call")
        case "additional_tools":
            prompt.add_tools(item["tools"])
        case "compaction_trigger":
            pass  # a signal to the server, and no content
        case "function_call_output" | "custom_tool_call_output":
            prompt.add(framing="result")
            for part in _parts(item.get("output")):
                if part.get("type") == "input_image":
                    _add_image(prompt, part, model)
                else:
                    prompt.add(part.get("text", ""))
        case _:
            prompt.add(json.dumps(item))


def _add_image(prompt: PromptPieces, part: Body, model: str) -> None:
    size = image_tokens(model, pixels_of_url(part.get("image_url")), part.get("detail"))
    prompt.add(hidden=size, framing="" if size else "image")


def _parts(output: Any) -> list[Body]:
    if isinstance(output, list):
        return output
    return [{"type": "input_text", "text": str(output or "")}]


_GIVEN = frozenset(
    {"message", "additional_tools", "configuration_update", "compaction_trigger"}
    | set(OUTPUTS.values())
)
"""Items that come from the client; messages of the assistant excepted."""


def _ask(body: Body) -> ScriptContext:
    items = body["input"]
    names: dict[str, str] = {}
    tools = list(body.get("tools") or [])
    for item in items:
        if kind(item) in OUTPUTS:
            names[item["call_id"]] = item["name"]
        if kind(item) == "additional_tools":
            tools += item["tools"]
    results: list[tuple[str, str]] = []
    text: list[str] = []
    steps, was_said = 0, False
    for item in items:
        is_said = kind(item) not in _GIVEN or item.get("role") == "assistant"
        if is_said:
            results, text = [], []
            steps += not was_said
        elif kind(item) in OUTPUTS.values():
            heard = "\n".join(part.get("text", "") for part in _parts(item.get("output")))
            results.append((names.get(item.get("call_id"), ""), heard))
        elif item.get("role") == "user":
            content = item.get("content")
            if not isinstance(content, str):
                content = "\n".join(part.get("text", "") for part in content or [])
            text.append(content)
        was_said = is_said
    declared = []
    for tool in tools:
        if tool.get("type") in ("function", "custom"):
            schema = tool.get("parameters") or {}
            is_custom = tool["type"] == "custom"
            declared.append(DeclaredTool(str(tool.get("name")), schema, is_custom))
    return ScriptContext(steps + 1, "\n".join(text), tuple(results), tuple(declared))


def shown(bill: Bill, model: Model) -> Body:
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
