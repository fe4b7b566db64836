from collections.abc import Mapping
from typing import Any

from ullage.errors import UllageError
from ullage.messages import Tool
from ullage_agent.tools.tool import (
    AgentTool,
    BadArguments,
    Output,
    ToolContext,
    ToolError,
)


async def _nothing(arguments: Mapping[str, Any], context: ToolContext) -> Output:
    return Output("")


def test_a_tool_has_the_name_of_its_declaration() -> None:
    assert AgentTool(declaration=Tool(name="look"), run=_nothing).name == "look"


def test_nothing_is_promised_of_a_tool_that_says_nothing() -> None:
    tool = AgentTool(declaration=Tool(name="look"), run=_nothing)
    assert not (
        tool.sequential or tool.idempotent or tool.needs_approval or tool.outlives_cancel
    )


def test_what_a_tool_raises_for_the_model_is_one_of_our_errors() -> None:
    assert issubclass(BadArguments, ToolError)
    assert issubclass(ToolError, UllageError)
