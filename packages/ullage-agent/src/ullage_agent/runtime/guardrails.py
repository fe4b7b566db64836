"""Guardrails: functions that see a message before it is stored, and an answer before the caller gets it.

def no_keys(text: str) -> str | Refusal | None:
    return Refusal("It holds a key.") if "sk-" in text else None

agent = ullage.Agent("anthropic:claude-haiku-4-5", input_guardrails=[no_keys])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ullage_agent.runtime.hooks import Refusal
from ullage_agent.runtime.turn_instructions import TurnContext

OutputT = TypeVar("OutputT")
DepsT = TypeVar("DepsT")

GuardrailVerdict: TypeAlias = (
    OutputT | Refusal | Awaitable[OutputT | Refusal | None] | None
)
"""``None`` lets it pass, a ``Refusal`` stops it, and another value takes its place."""

Guardrail: TypeAlias = (
    Callable[[OutputT], GuardrailVerdict[OutputT]]
    | Callable[[OutputT, TurnContext[DepsT]], GuardrailVerdict[OutputT]]
)
"""A function of a text or an output, and perhaps of the turn's context. It may be async."""


class Guardrails(NamedTuple):
    """Those of an agent, in order."""

    inputs: Sequence[Guardrail[str, Any]] = ()
    outputs: Sequence[Guardrail[Any, Any]] = ()
