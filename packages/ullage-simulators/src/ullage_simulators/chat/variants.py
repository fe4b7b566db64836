"""Chat Completions as different providers speak it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ullage_simulators.chat import rules
from ullage_simulators.openai_rules import MAX_BODY_BYTES
from ullage_simulators.refusal import Rule


@dataclass(frozen=True, slots=True)
class Variant:
    """One provider's Chat. ``rules`` are those that differ from OpenAI's, or that OpenAI has not.

    ``reasoning``: not shown at all, as ``reasoning_content``, or as signed ``reasoning_details``. ``inside``: whether
    ``completion_tokens`` contains it. ``usage_chunk``: only when asked for, in a chunk of its own after the
    ``finish_reason``; otherwise it comes with the last chunk, asked for or not. ``sums``: whether ``max_tokens`` counts
    against the window. ``shape`` is that of its errors. DeepSeek takes bodies of 39.8 MB and refuses those of 56.1 MB
    (https://github.com/vm0-ai/vm0/issues/34178); what most others take is not documented. ``counts`` is how a
    request is counted: llama.cpp at ``/v1/chat/completions/input_tokens``
    (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md), vLLM at ``/tokenize``
    (https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/serve/tokenize/protocol.py), others not at all.
    ``whole_calls``: a streamed call comes in one chunk (https://github.com/microsoft/semantic-kernel/issues/6316), and
    each chunk with a call needs its name (mistralai 3.7 ``models/functioncall.py``).
    """

    name: str
    rules: Mapping[str, Rule]
    models: tuple[str, ...]
    base_path: str = "/v1"
    reasoning: Literal["hidden", "content", "details"] = "hidden"
    needs_reasoning: bool = False
    inside: bool = True
    usage_chunk: bool = True
    sums: bool = False
    cache_block: int = 1
    cache_fields: Literal["details", "hit-and-miss"] = "details"
    shape: Literal["openai", "mistral", "xai", "openrouter", "llamacpp", "azure"] = (
        "openai"
    )
    max_body_bytes: int = 50_000_000
    counts: Literal["", "input_tokens", "tokenize"] = ""
    call_id: str = "call_"
    call_id_length: int = 24
    whole_calls: bool = False

    def table(self) -> Mapping[str, Rule]:
        """All rules of the variant."""
        return {**rules.RULES, **self.rules}


_ALL: Final = (
    Variant(
        "openai",
        {},
        ("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5.5", "o4-mini", "gpt-4.1"),
        cache_block=128,
        max_body_bytes=MAX_BODY_BYTES,
    ),
    # https://api-docs.deepseek.com/guides/thinking_mode and /api/create-chat-completion
    Variant(
        "deepseek",
        rules.DEEPSEEK,
        ("deepseek-reasoner", "deepseek-v4-flash", "deepseek-chat"),
        base_path="",
        reasoning="content",
        needs_reasoning=True,
        usage_chunk=False,
        sums=True,
        cache_block=64,
        cache_fields="hit-and-miss",
    ),
    # completion_tokens without reasoning: measured in all of its recorded calls.
    Variant(
        "xai",
        rules.XAI,
        ("grok-4.3", "grok-3-mini"),
        reasoning="content",
        inside=False,
        usage_chunk=False,
        shape="xai",
    ),
    Variant(
        "openrouter",
        rules.OPENROUTER,
        ("anthropic/claude-sonnet-4.5",),
        reasoning="details",
        usage_chunk=False,
        sums=True,
        shape="openrouter",
        call_id="toolu_01",
    ),
    Variant(
        "moonshot",
        rules.MOONSHOT,
        ("kimi-k2.5",),
        reasoning="content",
        needs_reasoning=True,
        call_id="functions.call:",
        call_id_length=3,
    ),
    Variant(
        "mistral",
        rules.MISTRAL,
        ("mistral-medium-latest",),
        usage_chunk=False,
        shape="mistral",
        call_id="",
        call_id_length=9,
        whole_calls=True,
    ),
    Variant(
        "llamacpp",
        rules.LLAMACPP,
        ("gpt-oss-20b", "qwen3"),
        reasoning="content",
        shape="llamacpp",
        counts="input_tokens",
    ),
    Variant(
        "vllm",
        rules.VLLM,
        ("qwen3", "gpt-oss-20b", "glm-4.7"),
        reasoning="content",
        counts="tokenize",
        sums=True,
    ),
    Variant("azure", rules.AZURE, ("gpt-4.1",), shape="azure", cache_block=128),
)

VARIANTS: Final[Mapping[str, Variant]] = {variant.name: variant for variant in _ALL}
"""By the first part of their paths. ``azure`` is its model-inference endpoint, which refuses ``stream_options``."""
