"""Ullage: how much room is left in a language model's context window. One ledger, one number."""

from typing import TYPE_CHECKING

from ullage.errors import InputError, UllageError
from ullage.messages import Message, Request, Tool
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage.reasoning import ReasoningPolicy
from ullage.usage import Usage

if TYPE_CHECKING:
    from ullage.runtime.agent import Agent
    from ullage.runtime.hooks import Hook
    from ullage.runtime.session import Session
    from ullage.runtime.subagent import subagent
    from ullage.tools.functions import tool

__all__ = [
    "Agent",
    "Hook",
    "InputError",
    "Message",
    "Meter",
    "Reading",
    "ReasoningPolicy",
    "Request",
    "Session",
    "Spend",
    "Tool",
    "UllageError",
    "Usage",
    "subagent",
    "tool",
]

_LATER = {
    "Agent": "ullage.runtime.agent",
    "Hook": "ullage.runtime.hooks",
    "Session": "ullage.runtime.session",
    "subagent": "ullage.runtime.subagent",
    "tool": "ullage.tools.functions",
}
"""Names that are imported when they are first used: who only wants a Meter does not pay for the runtime."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'ullage' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted(globals().keys() | _LATER.keys())
