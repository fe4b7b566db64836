"""Attributes that the GenAI conventions name for each span and metric that Ullage makes.

Read in open-telemetry/semantic-conventions-genai, ``model/gen-ai/spans.yaml`` at 024a4f944a12 (the state of release
v0.1.0), and ``model/gen-ai/registry.yaml`` of open-telemetry/semantic-conventions v1.41.0 for what was renamed since.
"""

from __future__ import annotations

from typing import Final

_CONTENT: Final = {
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
}

_REQUEST: Final = {
    "gen_ai.output.type",
    "gen_ai.request.choice.count",
    "gen_ai.request.frequency_penalty",
    "gen_ai.request.max_tokens",
    "gen_ai.request.presence_penalty",
    "gen_ai.request.seed",
    "gen_ai.request.stop_sequences",
    "gen_ai.request.temperature",
    "gen_ai.request.top_p",
    "gen_ai.response.finish_reasons",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
}

_EVERYWHERE: Final = {"error.type", "gen_ai.conversation.id", "gen_ai.operation.name"}

RENAMED: Final = {
    "gen_ai.usage.cache_creation.input_tokens": "gen_ai.usage.cache_write.input_tokens",
}
"""Names of v1.41.0 that spans have too, and what v0.1.0 calls it."""

OTHERS: Final = "operation.cost"
"""Not in the conventions: pydantic-ai's name of the cost of a call in US dollars."""

COUNTERS: Final = {
    f"gen_ai.client.inference.usage.{kind}": "{token}"
    for kind in (
        "input_tokens",
        "output_tokens",
        "cache_read.input_tokens",
        "cache_write.input_tokens",
        "reasoning.output_tokens",
    )
}
"""``docs/gen-ai/gen-ai-token-metrics.md`` at 066d4a7f356f."""

SPANS: Final = {
    "chat": _EVERYWHERE
    | _CONTENT
    | _REQUEST
    | {
        "gen_ai.conversation.compacted",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.request.previous_response.id",
        "gen_ai.request.reasoning.level",
        "gen_ai.request.stream",
        "gen_ai.request.top_k",
        "gen_ai.response.id",
        "gen_ai.response.model",
        "gen_ai.response.time_to_first_chunk",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.reasoning.output_tokens",
        "server.address",
        "server.port",
    },
    "invoke_agent": _EVERYWHERE
    | _CONTENT
    | _REQUEST
    | {"gen_ai.agent.description", "gen_ai.agent.name", "gen_ai.request.model"},
    "execute_tool": _EVERYWHERE
    | {
        "gen_ai.agent.name",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.id",
        "gen_ai.tool.call.result",
        "gen_ai.tool.description",
        "gen_ai.tool.name",
        "gen_ai.tool.type",
    },
}

REQUIRED: Final = {
    "chat": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
    "invoke_agent": {"gen_ai.operation.name"},
    "execute_tool": {"gen_ai.operation.name", "gen_ai.tool.name"},
}

_DOUBLED_FROM_10_MS: Final = (
    0.01,
    0.02,
    0.04,
    0.08,
    0.16,
    0.32,
    0.64,
    1.28,
    2.56,
    5.12,
    10.24,
    20.48,
    40.96,
    81.92,
)
_TOKENS: Final = (
    1,
    4,
    16,
    64,
    256,
    1024,
    4096,
    16384,
    65536,
    262144,
    1048576,
    4194304,
    16777216,
    67108864,
)

BOUNDARIES: Final = {
    "gen_ai.client.inference.duration": _DOUBLED_FROM_10_MS,
    "gen_ai.client.inference.time_to_first_chunk": _DOUBLED_FROM_10_MS,
    "gen_ai.client.inference.operation.input_tokens": _TOKENS,
    "gen_ai.client.inference.operation.output_tokens": _TOKENS,
    "gen_ai.execute_tool.duration": _DOUBLED_FROM_10_MS,
    "gen_ai.invoke_agent.duration": (
        0.1,
        0.2,
        0.4,
        0.8,
        1.6,
        3.2,
        6.4,
        12.8,
        25.6,
        51.2,
        102.4,
        204.8,
        409.6,
    ),
}
"""``docs/gen-ai/client-inference.md`` and ``gen-ai-metrics.md`` of the same state."""
