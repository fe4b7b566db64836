"""What Responses accepts: the parameters it may be given, and what a request has to keep."""

from __future__ import annotations

from typing import Final

from ullage.codec.held import CONTINUING
from ullage.codec.rules import (
    OPENAI_NAMES,
    PLAIN_CHARACTERS,
    Legal,
    Target,
    WireParams,
    fields,
)
from ullage.models.providers import provider_named
from ullage.reasoning import family_of

PARAMS: Final = WireParams(
    owned=frozenset(
        {
            "model",
            "input",
            "instructions",
            "tools",
            "stream",
            "store",
            *CONTINUING["responses"],
        }
    ),
    open={
        **fields(
            "max_output_tokens",
            "max_tool_calls",
            "parallel_tool_calls",
            "temperature",
            "top_p",
        ),
        **fields("top_logprobs", "truncation"),
        "reasoning": fields("effort", "summary", "generate_summary"),
        "text": fields("format", "verbosity"),
        "tool_choice": fields("type", "name"),
    },
    source="https://platform.openai.com/docs/api-reference/responses/create",
)

RESPONSES_IDS: Final = Legal(PLAIN_CHARACTERS, 64)
"""``Invalid 'input[5].call_id': string too long. Expected a string with maximum length 64``
(https://github.com/decolua/9router/issues/393)."""


def target(wire: str, provider: str, model: str, thinking: str) -> Target:
    """The rules for a request to this model. ``thinking`` is the mode that the request's parameters ask for."""
    family = family_of(model)
    served_by = provider_named(provider)
    return Target(
        wire=wire,
        provider=provider,
        model=model,
        family=family,
        call_ids=RESPONSES_IDS,
        tool_names=OPENAI_NAMES,
        sealed_reasoning=family == "gpt" or not provider or served_by.openai_rules,
        item_ids=True,
    )
