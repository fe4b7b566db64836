"""The names of OpenTelemetry's GenAI conventions, and what of ours has them: release v0.1.0 and v1.41.0.

https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/docs/registry/attributes/gen-ai.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from ullage.events import CallEnded
from ullage.models.providers import canonical, provider_named
from ullage_agent.runtime.policy import (
    TRACED_SECONDS,
    TRACED_TOKENS,
    TRACED_TURN_SECONDS,
    TRACED_USD,
)
from ullage_agent.runtime.session_view import SessionView

STOPS: Final[Mapping[str, str]] = {"tool_calls": "tool_call", "refused": "content_filter"}
"""Reasons to stop whose name in the conventions is not ours."""

CALL_SECONDS: Final = "gen_ai.client.inference.duration"
FIRST_CHUNK: Final = "gen_ai.client.inference.time_to_first_chunk"
CALL_TOKENS: Final = "gen_ai.client.inference.operation"
SPENT_TOKENS: Final = "gen_ai.client.inference.usage"
"""https://github.com/open-telemetry/semantic-conventions-genai, ``docs/gen-ai/client-inference.md`` of v0.1.0 and
``gen-ai-token-metrics.md``, where counters of usage stand beside the sizes of operations. The names of v1.41.0
(``gen_ai.client.operation.duration``, ``gen_ai.client.token.usage``) would count each call twice: a view of
OpenTelemetry's SDK or a collector renames them for a dashboard that needs them."""

COST: Final = "operation.cost"
"""Not in the conventions; pydantic-ai and Logfire have this name, as an attribute and as a histogram in US dollars."""

DURATIONS: Final[Mapping[str, str]] = {
    "call": CALL_SECONDS,
    "tool": "gen_ai.execute_tool.duration",
    "turn": "gen_ai.invoke_agent.duration",
    "agent": "gen_ai.invoke_agent.duration",
}
"""The durations that are metrics, by what they are of."""

HISTOGRAMS: Final[Mapping[str, tuple[str, tuple[float, ...]]]] = {
    CALL_SECONDS: ("s", TRACED_SECONDS),
    FIRST_CHUNK: ("s", TRACED_SECONDS),
    DURATIONS["tool"]: ("s", TRACED_SECONDS),
    DURATIONS["turn"]: ("s", TRACED_TURN_SECONDS),
    f"{CALL_TOKENS}.input_tokens": ("{token}", TRACED_TOKENS),
    f"{CALL_TOKENS}.output_tokens": ("{token}", TRACED_TOKENS),
    COST: ("{USD}", TRACED_USD),
}
"""Unit and boundaries."""

USAGE: Final[Mapping[str, str]] = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read.input_tokens": "cache_read",
    "cache_write.input_tokens": "cache_write",
    "reasoning.output_tokens": "reasoning",
}
"""The conventions' kinds of tokens, and ours."""

RENAMED: Final = ("cache_creation.input_tokens", "cache_write.input_tokens")
"""A kind's name of v1.41.0, which spans have too, and that of v0.1.0."""

PARAMS: Final[Mapping[str, str]] = {
    **{
        name: name
        for name in ("top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")
    },
    "stop": "stop_sequences",
    "stop_sequences": "stop_sequences",
}
"""Parameters of a request in their wires' words, and in the conventions'."""

Attributes = dict[str, str | int | float | bool | list[str]]


def known(values: Mapping[str, str | float | None]) -> Attributes:
    """Those that are known: neither empty, ``None`` nor ``False``."""
    return {
        name: value
        for name, value in values.items()
        if not (value is None or value is False or value == "")
    }


def served(endpoint: str, model: str) -> Attributes:
    """Who serves a call, and which model is asked for."""
    provider = provider_named(endpoint).telemetry or canonical(endpoint)
    return known({"gen_ai.provider.name": provider, "gen_ai.request.model": model})


def address_of(url: str) -> Attributes:
    """Where a model is reached."""
    parts = urlsplit(url)
    if not parts.hostname:
        return {}
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {"server.address": parts.hostname, "server.port": port}


def asked(view: SessionView) -> Attributes:
    """The parameters of a call that are settings."""
    options = view.options
    return known(
        {
            "gen_ai.request.max_tokens": options.max_output,
            "gen_ai.request.temperature": options.temperature,
            "gen_ai.request.reasoning.level": options.effort,
            "gen_ai.output.type": "json" if view.has_output_type else "",
            "gen_ai.conversation.compacted": view.is_compacted,
        }
    )


def params_of(params: Mapping[str, object]) -> Attributes:
    """The parameters of a request that are in its wire's own words."""
    found: Attributes = {}
    for ours, name in PARAMS.items():
        value = params.get(ours)
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            found[f"gen_ai.request.{name}"] = [str(one) for one in value]
        elif isinstance(value, int | float):
            found[f"gen_ai.request.{name}"] = value
    return found


def usage_of(event: CallEnded) -> dict[str, int]:
    """The reported tokens by kind."""
    found = {name: getattr(event.usage, ours, None) for name, ours in USAGE.items()}
    return {name: tokens for name, tokens in found.items() if tokens is not None}
