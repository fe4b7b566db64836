"""Ullage: how much room is left in a language model's context window. One ledger, one number."""

from ullage.errors import InputError, UllageError
from ullage.messages import Message, Request, Tool
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage.reasoning import ReasoningPolicy
from ullage.usage import Usage

__all__ = [
    "InputError",
    "Message",
    "Meter",
    "Reading",
    "ReasoningPolicy",
    "Request",
    "Spend",
    "Tool",
    "UllageError",
    "Usage",
]
