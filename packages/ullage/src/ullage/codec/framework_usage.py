"""Usage as agent frameworks and Bedrock hand it on, recognised by its shape.

A framework turns the provider's counts into an object of its own, whatever the wire. Nothing of a framework is imported
here: an object is told by the fields that only it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from ullage.codec.foreign import as_plain
from ullage.codec.rules import Dialect
from ullage.codec.wires import WIRES
from ullage.codec.wires.chat.reports import LITELLM
from ullage.usage import Usage

# UsageMetadata: input holds the cache and output the reasoning, for every provider. langchain-anthropic leaves
# cache_creation at zero where it lists the writes by lifetime; OpenAI's service tiers give the names a prefix.
LANGCHAIN: Final = Dialect(
    name="langchain",
    source="https://reference.langchain.com/python/langchain-core/messages/ai/UsageMetadata",
    input=("input_tokens",),
    output=("output_tokens",),
    total=("total_tokens",),
    cache_read=(
        "input_token_details.cache_read",
        "input_token_details.priority_cache_read",
        "input_token_details.flex_cache_read",
    ),
    cache_write=(
        "input_token_details.cache_creation",
        "input_token_details.priority_cache_creation",
        "input_token_details.flex_cache_creation",
    ),
    more_cache_write=(
        "input_token_details.ephemeral_5m_input_tokens",
        "input_token_details.ephemeral_1h_input_tokens",
    ),
    reasoning=(
        "output_token_details.reasoning",
        "output_token_details.priority_reasoning",
        "output_token_details.flex_reasoning",
    ),
)

# "This total includes cached tokens": RequestUsage. The object holds only the counts that are not zero.
PYDANTIC_AI: Final = Dialect(
    name="pydantic-ai",
    source="https://github.com/pydantic/pydantic-ai/blob/main/pydantic_ai_slim/pydantic_ai/usage.py",
    input=("input_tokens", "request_tokens"),
    output=("output_tokens", "response_tokens"),
    cache_read=("cache_read_tokens",),
    cache_write=("cache_write_tokens",),
    reasoning=(
        "output_reasoning_tokens",
        "details.reasoning_tokens",
        "details.thoughts_tokens",
    ),
)

# Usage sums what it lists; the last entry is the last call's.
OPENAI_AGENTS: Final = Dialect(
    name="openai-agents",
    source="https://openai.github.io/openai-agents-python/ref/usage/",
    input=("input_tokens",),
    output=("output_tokens",),
    total=("total_tokens",),
    cache_read=("input_tokens_details.cached_tokens",),
    cache_write=("input_tokens_details.cache_write_tokens",),
    reasoning=("output_tokens_details.reasoning_tokens",),
    passes="request_usage_entries",
)

# LlmResponse.usage_metadata is Google's own object on every wire. Its candidates hold the reasoning where LiteLLM made
# the counts, and leave it out where the Anthropic model did: the total tells.
GOOGLE_ADK: Final = Dialect(
    name="google-adk",
    source="https://github.com/google/adk-python/blob/main/src/google/adk/models/lite_llm.py",
    input=("prompt_token_count", "promptTokenCount"),
    output=("candidates_token_count", "candidatesTokenCount"),
    total=("total_token_count", "totalTokenCount"),
    cache_read=("cached_content_token_count", "cachedContentTokenCount"),
    cache_write=("cache_creation_input_tokens",),
    reasoning=("thoughts_token_count", "thoughtsTokenCount"),
    passing_input=("tool_use_prompt_token_count", "toolUsePromptTokenCount"),
    thinking="detect",
)

# inputTokens leaves the cache out; totalTokens holds it (recorded: 433 + 2,752 read + 16 out = 3,201 total).
BEDROCK: Final = Dialect(
    name="bedrock",
    source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html",
    input=("inputTokens",),
    output=("outputTokens",),
    total=("totalTokens",),
    cache_read=("cacheReadInputTokens", "cacheReadInputTokenCount"),
    cache_write=("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
    cache="outside",
    n=223,
)

# The input holds the cache, and the output the reasoning but for Google's models in version 5: the total tells.
AI_SDK: Final = Dialect(
    name="ai-sdk",
    source="https://github.com/vercel/ai/blob/main/packages/ai/src/types/usage.ts",
    input=("inputTokens",),
    output=("outputTokens",),
    total=("totalTokens",),
    cache_read=("inputTokenDetails.cacheReadTokens", "cachedInputTokens"),
    cache_write=("inputTokenDetails.cacheWriteTokens",),
    reasoning=("outputTokenDetails.reasoningTokens", "reasoningTokens"),
    thinking="detect",
)

# Version 5 passes the input of Anthropic and of Bedrock on as it came, without the cache.
AI_SDK_5_CLAUDE: Final = replace(
    AI_SDK,
    name="ai-sdk-5-claude",
    source="https://github.com/vercel/ai/blob/release-v5.0/packages/anthropic/src/anthropic-messages-language-model.ts",
    reasoning=(),
    cache="outside",
    thinking="inside",
)

# The input is what came from no cache, the total holds everything.
DEXTO: Final = replace(
    AI_SDK,
    name="dexto",
    source="https://github.com/truffle-ai/dexto/blob/main/packages/core/src/llm/executor/stream-processor.ts",
    cache_read=("cacheReadTokens",),
    cache_write=("cacheWriteTokens",),
    cache="outside",
)

FRAMEWORKS: Final = (
    LANGCHAIN,
    PYDANTIC_AI,
    OPENAI_AGENTS,
    GOOGLE_ADK,
    AI_SDK,
    AI_SDK_5_CLAUDE,
    DEXTO,
)

SEVERAL_CALLS: Final = "input:of_several_calls"
"""The flag of a usage that is the sum of calls which it does not list."""

_HOLDERS: Final = (
    "usage_metadata",
    "usageMetadata",
    "usage",
    "token_usage",
    "tokenUsage",
)
"""Where an answer has its usage: SDKs and frameworks."""

_CONTEXT_INPUT: Final = ("context_input_tokens", "initial_input_tokens")
"""The tokens in the window of pydantic-ai's call: its name, and that of 2.56."""

