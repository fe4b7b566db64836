"""How servers of Chat report usage, and how they say that a request is too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ullage.codec.rules import Dialect, Wording, wordings

_VALS: Final = "vals-ai/model-library (tests: messages collected from the providers)"
_PI: Final = "badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts"

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
    reasoning=(
        "completion_tokens_details.reasoning_tokens",
        "completion_token_details.reasoning_tokens",
    ),
    thinking="detect",
    n=1076,
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
    cache_write=(
        "prompt_tokens_details.cache_write_tokens",
        "cache_creation_input_tokens",
    ),
    thinking="outside",
    n=16,
)

GATEWAY = replace(
    OPENAI_CHAT,
    name="gateway",
    source="https://vercel.com/docs/ai-gateway/openai-compat",
    cache_write=(
        "prompt_tokens_details.cache_write_tokens",
        "cache_creation_input_tokens",
    ),
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
GROQ = replace(
    OPENAI_CHAT, name="groq", source="https://console.groq.com/docs/prompt-caching", n=90
)

# LiteLLM adds Anthropic's cache fields to prompt_tokens and repeats them beside it.
LITELLM = replace(
    OPENAI_CHAT,
    name="litellm",
    source="https://docs.litellm.ai/docs/completion/prompt_caching",
    cache_read=(*_CHAT_CACHE_READ, "cache_read_input_tokens"),
    cache_write=(
        "prompt_tokens_details.cache_creation_tokens",
        "cache_creation_input_tokens",
    ),
    n=5,
)

DIALECTS: Final = (
    OPENAI_CHAT,
    GEMINI_CHAT,
    GATEWAY_GEMINI,
    GATEWAY,
    OPENROUTER,
    DEEPSEEK,
    XAI,
    MISTRAL,
    GROQ,
    LITELLM,
)
"""The first is the one of a server of which nothing else is known."""

WORDINGS: Final[tuple[Wording, ...]] = (
    *wordings(
        {
            r"maximum prompt length is {limit} but the request contains {count} tokens": "cline/cline/issues/3120",
            r"prompt token count of {count} exceeds the limit of {limit}": "opencode-ai/opencode/issues/305",
            r"range of input length should be \[1, {limit}\]": "QwenLM/qwen-code/issues/98",
            r"input length {count} exceeds the maximum allowed input length of {limit}": _VALS,
            r"input length \({count} tokens\) exceeds the maximum allowed length"
            r" \({limit} tokens\)": "sgl-project/sglang/issues/4048",
        },
        input_alone=True,
    ),
    *wordings(
        {
            r"at most {most} image\(s\) may be provided": "vllm-project/vllm/issues/17092",
        },
        in_images=True,
    ),
    *wordings(
        {
            r"maximum context length is {limit} tokens\.? however, your messages"
            r" resulted in {count} tokens": "microsoft/kernel-memory/issues/516",
            r"maximum context length is {limit} tokens\.? however, you requested {total} ?tokens"
            r" \([^)]*? in the messages,.*?{output} in the completion\)": "Azure/azure-sdk-for-net/issues/41892",
            r"maximum context length is {limit} tokens, however you requested {total} tokens"
            r" \({count} in your prompt; {output} for the completion\)": "fierceX/Document_QA/issues/3",
            r"maximum context length is {limit} tokens\. however, you requested about {total} tokens"
            r" \([^)]*?{output} in the output\)": "Aider-AI/aider/issues/3721",
            r"maximum context length is {limit} tokens\. however, you requested"
            r" about {count} tokens": "refly-ai/refly/issues/1177",
            r"maximum context length is {limit} tokens\. however, you requested {output} output tokens"
            r" and your prompt contains at least {count} input tokens": "AIDotNet/OpenCowork/issues/82",
            r"maximum context length is {limit} tokens\. however, your request has"
            r" {count} input tokens plus {output} ": "vllm-project/vllm/pull/33425",
            r"maximum context length is {limit} tokens\. however, your request has"
            r" {count} input tokens": "vllm-project/vllm/pull/33425",
            r"is too large: {output}\. this model's maximum context length is {limit} tokens"
            r" and your request has {count} input"
            r" tokens": "canfieldjuan/finetunelab.ai/blob/main/docs/MAX_TOKENS_CONTEXT_OVERFLOW_FIX.md",
            r"prompt \(total length {count}\) is too long to fit into the model"
            r" \(context length {limit}\)": "vllm-project/vllm/issues/12165",
            r"max_tokens must be at least 1, got -\d": "vllm-project/vllm/issues/4667",
            r"reduce the length of the messages or completion\. current length is"
            r" {count} while limit is {limit}": "cline/cline/issues/5140",
            r"please reduce the length of the messages or completion": "letta-ai/letta/issues/1963",
            r"prompt contains {count} tokens.{0,40}? too large for model with {limit} maximum context length": _VALS,
            r"prompt {count} > {limit} maximum context length": _VALS,
            r"`inputs` tokens \+ `max_new_tokens` must be <= {limit}\. given:"
            r" {count} `inputs` tokens and {output}": "BerriAI/litellm/issues/4934",
            r"prompt is too long: {count}, model maximum context length: {limit}": "fw-ai/cookbook/issues/134",
            r"exceeded model token limit: {limit}(?: \(re ?quested: {count}\))?": "MoonshotAI/kimi-cli/issues/2011",
            r"model_max_prompt_tokens_exceeded": "microsoft/vscode/issues/289219",
            r"context window exceeds limit": "MiniMax-AI/MiniMax-M2/issues/119",
            r"prompt exceeds max length": "zeroclaw-labs/zeroclaw/issues/4124",
            r"tokens in request more than max tokens allowed": "NousResearch/hermes-agent/pull/61728",
            r"request \({count} tokens\) exceeds the available context size"
            r" \({limit} tokens\)": "ggml-org/llama.cpp/issues/17284",
            r"exceeds the available context size": "ggml-org/llama.cpp/pull/15780",
            r"requested tokens \({count}\) exceed context window of"
            r" {limit}": "fedora-copr/logdetective-website/pull/193",
            r"greater than the context length(?: \(n_keep: {count} ?>= n_ctx:"
            r" {limit}\))?": "Gitlawb/openclaude/issues/353",
            r"keep the first {count} tokens when context the overflows\."
            r" however, the model is loaded with context length of only {limit} tokens": "cline/cline/issues/3664",
            r"prompt too long; exceeded (?:max )?context length": _PI,
            r"input length exceeds the context length": _PI,
            r"input \({count} tokens\) is longer than the model's context length"
            r" \({limit} tokens\)": "QwenLM/Qwen3/issues/1321",
            r"prompt exceeds maximum context length": "ddalcu/mlx-serve/issues/66",
            r"prompt size exceeds the context window size": "nomic-ai/gpt4all/issues/664",
        },
    ),
)
