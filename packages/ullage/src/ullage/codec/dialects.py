"""Usage by the name of its dialect: those of the wires, of frameworks, of APIs that are only measured, and of logs.

The dialects of a wire are in its folder (``reports.py``), those of frameworks in ``framework_usage.py``; the others are
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.codec.foreign import parse_object
from ullage.codec.framework_usage import (
    BEDROCK,
    FRAMEWORKS,
    framework_dialect,
    is_function,
    usage_fields,
    usage_inside,
    with_context,
    without_sums,
)
from ullage.codec.rules import Dialect
from ullage.codec.usage import SamplingPass, kept_json, read_usage, sampling_passes
from ullage.codec.wires import WIRES
from ullage.codec.wires.chat.reports import GATEWAY, GATEWAY_GEMINI, LITELLM
from ullage.errors import WrongType
from ullage.models.providers import provider_named
from ullage.usage import Usage

XAI_GRPC = Dialect(
    name="xai-grpc",
    source="https://github.com/xai-org/xai-proto",
    input=("prompt_tokens",),
    output=("completion_tokens",),
    total=("total_tokens",),
    cache_read=("cached_prompt_text_tokens",),
    reasoning=("reasoning_tokens",),
    thinking="outside",
    omits_zero=True,
    n=59,
)

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
    n=23,
)

# prompt_eval_count is the whole prompt, cached part included; thinking is part of eval_count and not told apart.
OLLAMA = Dialect(
    name="ollama",
    source="https://docs.ollama.com/api/usage",
    input=("prompt_eval_count",),
    output=("eval_count",),
    cache_read=("prompt_eval_cached_count",),
    n=8,
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
    n=444,
)

CODEX = Dialect(
    name="codex",
    source="https://github.com/openai/codex/blob/main/codex-rs/protocol/src/protocol.rs",
    input=("input_tokens",),
    output=("output_tokens",),
    total=("total_tokens",),
    cache_read=("cached_input_tokens",),
    cache_write=("cache_write_input_tokens",),
    reasoning=("reasoning_output_tokens",),
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
    thinking="outside",
)

# A record of the chat and a report of a request name the same counts differently. Over OpenAI's wires the output holds
# the reasoning, over Google's it does not: the total tells (28 of 28 reports were the bills of the simulators).
QWEN_CODE = Dialect(
    name="qwen-code",
    source="https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/services/chatRecordingService.ts",
    input=("promptTokenCount", "input_token_count"),
    output=("candidatesTokenCount", "output_token_count"),
    total=("totalTokenCount", "total_token_count"),
    cache_read=("cachedContentTokenCount", "cached_content_token_count"),
    reasoning=("thoughtsTokenCount", "thoughts_token_count"),
    thinking="detect",
)

# The input holds the cache, on Anthropic's wire too (12 of 12 reports were the bills of the simulators).
COPILOT_CLI = Dialect(
    name="copilot-cli",
    source="https://github.com/github/copilot-sdk/blob/main/nodejs/src/generated/session-events.ts",
    input=("inputTokens",),
    output=("outputTokens",),
    cache_read=("cacheReadTokens",),
    cache_write=("cacheWriteTokens",),
    reasoning=("reasoningTokens",),
)

# Five disjoint buckets: input without cache. The output is the model library's as it came: with reasoning for most
# providers, without for some. The object tells them apart only through ``total``.
OPENCODE = Dialect(
    name="opencode-v1",
    source="https://github.com/anomalyco/opencode/blob/v1.0.0/packages/opencode/src/session/index.ts",
    input=("input",),
    output=("output",),
    total=("total",),
    cache_read=("cache.read",),
    cache_write=("cache.write",),
    reasoning=("reasoning",),
    cache="outside",
    thinking="detect",
)

# On the command line the input holds the cache, whoever serves the model; VS Code counts reads and writes in one number
# beside it (36 of 36 and 47 of 47 calls of two tasks: their sum of writes and reads in ``ui_messages.json``).
CLINE = Dialect(
    name="cline",
    source="https://github.com/cline/cline/blob/main/apps/vscode/src/shared/messages/metrics.ts",
    input=("inputTokens", "tokens.prompt"),
    output=("outputTokens", "tokens.completion"),
    cache_read=("cacheReadTokens",),
    cache_write=("cacheWriteTokens",),
    more_input=("tokens.cached",),
    n=83,
)

# Of Anthropic's answers, whose input is without the cache; those of the others are OpenAI's own.
CONTINUE = Dialect(
    name="continue-cli",
    source="https://github.com/continuedev/continue/blob/main/packages/openai-adapters/src/apis/Anthropic.ts",
    input=("prompt_tokens",),
    output=("completion_tokens",),
    cache_read=("prompt_tokens_details.cache_read_tokens",),
    cache_write=("prompt_tokens_details.cache_write_tokens",),
    cache="outside",
    n=3,
)

_OTHERS: Final = (
    BEDROCK,
    XAI_GRPC,
    COHERE,
    OLLAMA,
    PI,
    CODEX,
    GEMINI_CLI,
    QWEN_CODE,
    COPILOT_CLI,
    OPENCODE,
    CLINE,
    CONTINUE,
)

DIALECTS: Final[Mapping[str, Dialect]] = {
    **{dialect.name: dialect for wire in WIRES.values() for dialect in wire.dialects},
    **{dialect.name: dialect for dialect in (*_OTHERS, *FRAMEWORKS)},
}

UNKNOWN: Final = "unknown"

_MEASURED: Final[Mapping[str, Dialect]] = {
    "chat(litellm)": LITELLM,
    "converse": BEDROCK,
    "cohere-v2": COHERE,
}
"""The dialects of wires that Ullage can't send on, where they have another name."""


