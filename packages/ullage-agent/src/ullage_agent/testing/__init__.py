"""What tests of agents are written with: models that answer by a script or a function, and what was sent."""

from ullage_agent.testing.answers import (
    Delay,
    Structured,
    reasoning,
    structured,
    tool_call,
)
from ullage_agent.testing.capturing import Sent, capture
from ullage_agent.testing.models import FunctionModel, ScriptedModel
from ullage_agent.testing.stores import check_store

__all__ = [
    "Delay",
    "FunctionModel",
    "ScriptedModel",
    "Sent",
    "Structured",
    "capture",
    "check_store",
    "reasoning",
    "structured",
    "tool_call",
]
