"""What a wire and the model behind it accept: one row of rules for each kind of target.

The validator reads its rules here and knows no provider by name itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ullage.messages import Request
from ullage.models.providers import Provider, provider_named
from ullage.reasoning import family_of


@dataclass(frozen=True, slots=True)
class Legal:
    """Which names may stand on a wire: the characters, and the longest and shortest length."""

    pattern: re.Pattern[str]
    longest: int
    shortest: int = 1

    def allows(self, name: str) -> bool:
        return self.shortest <= len(name) <= self.longest and self.pattern.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The rules for one request.

    ``call_ids`` and ``tool_names`` say what may stand there; ``empty_ids`` that a call may go without one.
    ``blank_text`` is whether text of white space alone is taken. ``user_first``, ``user_last`` and ``alternates`` ask
    for user messages at the begin, at the end and between two answers; ``answer_after_tools`` for an answer between a
    tool's result and a user message; ``space_at_end`` is whether an answer that is to be continued may end with white
    space. ``signed_thinking`` refuses thinking without its signature, ``sealed_reasoning``
    reasoning without its encrypted content; ``reasoning_last`` is whether an answer may end with reasoning,
    ``item_ids`` whether items are named and refused without the reasoning before them. ``signed_calls`` asks for a
    signature on the first call of each step, ``every_reasoning`` for reasoning in each answer.
    """

    wire: str
    provider: str
    model: str
    family: str
    call_ids: Legal
    tool_names: Legal
    empty_ids: bool = False
    blank_text: bool = True
    user_first: bool = False
    user_last: bool = False
    alternates: bool = False
    answer_after_tools: bool = False
    space_at_end: bool = True
    signed_thinking: bool = False
    sealed_reasoning: bool = False
    reasoning_last: bool = False
    item_ids: bool = False
    signed_calls: bool = False
    every_reasoning: bool = False


_PLAIN: Final = re.compile(r"[a-zA-Z0-9_-]+")
_PRINTABLE: Final = re.compile(r"[!-~]+")

ANTHROPIC_IDS: Final = Legal(_PLAIN, 64)
"""``tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`` (https://github.com/langchain-ai/langchain/pull/37756);
64 is Bedrock's limit (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html)."""

RESPONSES_IDS: Final = Legal(_PLAIN, 64)
"""``Invalid 'input[5].call_id': string too long. Expected a string with maximum length 64``
(https://github.com/decolua/9router/issues/393)."""

OPENAI_CHAT_IDS: Final = Legal(_PLAIN, 40)
"""``Invalid 'messages[10].tool_calls[0].id': … maximum length 40`` (https://github.com/agno-agi/agno/issues/5382)."""

MISTRAL_IDS: Final = Legal(re.compile(r"[a-zA-Z0-9]+"), 9, 9)
"""``Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9``
(https://github.com/langchain-ai/langchain/pull/24668)."""

LENIENT_IDS: Final = Legal(_PRINTABLE, 64)
"""Servers that hand out ids such as Kimi's ``functions.read:0`` and want them back."""

OPENAI_NAMES: Final = Legal(_PLAIN, 64)
"""https://platform.openai.com/docs/api-reference/chat/create, ``tools[].function.name``."""

ANTHROPIC_NAMES: Final = Legal(_PLAIN, 128)
"""https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use: ``^[a-zA-Z0-9_-]{1,128}$``."""

GEMINI_NAMES: Final = Legal(re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*"), 64)
"""https://ai.google.dev/api/caching#FunctionDeclaration."""

NO_PREFILL: Final = re.compile(r"(opus|sonnet)-4[-.][6-9]|(opus|sonnet|haiku)-[5-9]|fable|mythos")
"""``This model does not support assistant message prefill. The conversation must end with a user message.`` From 4.6 on
(https://github.com/langchain-ai/deepagents/issues/1585)."""

_SIGNED_GEMINI: Final = re.compile(r"gemini-([3-9]|\d\d|(flash|pro)(-lite)?-latest)")
"""Gemini 3 and later: https://ai.google.dev/gemini-api/docs/thought-signatures."""


def target_of(request: Request) -> Target:
    """The rules that this request has to keep."""
    thinking = request.params.get("thinking")
    mode = thinking.get("type") if isinstance(thinking, Mapping) else None
    return _target(request.wire, request.provider, request.model, mode if isinstance(mode, str) else "")


@lru_cache(maxsize=256)
def _target(wire: str, provider: str, model: str, thinking: str) -> Target:
    family = family_of(model)
    served_by = provider_named(provider)
    match wire:
        case "messages":
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
            )
        case "responses":
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
        case "generateContent":
            return Target(
                wire=wire,
                provider=provider,
                model=model,
                family=family,
                call_ids=LENIENT_IDS,
                tool_names=GEMINI_NAMES,
                empty_ids=True,
                user_first=True,
                user_last=True,
                alternates=True,
                reasoning_last=True,
                signed_calls=_SIGNED_GEMINI.search(model) is not None,
            )
        case _:
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
                alternates=strict,
                answer_after_tools=strict,
                every_reasoning=(
                    family in ("deepseek", "kimi") and served_by.takes_reasoning and thinking != "disabled"
                ),
            )


def _chat_ids(served_by: Provider, family: str) -> Legal:
    if family == "mistral" or served_by.mistral_rules:
        return MISTRAL_IDS
    if served_by.openai_rules or family in ("gpt", "claude"):
        return OPENAI_CHAT_IDS
    return LENIENT_IDS
