"""A Messages request in pieces, and its bill: cache beside ``input_tokens``, reasoning inside ``output_tokens``.

Sources: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (the three disjoint inputs),
anthropic 2.11 ``types/usage.py`` and ``types/beta/beta_usage.py`` (details, iterations).
"""

from __future__ import annotations

import json
from typing import Any

from ullage_simulators.anthropic.checks import blocks, is_turn
from ullage_simulators.anthropic.compaction import context, is_asked
from ullage_simulators.anthropic.images import visual_tokens
from ullage_simulators.anthropic.thinking import size_of
from ullage_simulators.anthropic.tools import definition_in, offered
from ullage_simulators.body import Body
from ullage_simulators.models import Model
from ullage_simulators.prompt import DeclaredTool, PromptPieces, ScriptContext
from ullage_simulators.wire import Bill


def pieces(body: Body, model: Model) -> PromptPieces:
    """The request in the order it is read and cached: tools, system, messages.

    A system message for one turn is not read after it
    (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages#turn-scoped-system-messages).
    """
    prompt = PromptPieces()
    prompt.add(framing="request")
    deferred = {}
    tools = []
    for tool in body.get("tools") or []:
        if tool.get("defer_loading"):
            deferred[tool.get("name")] = tool
        else:
            tools.append(tool)
    if tools:
        prompt.add(framing="tools")
    for tool in tools:
        _add_tool(prompt, tool)
    system = body.get("system") or []
    if isinstance(system, str):
        system = [{"text": system}]
    for block in system:
        prompt.add(block.get("text", ""), marked="cache_control" in block)
    turns = [message["role"] == "user" for message in body["messages"]]
    for index, message in enumerate(body["messages"]):
        if message.get("clear_at") == "next_user_message" and any(turns[index:]):
            continue
        prompt.add(framing="message")
        for block in blocks(message):
            _add(prompt, block, deferred, model)
        if is_turn(message, beside=model.beside):
            prompt.turn_begins = len(prompt.pieces)
    if "cache_control" in body:
        prompt.mark_last()
    prompt.ask = context(body, _ask(body)) if is_asked(body) else _ask(body)
    return prompt


_READ_OF_TOOL = ("name", "description", "input_schema")


def _add_tool(prompt: PromptPieces, tool: Body) -> None:
    """One declared tool: Claude reads its JSON, in which a line end of a description is two characters."""
    marked = "cache_control" in tool
    read = {name: tool[name] for name in _READ_OF_TOOL if name in tool} or tool
    prompt.add(framing="tool", schema=json.dumps(read), marked=marked)


def _add(
    prompt: PromptPieces,
    block: Body,
    deferred: dict[Any, Body],
    model: Model,
) -> None:
    """One block; a deferred tool is part of the prompt where a block first refers to it.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool.
    """
    marked = "cache_control" in block
    match block.get("type"):
        case "text":
            prompt.add(block["text"], marked=marked)
        case "thinking" | "redacted_thinking":
            prompt.add(hidden=size_of(block), reasoning=True)
        case "tool_use":
            prompt.add(
                f"{block['name']} {json.dumps(block['input'])}",
                framing="call",
                marked=marked,
            )
        case "tool_result":
            prompt.add(framing="result", marked=marked)
            content = block.get("content")
            for inner in blocks({"content": content}):
                nested = {**inner, "cache_control": None} if marked else inner
                _add(prompt, nested, deferred, model)
        case "image":
            size = visual_tokens(block, model)
            prompt.add(hidden=size, framing="" if size else "image", marked=marked)
        case "tool_reference":
            _add_tool(prompt, deferred.pop(block.get("tool_name"), block))
        case "tool_addition":
            tool = definition_in(block) or block["tool"]
            _add_tool(prompt, deferred.pop(tool.get("name"), tool))
        case "compaction":
            prompt.add(block.get("content") or "", marked=marked)
        case _:
            plain = {
                name: value
                for name, value in block.items()
                if name not in ("cache_control", "type")
            }
            prompt.add(json.dumps(plain), marked=marked)


def _ask(body: Body) -> ScriptContext:
    messages = body["messages"]
    names = {}
    for message in messages:
        for block in blocks(message):
            if block.get("type") == "tool_use":
                names[block.get("id")] = str(block.get("name"))
    said = [message for message in messages if message.get("role") != "system"]
    last = blocks(said[-1]) if said else []
    results = []
    for block in last:
        if block.get("type") == "tool_result":
            text = _text(blocks({"content": block.get("content")}))
            results.append((names.get(block.get("tool_use_id"), ""), text))
    step = 1 + sum(message.get("role") == "assistant" for message in messages)
    tools = []
    for tool in offered(body):
        tools.append(DeclaredTool(str(tool.get("name")), tool.get("input_schema") or {}))
    return ScriptContext(step, _text(last), tuple(results), tuple(tools))


def _text(found: list[Body]) -> str:
    return "\n".join(
        str(block.get("text", "")) for block in found if block.get("type") == "text"
    )


def shown(bill: Bill, model: Model, iterations: int, added: int) -> Body:
    """The usage object. With several sampling passes its top-level numbers are their sum; ``added`` came with each."""
    once = numbers(bill)
    usage: Body = dict(once)
    if iterations > 1:
        passes = []
        for index in range(iterations):
            uncached = once["input_tokens"] - (iterations - 1 - index) * added
            output = bill.output if index == iterations - 1 else added
            passes.append(
                {
                    "type": "message",
                    **once,
                    "input_tokens": uncached,
                    "output_tokens": output,
                }
            )
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ):
            usage[name] = sum(each[name] for each in passes)
        usage["iterations"] = passes
    if "manual-thinking" not in model.traits:
        usage["output_tokens_details"] = {"thinking_tokens": bill.reasoning}
    return {**usage, "service_tier": "standard"}


def numbers(bill: Bill) -> Body:
    """The counts of one pass."""
    uncached = bill.input - bill.cache_read - bill.cache_write
    return {
        "input_tokens": uncached,
        "cache_creation_input_tokens": bill.cache_write,
        "cache_read_input_tokens": bill.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": bill.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": bill.output,
    }
