"""What tests of your agent are written with; docs/testing.md shows it."""

from ullage.installation import explained

try:
    from ullage.messages import Stopped
    from ullage.provider import AnswerPiece
    from ullage_agent.testing import (
        Delay,
        FunctionModel,
        ScriptedModel,
        Sent,
        Structured,
        capture,
        check_store,
        reasoning,
        structured,
        tool_call,
    )
except ModuleNotFoundError as problem:
    raise explained(problem) from problem

__all__ = [
    "AnswerPiece",
    "Delay",
    "FunctionModel",
    "ScriptedModel",
    "Sent",
    "Stopped",
    "Structured",
    "capture",
    "check_store",
    "reasoning",
    "structured",
    "tool_call",
]
