"""What Chat accepts: the parameters it may be given, and what a request has to keep."""

from __future__ import annotations

import re
from typing import Final

from ullage.codec.rules import (
    LENIENT_IDS,
    OPENAI_NAMES,
    PLAIN_CHARACTERS,
    Legal,
    Target,
    WireParams,
    fields,
)
from ullage.models.providers import ProviderRow, provider_named
from ullage.reasoning import family_of

PARAMS: Final = WireParams(
    owned=frozenset({"model", "messages", "tools", "stream", "store"}),
    open={
        **fields(
            "max_tokens",
            "max_completion_tokens",
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "seed",
            "stop",
        ),
        **fields(
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "logit_bias",
            "logprobs",
        ),
        **fields(
            "top_logprobs",
            "response_format",
            "reasoning_effort",
            "verbosity",
            "parallel_tool_calls",
        ),
        "reasoning": fields("effort", "max_tokens", "exclude", "enabled"),
        "thinking": fields("type", "budget_tokens"),
        "chat_template_kwargs": fields("enable_thinking", "thinking"),
        "tool_choice": {**fields("type"), "function": fields("name")},
    },
    source="https://platform.openai.com/docs/api-reference/chat/create",
)

OPENAI_CHAT_IDS: Final = Legal(PLAIN_CHARACTERS, 40)
"""``Invalid 'messages[10].tool_calls[0].id': … maximum length 40`` (https://github.com/agno-agi/agno/issues/5382)."""

MISTRAL_IDS: Final = Legal(re.compile(r"[a-zA-Z0-9]+"), 9, 9)
"""``Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9``
(https://github.com/langchain-ai/langchain/pull/24668)."""


def target(wire: str, provider: str, model: str, thinking: str) -> Target:
    """The rules for a request to this model. ``thinking`` is the mode that the request's parameters ask for.

    The chat templates of some models (Gemma, Mistral) make an own server refuse messages that do not alternate:
    ``Conversation roles must alternate user/assistant`` (https://github.com/vllm-project/vllm/issues/6862). Which
    template a server applies can't be told from outside.
    """
    family = family_of(model)
    served_by = provider_named(provider)
    strict = family == "mistral" or served_by.mistral_rules
    return Target(
        wire=wire,
        provider=provider,
        model=model,
        family=family,
        call_ids=_chat_ids(served_by, family),
        tool_names=OPENAI_NAMES,
        reasoning_last=True,
        user_last=strict,
        alternates=strict or served_by.is_own_server,
        answer_after_tools=strict,
        answer_after_user=served_by.is_own_server,
        every_reasoning=(
            family in ("deepseek", "kimi")
            and served_by.takes_reasoning
            and thinking != "disabled"
        ),
        named_reasoning=True,
    )


def _chat_ids(served_by: ProviderRow, family: str) -> Legal:
    if family == "mistral" or served_by.mistral_rules:
        return MISTRAL_IDS
    if served_by.openai_rules or family in ("gpt", "claude"):
        return OPENAI_CHAT_IDS
    return LENIENT_IDS
