"""What Messages accepts: the parameters it may be given, and what a request has to keep."""

from __future__ import annotations

import re
from typing import Final

from ullage.codec.held import CONTINUING
from ullage.codec.rules import PLAIN_CHARACTERS, Legal, Target, WireParams, fields
from ullage.models.binding import SYSTEM_MESSAGES, takes_claude_fields
from ullage.models.providers import provider_named
from ullage.reasoning import family_of

PARAMS: Final = WireParams(
    owned=frozenset(
        {"model", "messages", "system", "tools", "stream", *CONTINUING["messages"]}
    ),
    open={
        **fields("max_tokens", "temperature", "top_p", "top_k", "stop_sequences"),
        "thinking": fields("type", "budget_tokens", "display", "block_binding"),
        "output_config": fields("effort", "format"),
        "tool_choice": fields("type", "name", "disable_parallel_tool_use"),
    },
    source="https://platform.claude.com/docs/en/api/messages",
)

ANTHROPIC_IDS: Final = Legal(PLAIN_CHARACTERS, 64)
"""``tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`` (https://github.com/langchain-ai/langchain/pull/37756);
64 is Bedrock's limit (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html)."""

ANTHROPIC_NAMES: Final = Legal(PLAIN_CHARACTERS, 128)
"""https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use: ``^[a-zA-Z0-9_-]{1,128}$``."""

NO_PREFILL: Final = re.compile(
    r"(opus|sonnet)-4[-.][6-9]|(opus|sonnet|haiku)-[5-9]|fable|mythos"
)
"""``This model does not support assistant message prefill. The conversation must end with a user message.`` From 4.6 on
(https://github.com/langchain-ai/deepagents/issues/1585)."""


def target(wire: str, provider: str, model: str, thinking: str) -> Target:
    """The rules for a request to this model. ``thinking`` is the mode that the request's parameters ask for."""
    family = family_of(model)
    served_by = provider_named(provider)
    ends = thinking in ("enabled", "adaptive") or NO_PREFILL.search(model) is not None
    return Target(
        wire=wire,
        provider=provider,
        model=model,
        family=family,
        call_ids=ANTHROPIC_IDS,
        tool_names=ANTHROPIC_NAMES,
        blank_text=False,
        user_first=True,
        user_last=ends,
        alternates=ends,
        space_at_end=False,
        signed_thinking=family == "claude" or not provider or served_by.reads_claude,
        thinking_from_begin=True,
        system_messages=family == "claude"
        and takes_claude_fields(provider)
        and SYSTEM_MESSAGES.search(model) is not None,
    )