_GOOGLE_NATIVE: Final = tuple(row.name for row in WIRES["generateContent"].dialects)
_RESPONSES_NATIVE: Final = tuple(row.name for row in WIRES["responses"].dialects)
_MESSAGES_NATIVE: Final = tuple(row.name for row in WIRES["messages"].dialects)
_OWN_COUNTS: Final = ("prompt_tokens", "cache_read_input_tokens")
"""Fields beside which ``input_tokens`` is the provider's own."""


def framework_dialect(native: str, fields: Mapping[str, Any]) -> str:
    """The dialect of a framework's object on a wire whose own dialect is ``native``; ``native`` if it is none."""
    if "input_token_details" in fields or "output_token_details" in fields:
        return LANGCHAIN.name
    if "request_usage_entries" in fields:
        return OPENAI_AGENTS.name
    if "inputTokens" in fields:
        return _camel_case_dialect(native, fields)
    if _is_pydantic_ai(fields):
        return PYDANTIC_AI.name
    if "prompt_token_count" in fields or "promptTokenCount" in fields:
        return native if native in _GOOGLE_NATIVE else GOOGLE_ADK.name
    if native in _RESPONSES_NATIVE:
        return LITELLM.name if "prompt_tokens" in fields else native
    if any(name in fields for name in _OWN_COUNTS):
        is_other_wire = native in (*_MESSAGES_NATIVE, *_GOOGLE_NATIVE)
        is_chat = is_other_wire and "prompt_tokens" in fields
        return LITELLM.name if is_chat else native
    if "input_tokens" in fields and "total_tokens" in fields:
        is_listed = "input_tokens_details" in fields
        return OPENAI_AGENTS.name if is_listed else LANGCHAIN.name
    return native


def _camel_case_dialect(native: str, fields: Mapping[str, Any]) -> str:
    if "inputTokenDetails" in fields:
        return AI_SDK.name
    if "cachedInputTokens" in fields:
        is_claude = native in (*_MESSAGES_NATIVE, BEDROCK.name)
        return AI_SDK_5_CLAUDE.name if is_claude else AI_SDK.name
    if "cacheReadTokens" in fields or "cacheWriteTokens" in fields:
        return DEXTO.name
    is_bedrock = any(name in fields for name in BEDROCK.cache_read)
    return BEDROCK.name if is_bedrock or native == BEDROCK.name else AI_SDK.name


def _is_pydantic_ai(fields: Mapping[str, Any]) -> bool:
    if "cache_read_tokens" in fields or "output_reasoning_tokens" in fields:
        return True
    return isinstance(fields.get("details"), Mapping) and "total_tokens" not in fields


def usage_inside(raw: object) -> object:
    """The usage inside an answer of an SDK or framework; anything else as it is."""
    named = _value_of(raw, _HOLDERS)
    if named is None:
        metadata = _value_of(raw, ("response_metadata",))
        named = None if metadata is None else _value_of(metadata, _HOLDERS)
    return raw if named is None else named


def is_function(value: object) -> bool:
    """Whether it is a function or method: objects of pydantic-ai can be called too, and have fields."""
    return callable(value) and not getattr(value, "__dict__", None)


def _value_of(raw: object, names: tuple[str, ...]) -> object | None:
    """The first field of these names that holds an object."""
    for name in names:
        fields = raw if isinstance(raw, Mapping) else {}
        found: object = fields.get(name) or getattr(raw, name, None)
        is_plain = isinstance(found, str | bytes | int | float | list | tuple)
        if found is not None and not is_plain and not is_function(found):
            return found
    return None


def usage_fields(raw: object) -> dict[str, Any] | None:
    """The fields of a usage object or dict; ``None`` for what has none."""
    plain = as_plain(raw)
    if not isinstance(plain, dict):
        return None
    written = getattr(raw, "cache_creation_input_tokens", None)
    if written is not None:  # ADK sets it beside the model's fields, which no dump shows
        plain.setdefault("cache_creation_input_tokens", written)
    return plain


def without_sums(usage: Usage, fields: Mapping[str, Any]) -> Usage:
    """The usage, without counts that are the sum of several calls which the object does not list."""
    requests = fields.get("requests")
    is_sum = isinstance(requests, int) and requests > 1
    if not is_sum or fields.get("request_usage_entries"):
        return usage
    return msgspec.structs.replace(
        usage,
        input=None,
        output=None,
        cache_read=None,
        cache_write=None,
        reasoning=None,
        flags=(*usage.flags, SEVERAL_CALLS),
    )


def with_context(usage: Usage, answer: object) -> Usage:
    """The usage, with what pydantic-ai's answer says of the window where its usage sums several passes.

    Google's long decodes and the rounds of Anthropic's server tools are such sums: ``context_input_tokens``
    (``_context_size.py`` of pydantic-ai-slim 2.68).
    """
    metadata = _value_of(answer, ("metadata",))
    marks = None if metadata is None else _value_of(metadata, ("__pydantic_ai__",))
    if not isinstance(marks, Mapping):
        return usage
    for name in _CONTEXT_INPUT:
        tokens = marks.get(name)
        if not isinstance(tokens, int) or isinstance(tokens, bool):
            continue
        if 0 <= tokens < (usage.input or 0):
            return msgspec.structs.replace(usage, context_input=tokens)
    return usage