def dialect_for(wire: str, provider: str = "", model: str = "") -> str:
    """The name of the dialect that ``provider`` speaks on ``wire``; ``unknown`` when no row is known for it.

    A provider without a dialect of its own speaks the wire's. ``model`` matters only behind gateways that pass several
    vendors' counts through.
    """
    own = provider_named(provider).dialects.get(wire, "")
    if own == GATEWAY.name and "gemini" in model.lower():
        return GATEWAY_GEMINI.name
    if own or wire in DIALECTS:
        return own or wire
    if wire in WIRES:
        return WIRES[wire].dialects[0].name
    return _MEASURED[wire].name if wire in _MEASURED else UNKNOWN


def normalise(dialect: str, raw: object, *, placeholder: bool = False) -> Usage:
    """The usage object ``raw`` in our terms, read as the dialect of this name.

    ``raw`` is a mapping, an SDK object, or JSON bytes, which are kept byte for byte.
    ``placeholder=True`` says that its output is not a count, and leaves it out. An unknown dialect gives a usage that
    is unverified and holds nothing but ``raw``. Never raises for what a provider or a log may contain.
    """
    row = DIALECTS.get(dialect)
    if row is not None:
        return read_usage(row, raw, placeholder=placeholder)
    return Usage(
        dialect=dialect or UNKNOWN,
        verified=False,
        flags=("dialect:unknown",),
        raw=kept_json(raw),
    )


def read_reported(native: str, raw: object) -> Usage:
    """A loop's usage object in our terms: the provider's own (of the dialect ``native``), or a framework's.

    Where no input is found its flags name the fields, for a note of the reading: a key may be misspelt.

    ``raw`` may also be the answer that holds it. Raises ``WrongType`` for what is no object; never raises for what a
    provider's object may contain.
    """
    if isinstance(raw, bytes | bytearray | memoryview | msgspec.Raw):
        return normalise(native, raw)
    inner = usage_inside(raw)
    fields = usage_fields(inner)
    if fields is None or isinstance(raw, type | BaseException) or is_function(raw):
        raise WrongType(
            f"A usage is the provider's or framework's object, its JSON, or None, and not {type(raw).__name__}. "
            "Nothing was changed."
        )
    usage = normalise(framework_dialect(native, fields), fields)
    usage = with_context(without_sums(usage, fields), raw)
    if usage.input is None and not any(flag.startswith("input:") for flag in usage.flags):
        found = ", ".join(fields)[:200] or "it is empty"
        usage = replace(usage, flags=(f"input:is under no known name: {found}",))
    return usage


def passes_of(usage: Usage | None) -> tuple[SamplingPass, ...]:
    """The passes that the provider lists inside one call; empty where it lists none."""
    dialect = None if usage is None else DIALECTS.get(usage.dialect or "")
    if usage is None or usage.raw is None or dialect is None or not dialect.passes:
        return ()
    if dialect.passes.encode() not in bytes(usage.raw):
        return ()
    return sampling_passes(dialect, usage.raw)


def hour_writes(usage: Usage) -> int:
    """Of the cache writes, the tokens that are kept for an hour; 0 where the usage does not say."""
    raw = b"" if usage.raw is None else bytes(usage.raw)
    if b'"ephemeral_1h_input_tokens"' not in raw:
        return 0
    fields = parse_object(raw)
    found = fields.get("cache_creation") or fields.get("input_token_details")
    count = found.get("ephemeral_1h_input_tokens") if isinstance(found, dict) else 0
    if not isinstance(count, int) or isinstance(count, bool):
        return 0
    return max(0, min(count, usage.cache_write or 0))
