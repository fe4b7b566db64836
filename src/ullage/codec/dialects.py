"""How each provider, gateway and agent reports usage: which field is what, and what it includes.

One row a dialect. A field is a tuple of alternatives, the first one present wins; ``a.b`` is a nested field. Each row
names the public page its convention was checked against; ``n`` is the number of recorded calls it was tried on, where
there were any.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ullage.models.providers import provider_named

Path = tuple[str, ...]

CacheIs = Literal["inside", "outside"]
"""Whether the input field already includes cache reads and writes."""
ReasoningIs = Literal["inside", "outside", "detect", "remainder"]
"""Whether the output field already includes reasoning.

``detect`` reads it from the object: outside when total = input + output + reasoning, or when reasoning > output; inside
otherwise. ``remainder``: reasoning is not reported at all, but is in the total: what the total holds beyond input and
output is reasoning.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way of reporting usage."""

    name: str
    source: str
    input: Path
    output: Path
    total: Path = ()
    cache_read: Path = ()
    cache_write: Path = ()
    reasoning: Path = ()
    more_input: Path = ()
    """Prompt tokens reported in a field of their own, to be added to the input."""
    passing_input: Path = ()
    """The same, where they are gone from the window after the call."""
    cache: CacheIs
    thinking: ReasoningIs
    omits_zero: bool = False
    """True when a field that is zero is left out of the object (protobuf JSON)."""
    n: int = 0


_CHAT_CACHE_READ = (
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "prompt_token_details.cached_tokens",
    "cached_tokens",
)

# https://platform.openai.com/docs/api-reference/chat/object : cached_tokens and reasoning_tokens are breakdowns of
# prompt_tokens and completion_tokens. Servers that speak this wire keep its meaning, with the exceptions below.
OPENAI_CHAT = Dialect(
    name="openai-chat",
    source="https://platform.openai.com/docs/api-reference/chat/object",
    input=("prompt_tokens", "input_tokens"),
    output=("completion_tokens", "output_tokens"),
    total=("total_tokens",),
    cache_read=_CHAT_CACHE_READ,
    cache_write=("prompt_tokens_details.cache_write_tokens",),
    reasoning=("completion_tokens_details.reasoning_tokens", "completion_token_details.reasoning_tokens"),
    cache="inside",
    thinking="detect",
    n=1076,
)

# https://platform.openai.com/docs/api-reference/responses/object ; reasoning of o-series and gpt-5 is floored to a
# multiple of 64, which this table can't see: the hidden part is then output minus what is visible.
OPENAI_RESPONSES = Dialect(
    name="openai-responses",
    source="https://platform.openai.com/docs/api-reference/responses/object",
    input=("input_tokens",),
    output=("output_tokens",),
    total=("total_tokens",),
    cache_read=("input_tokens_details.cached_tokens",),
    cache_write=("input_tokens_details.cache_write_tokens",),
    reasoning=("output_tokens_details.reasoning_tokens",),
    cache="inside",
    thinking="detect",
    n=340,
)

# "Total input tokens in a request is the summation of input_tokens, cache_creation_input_tokens, and
# cache_read_input_tokens"; output_tokens "remains the inclusive, authoritative total", thinking_tokens breaks it down.
ANTHROPIC = Dialect(
    name="anthropic",
    source="https://platform.claude.com/docs/en/api/messages",
    input=("input_tokens",),
    output=("output_tokens",),
    cache_read=("cache_read_input_tokens",),
    cache_write=("cache_creation_input_tokens",),
    reasoning=("output_tokens_details.thinking_tokens",),
    cache="outside",
    thinking="inside",
    n=767,
)

# inputTokens leaves the cache out; totalTokens holds it (recorded: 433 + 2,752 read + 16 out = 3,201 total).
BEDROCK = Dialect(
    name="bedrock",
    source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html",
    input=("inputTokens",),
    output=("outputTokens",),
    total=("totalTokens",),
    cache_read=("cacheReadInputTokens", "cacheReadInputTokenCount"),
    cache_write=("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
    cache="outside",
    thinking="inside",
    n=223,
)

# promptTokenCount "is still the total effective prompt size" with cached content; thoughts and tool-use prompt stand
# beside it, and the total is the sum of all four. Tool-use tokens (results of Google's own tools) are billed with the
# call and are not in the prompt of the next one (n=5 recorded pairs).
GEMINI = Dialect(
    name="gemini",
    source="https://ai.google.dev/api/generate-content#UsageMetadata",
    input=("promptTokenCount", "prompt_token_count"),
    output=("candidatesTokenCount", "candidates_token_count", "responseTokenCount"),
    total=("totalTokenCount", "total_token_count"),
    cache_read=("cachedContentTokenCount", "cached_content_token_count"),
    reasoning=("thoughtsTokenCount", "thoughts_token_count"),
    passing_input=("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
    cache="inside",
    thinking="outside",
    omits_zero=True,
    n=368,
)

VERTEX = replace(
    GEMINI,
    name="vertex",
    source="https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse",
    n=156,
)

# Google's OpenAI-compatible endpoint reports no reasoning, and its total includes it:
# https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760
GEMINI_CHAT = replace(
    OPENAI_CHAT,
    name="gemini-chat",
    source="https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760",
    cache_read=(),
    cache_write=(),
    reasoning=(),
    thinking="remainder",
    n=2,
)

# Gemini behind a gateway that copies candidates into completion_tokens and thoughts into its details: most of the 16
# recorded calls report more reasoning than completion. Other vendors behind the same gateway report it inside (n=29).
GATEWAY_GEMINI = replace(
    OPENAI_CHAT,
    name="gateway-gemini",
    source="https://vercel.com/docs/ai-gateway/openai-compat",
    cache_write=("prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
    thinking="outside",
    n=16,
)

GATEWAY = replace(
    OPENAI_CHAT,
    name="gateway",
    source="https://vercel.com/docs/ai-gateway/openai-compat",
    cache_write=("prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
    n=29,
)

# https://openrouter.ai/docs/use-cases/usage-accounting : counts by the model's own tokenizer, cache writes inside.
OPENROUTER = replace(
    OPENAI_CHAT,
    name="openrouter",
    source="https://openrouter.ai/docs/use-cases/usage-accounting",
    n=70,
)

# https://api-docs.deepseek.com/api/create-chat-completion : prompt_tokens = hit + miss.
DEEPSEEK = replace(
    OPENAI_CHAT,
    name="deepseek",
    source="https://api-docs.deepseek.com/api/create-chat-completion",
    cache_read=("prompt_cache_hit_tokens", *_CHAT_CACHE_READ),
    n=12,
)

# "The reasoning token count is outputted in the reasoning_tokens field, separated from the completion_tokens":
# https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning
XAI = replace(
    OPENAI_CHAT,
    name="xai",
    source="https://docs.x.ai/developers/advanced-api-usage/prompt-caching/usage-and-pricing",
    thinking="outside",
    n=20,
)

# On the Responses wire xAI counts reasoning inside output_tokens (17 of 17 recorded totals).
XAI_RESPONSES = replace(
    OPENAI_RESPONSES,
    name="xai-responses",
    source="https://docs.x.ai/developers/advanced-api-usage/prompt-caching/usage-and-pricing",
    n=17,
)

XAI_GRPC = Dialect(
    name="xai-grpc",
    source="https://github.com/xai-org/xai-proto",
    input=("prompt_tokens",),
    output=("completion_tokens",),
    total=("total_tokens",),
    cache_read=("cached_prompt_text_tokens",),
    reasoning=("reasoning_tokens",),
    cache="inside",
    thinking="outside",
    omits_zero=True,
    n=59,
)

# Thinking is part of completion_tokens and not told apart.
MISTRAL = replace(
    OPENAI_CHAT,
    name="mistral",
    source="https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching",
    cache_read=(*_CHAT_CACHE_READ, "num_cached_tokens"),
    reasoning=(),
    n=83,
)

# https://console.groq.com/docs/prompt-caching : prompt_tokens counts cached and fresh tokens.
GROQ = replace(OPENAI_CHAT, name="groq", source="https://console.groq.com/docs/prompt-caching", n=90)

# ``tokens`` is what the model processed, ``billed_units`` leaves out Cohere's own template: the window holds the first.
# image_tokens stand beside the text (recorded: 34 text with 259 image tokens, of which 267 billed).
COHERE = Dialect(
    name="cohere",
    source="https://docs.cohere.com/v2/docs/how-does-cohere-pricing-work",
    input=("tokens.input_tokens",),
    output=("tokens.output_tokens",),
    cache_read=("cached_tokens",),
    reasoning=("tokens.reasoning_tokens",),
    more_input=("tokens.image_tokens",),
    cache="inside",
    thinking="inside",
    n=23,
)

# prompt_eval_count is the whole prompt, cached part included; thinking is part of eval_count and not told apart.
OLLAMA = Dialect(
    name="ollama",
    source="https://docs.ollama.com/api/usage",
    input=("prompt_eval_count",),
    output=("eval_count",),
    cache_read=("prompt_eval_cached_count",),
    cache="inside",
    thinking="inside",
    n=8,
)

# LiteLLM adds Anthropic's cache fields to prompt_tokens and repeats them beside it.
LITELLM = replace(
    OPENAI_CHAT,
    name="litellm",
    source="https://docs.litellm.ai/docs/completion/prompt_caching",
    cache_read=(*_CHAT_CACHE_READ, "cache_read_input_tokens"),
    cache_write=("prompt_tokens_details.cache_creation_tokens", "cache_creation_input_tokens"),
    n=5,
)

PI = Dialect(
    name="pi",
    source="https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/types.ts",
    input=("input",),
    output=("output",),
    total=("totalTokens",),
    cache_read=("cacheRead",),
    cache_write=("cacheWrite",),
    reasoning=("reasoning", "reasoningTokens"),
    cache="outside",
    thinking="inside",
    n=444,
)

CODEX = Dialect(
    name="codex",
    source="https://github.com/openai/codex/blob/main/codex-rs/protocol/src/protocol.rs",
    input=("input_tokens",),
    output=("output_tokens",),
    total=("total_tokens",),
    cache_read=("cached_input_tokens",),
    reasoning=("reasoning_output_tokens",),
    cache="inside",
    thinking="inside",
)

GEMINI_CLI = Dialect(
    name="gemini-cli",
    source="https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingService.ts",
    input=("input",),
    output=("output",),
    total=("total",),
    cache_read=("cached",),
    reasoning=("thoughts",),
    passing_input=("tool",),
    cache="inside",
    thinking="outside",
)

# Five disjoint buckets: input without cache, output without reasoning.
OPENCODE = Dialect(
    name="opencode",
    source="https://github.com/anomalyco/opencode/blob/dev/packages/core/src/session/usage.ts",
    input=("input",),
    output=("output",),
    total=("total",),
    cache_read=("cache.read",),
    cache_write=("cache.write",),
    reasoning=("reasoning",),
    cache="outside",
    thinking="outside",
)

# The first storage format wrote the model library's output as it came: with reasoning for most providers, without for
# some. The object tells them apart only through ``total``.
OPENCODE_V1 = replace(
    OPENCODE,
    name="opencode-v1",
    source="https://github.com/anomalyco/opencode/blob/v1.0.0/packages/opencode/src/session/index.ts",
    thinking="detect",
)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        ANTHROPIC,
        BEDROCK,
        OPENAI_CHAT,
        OPENAI_RESPONSES,
        GEMINI,
        VERTEX,
        GEMINI_CHAT,
        GATEWAY_GEMINI,
        GATEWAY,
        OPENROUTER,
        DEEPSEEK,
        XAI,
        XAI_RESPONSES,
        XAI_GRPC,
        MISTRAL,
        GROQ,
        COHERE,
        OLLAMA,
        LITELLM,
        PI,
        CODEX,
        GEMINI_CLI,
        OPENCODE,
        OPENCODE_V1,
    )
}

UNKNOWN = "unknown"

_BY_WIRE = {
    "chat": "openai-chat",
    "chat(litellm)": "litellm",
    "messages": "anthropic",
    "converse": "bedrock",
    "responses": "openai-responses",
    "generateContent": "gemini",
    "ollama": "ollama",
    "cohere": "cohere",
    "cohere-v2": "cohere",
    "xai-grpc": "xai-grpc",
}


def dialect_for(wire: str, provider: str = "", model: str = "") -> str:
    """The name of the dialect that ``provider`` speaks on ``wire``; ``unknown`` when no row is known for it.

    A server that speaks OpenAI's chat wire is taken at its word whoever it is. ``model`` matters only behind gateways
    that pass several vendors' counts through.
    """
    own = provider_named(provider).dialects.get(wire, "")
    if own == GATEWAY.name and "gemini" in model.lower():
        return GATEWAY_GEMINI.name
    if own or wire in DIALECTS:
        return own or wire
    return _BY_WIRE.get(wire, UNKNOWN)
