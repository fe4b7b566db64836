"""A generateContent request in pieces, and its bill: thoughts beside ``candidatesTokenCount``, cache inside the prompt.

Source: google-genai 3.4 ``types.py`` (``GenerateContentResponseUsageMetadata``); that output is candidates + thoughts
was measured on all recorded calls. Counts of nothing are left out, as in the recordings. Of reasoning, they charge what
is under the signature of a call, and the text of a thought as a text (n=9).
"""

from __future__ import annotations

import json
from typing import Any

from ullage_simulators.body import Body
from ullage_simulators.gemini.checks import is_turn, size_of
from ullage_simulators.gemini.images import image_tokens
from ullage_simulators.models import Model
from ullage_simulators.prompt import DeclaredTool, PromptPieces, ScriptContext
from ullage_simulators.wire import Bill


def pieces(body: Body, model: Model) -> PromptPieces:
    """System, tools, contents."""
    prompt = PromptPieces()
    prompt.add(framing="request")
    for part in (body.get("systemInstruction") or {}).get("parts") or []:
        prompt.add(part.get("text", ""))
    declared = _declared(body)
    prompt.add_tools(declared)
    for content in body["contents"]:
        prompt.add(framing="message")
        for part in content["parts"]:
            _add(prompt, part, image_tokens(part, body, model))
        if is_turn(content):
            prompt.turn_begins = len(prompt.pieces)
    prompt.ask = _ask(body, declared)
    return prompt


def _add(prompt: PromptPieces, part: Body, image: int) -> None:
    if "functionCall" in part:
        prompt.add(hidden=size_of(part), reasoning=True)
        function = part["functionCall"]
        prompt.add(
            f"{function.get('name')} {json.dumps(function.get('args') or {})}",
            framing="call",
        )
    elif "functionResponse" in part:
        given = part["functionResponse"]
        prompt.add(
            f"{given.get('name')} {json.dumps(given.get('response') or {})}",
            framing="result",
        )
    elif "inlineData" in part or "fileData" in part:
        prompt.add(hidden=image, framing="" if image else "image")
    else:
        prompt.add(part.get("text", ""))


def _declared(body: Body) -> list[Body]:
    declared: list[Body] = []
    for tool in body.get("tools") or []:
        declared += tool.get("functionDeclarations") or []
    return declared


def _ask(body: Body, declared: list[Body]) -> ScriptContext:
    contents = body["contents"]
    last = [part for content in contents[-1:] for part in content["parts"]]
    results = []
    for part in last:
        if "functionResponse" in part:
            given = part["functionResponse"]
            results.append((str(given.get("name")), _heard(given.get("response") or {})))
    text = "\n".join(part["text"] for part in last if part.get("text"))
    step = 1 + sum(content.get("role") == "model" for content in contents)
    tools = []
    for tool in declared:
        schema = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
        tools.append(DeclaredTool(str(tool.get("name")), schema))
    return ScriptContext(step, text, tuple(results), tuple(tools))


def _heard(response: Body) -> str:
    given: Any = response
    if len(response) == 1:
        (given,) = response.values()
    return given if isinstance(given, str) else json.dumps(given)


def shown(bill: Bill) -> Body:
    """The usage object of the whole answer."""
    visible = bill.output - bill.reasoning
    usage: Body = {"promptTokenCount": bill.input}
    if visible:
        usage["candidatesTokenCount"] = visible
    usage["totalTokenCount"] = bill.input + bill.output
    if bill.cache_read:
        usage["cachedContentTokenCount"] = bill.cache_read
    usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": bill.input}]
    if bill.reasoning:
        usage["thoughtsTokenCount"] = bill.reasoning
    return usage
