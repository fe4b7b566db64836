"""Runs the guardrails of an agent on a message, and on an answer."""

from __future__ import annotations

import asyncio
from inspect import signature
from typing import Any

from msgspec.structs import replace

from ullage.errors import GuardrailRefused
from ullage.messages import Message, TextPart, clean_text
from ullage_agent.runtime.guardrails import Guardrail
from ullage_agent.runtime.hooks import HookFailed, Refusal
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_agent.runtime.turn_instructions import TurnContext
from ullage_agent.tools.functions import called
from ullage_agent.tools.tool import ToolRetry


async def guarded_message(runtime: SessionRuntime, message: Message) -> Message:
    """The message as the guardrails leave it: their text is in the place of its own.

    Raises ``GuardrailRefused``, and ``HookFailed`` for one that raises, takes too long or returns another type.
    """
    given = text = message.text
    for guardrail in runtime.first.guardrails.inputs:
        text = await _left(guardrail, text, runtime)
    if text == given:
        return message
    part = TextPart(id=f"{message.id}.text", text=clean_text(text).text)
    others = [part for part in message.parts if not isinstance(part, TextPart)]
    return replace(message, parts=(part, *others))


async def guarded_output(runtime: SessionRuntime, output: Any) -> Any:
    """The output as the guardrails leave it. Raises as ``guarded_message``, and ``ToolRetry`` to ask again."""
    for guardrail in runtime.first.guardrails.outputs:
        output = await _left(guardrail, output, runtime)
    return output


async def _left(
    guardrail: Guardrail[Any, Any], value: Any, runtime: SessionRuntime
) -> Any:
    name = str(getattr(guardrail, "__name__", type(guardrail).__name__))
    within_s = runtime.settings.timeout
    context = TurnContext(
        runtime.ledger.session, runtime.root, runtime.fold.model, runtime.deps
    )
    try:
        given = (value, context)[: max(1, len(signature(guardrail).parameters))]
        async with asyncio.timeout(within_s):
            found = await called(guardrail, *given)
    except ToolRetry:
        raise
    except Exception as problem:
        raise HookFailed(
            f"The guardrail {name} failed, so nothing was let through: {type(problem).__name__}: {problem} "
            f"(it may take {within_s:g} s)."
        ) from problem
    if isinstance(found, Refusal):
        told = f"The guardrail {name} refused: {found.why}"
        raise GuardrailRefused(told, guardrail=name, why=found.why)
    if isinstance(value, str) and not isinstance(found, str | None):
        raise HookFailed(
            f"The guardrail {name} returned {type(found).__name__}, and may return: None, str, Refusal."
        )
    return value if found is None else found
