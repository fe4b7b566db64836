"""The official google-genai SDK."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from google import genai  # type: ignore[import-not-found,import-untyped,unused-ignore]
from google.genai import types  # type: ignore[import-not-found,import-untyped,unused-ignore]
from wire_timing import Way, report

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


@cache
def client(base: str) -> Any:
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=base))


def history(rounds: list[dict[str, str]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Go."}]}]
    for one in rounds:
        called = {"name": one["name"], "args": json.loads(one["arguments"])}
        answered = {"name": one["name"], "response": {"result": one["result"]}}
        made.append({"role": "model", "parts": [{"function_call": called}]})
        made.append({"role": "user", "parts": [{"function_response": answered}]})
    return made


async def call(base: str, contents: list[dict[str, Any]]) -> str:
    text: list[str] = []
    declared = types.FunctionDeclaration(name="read_file", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declared])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    async for chunk in await client(base).aio.models.generate_content_stream(
        model="gemini-2.5-flash", contents=contents, config=config
    ):
        text.append(chunk.text or "")
    return "".join(text)


report(["google-genai"], {"generateContent": Way(call, history)})
