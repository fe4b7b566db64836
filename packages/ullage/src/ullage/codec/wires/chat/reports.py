"""How servers of Chat report usage, and how they say that a request is too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ullage.codec.rules import Dialect, Wording

_GH: Final = "https://github.com/"
_VALS: Final = (
    _GH + "vals-ai/model-library (tests: messages collected from the providers)"
)
_PI: Final = _GH + "badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts"

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
    cache="inside",
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

WORDINGS: Final = (
    Wording(
        "openai",
        r"maximum context length is {limit} tokens\.? however, your messages resulted in {count} tokens",
        _GH + "microsoft/kernel-memory/issues/516",
    ),
    Wording(
        "azure",
        r"maximum context length is {limit} tokens\.? however, you requested {total} ?tokens"
        r" \([^)]*? in the messages,.*?{output} in the completion\)",
        _GH + "Azure/azure-sdk-for-net/issues/41892",
    ),
    Wording(
        "openai",
        r"maximum context length is {limit} tokens, however you requested {total} tokens"
        r" \({count} in your prompt; {output} for the completion\)",
        _GH + "fierceX/Document_QA/issues/3",
    ),
    Wording(
        "openrouter",
        r"maximum context length is {limit} tokens\. however, you requested about {total} tokens"
        r" \([^)]*?{output} in the output\)",
        _GH + "Aider-AI/aider/issues/3721",
    ),
    Wording(
        "openrouter",
        r"maximum context length is {limit} tokens\. however, you requested about {count} tokens",
        _GH + "refly-ai/refly/issues/1177",
    ),
    Wording(
        "vllm",
        r"maximum context length is {limit} tokens\. however, you requested {output} output tokens"
        r" and your prompt contains at least {count} input tokens",
        _GH + "AIDotNet/OpenCowork/issues/82",
    ),
    Wording(
        "vllm",
        r"maximum context length is {limit} tokens\. however, your request has {count} input tokens plus {output} ",
        _GH + "vllm-project/vllm/pull/33425",
    ),
    Wording(
        "vllm",
        r"maximum context length is {limit} tokens\. however, your request has {count} input tokens",
        _GH + "vllm-project/vllm/pull/33425",
    ),
    Wording(
        "vllm",
        r"is too large: {output}\. this model's maximum context length is {limit} tokens"
        r" and your request has {count} input tokens",
        _GH
        + "canfieldjuan/finetunelab.ai/blob/main/docs/MAX_TOKENS_CONTEXT_OVERFLOW_FIX.md",
    ),
    Wording(
        "vllm",
        r"prompt \(total length {count}\) is too long to fit into the model \(context length {limit}\)",
        _GH + "vllm-project/vllm/issues/12165",
    ),
    # What is left for the output, when the prompt alone is longer than the window.
    Wording(
        "vllm",
        r"max_tokens must be at least 1, got -\d",
        _GH + "vllm-project/vllm/issues/4667",
    ),
    # Others with an API of their own
    Wording(
        "xai",
        r"maximum prompt length is {limit} but the request contains {count} tokens",
        _GH + "cline/cline/issues/3120",
        input_alone=True,
    ),
    Wording(
        "cerebras",
        r"reduce the length of the messages or completion\. current length is {count} while limit is {limit}",
        _GH + "cline/cline/issues/5140",
    ),
    Wording(
        "groq",
        r"please reduce the length of the messages or completion",
        _GH + "letta-ai/letta/issues/1963",
    ),
    Wording(
        "mistral",
        r"prompt contains {count} tokens.{0,40}? too large for model with {limit} maximum context length",
        _VALS,
    ),
    Wording("mistral", r"prompt {count} > {limit} maximum context length", _VALS),
    Wording(
        "together",
        r"`inputs` tokens \+ `max_new_tokens` must be <= {limit}\. given: {count} `inputs` tokens and {output}",
        _GH + "BerriAI/litellm/issues/4934",
    ),
    Wording(
        "fireworks",
        r"prompt is too long: {count}, model maximum context length: {limit}",
        _GH + "fw-ai/cookbook/issues/134",
    ),
    Wording(
        "moonshot",
        r"exceeded model token limit: {limit}(?: \(re ?quested: {count}\))?",
        _GH + "MoonshotAI/kimi-cli/issues/2011",
    ),
    Wording(
        "copilot",
        r"prompt token count of {count} exceeds the limit of {limit}",
        _GH + "opencode-ai/opencode/issues/305",
        input_alone=True,
    ),
    Wording(
        "copilot",
        r"model_max_prompt_tokens_exceeded",
        _GH + "microsoft/vscode/issues/289219",
    ),
    Wording(
        "minimax",
        r"context window exceeds limit",
        _GH + "MiniMax-AI/MiniMax-M2/issues/119",
    ),
    Wording(
        "qwen",
        r"range of input length should be \[1, {limit}\]",
        _GH + "QwenLM/qwen-code/issues/98",
        input_alone=True,
    ),
    Wording(
        "z.ai", r"prompt exceeds max length", _GH + "zeroclaw-labs/zeroclaw/issues/4124"
    ),
    Wording(
        "z.ai",
        r"tokens in request more than max tokens allowed",
        _GH + "NousResearch/hermes-agent/pull/61728",
    ),
    Wording(
        "poolside",
        r"input length {count} exceeds the maximum allowed input length of {limit}",
        _VALS,
        input_alone=True,
    ),
    # Servers one runs oneself
    Wording(
        "llama.cpp",
        r"request \({count} tokens\) exceeds the available context size \({limit} tokens\)",
        _GH + "ggml-org/llama.cpp/issues/17284",
    ),
    Wording(
        "llama.cpp",
        r"exceeds the available context size",
        _GH + "ggml-org/llama.cpp/pull/15780",
    ),
    Wording(
        "llama-cpp-python",
        r"requested tokens \({count}\) exceed context window of {limit}",
        _GH + "fedora-copr/logdetective-website/pull/193",
    ),
    Wording(
        "lm-studio",
        r"greater than the context length(?: \(n_keep: {count} ?>= n_ctx: {limit}\))?",
        _GH + "Gitlawb/openclaude/issues/353",
    ),
    Wording(
        "lm-studio",
        r"keep the first {count} tokens when context the overflows\."
        r" however, the model is loaded with context length of only {limit} tokens",
        _GH + "cline/cline/issues/3664",
    ),
    Wording("ollama", r"prompt too long; exceeded (?:max )?context length", _PI),
    Wording("ollama", r"input length exceeds the context length", _PI),
    Wording(
        "sglang",
        r"input \({count} tokens\) is longer than the model's context length \({limit} tokens\)",
        _GH + "QwenLM/Qwen3/issues/1321",
    ),
    Wording(
        "sglang",
        r"input length \({count} tokens\) exceeds the maximum allowed length \({limit} tokens\)",
        _GH + "sgl-project/sglang/issues/4048",
        input_alone=True,
    ),
    Wording(
        "mlx-serve",
        r"prompt exceeds maximum context length",
        _GH + "ddalcu/mlx-serve/issues/66",
    ),
    Wording(
        "gpt4all",
        r"prompt size exceeds the context window size",
        _GH + "nomic-ai/gpt4all/issues/664",
    ),
    # A server's general wordings, after all that name numbers
    Wording(
        "vllm",
        r"at most {most} image\(s\) may be provided",
        _GH + "vllm-project/vllm/issues/17092",
        in_images=True,
    ),
)
