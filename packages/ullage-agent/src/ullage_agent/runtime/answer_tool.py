"""The tool that a model calls to give its answer, where the schema of the answer is no field of the request.

Its arguments are the answer, and the turn ends with its result. Used with the setting ``output_by="tool"``, which a
session sets itself when an endpoint refuses the field. The call is not forced by ``tool_choice``: models refuse that
while they think (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, and DeepSeek's by
https://github.com/BerriAI/litellm/pull/31466). An answer in words is asked for again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from ullage.errors import ProviderError, RequestRejected
from ullage.messages import Tool
from ullage_agent.runtime.output_type import OutputType, with_format
from ullage_agent.runtime.settings import Settings
from ullage_agent.tools.tool import AgentTool, Output, ToolContext

ANSWER: Final = "answer"
"""The tool's name, unless the program has a tool of that name."""

_TAKEN: Final = "This is your answer. It is being read."

_FORMAT_WORDS: Final = (
    "response_format",
    "json_schema",
    "json schema",
    "text.format",
    "output_config",
    "output_format",
    "responsejsonschema",
    "response_json_schema",
    "responsemimetype",
    "structured output",
)
"""One of them is in an endpoint's error about the field; the error of another field has none."""


def is_by_tool(output: OutputType[Any], settings: Settings, wire: str) -> bool:
    """Whether the answer is asked for as a tool call: by the settings, or because the wire has no field for it."""
    return settings.output_by == "tool" or not output.params(wire)


def params_with(
    output: OutputType[Any] | None, settings: Settings, wire: str
) -> dict[str, object]:
    """The request's parameters: those of the settings, and the field that asks for this type on this wire."""
    params = dict(settings.params)
    if output is None or is_by_tool(output, settings, wire):
        return params
    return with_format(params, output.params(wire))


def answer_tool(output: OutputType[Any], taken: Collection[str]) -> AgentTool:
    """The tool for answers of this type. Its name is not among the ``taken`` ones."""
    declaration = Tool(
        name=answer_name(taken),
        description=(
            "Give your final answer by calling this tool, and not as text. Call it once, when you know the answer: "
            "nothing is done after it."
        ),
        schema=msgspec.Raw(json.dumps(output.schema).encode()),
    )

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        return Output(_TAKEN, is_answer=True)

    return AgentTool(
        declaration=declaration, run=run, idempotent=True, is_answer=True, read_only=True
    )


def answer_name(taken: Collection[str]) -> str:
    """The tool's name beside these ones."""
    name = ANSWER
    while name in taken:
        name += "_"
    return name


def is_about_format(error: ProviderError) -> bool:
    """Whether an endpoint refuses the request because of the field that asks for a schema."""
    if not isinstance(error, RequestRejected):
        return False
    words = f"{error} {error.said}".lower()
    return any(word in words for word in _FORMAT_WORDS)
