"""The names of OpenTelemetry's GenAI conventions, and what of ours has them: release v0.1.0 and v1.41.0.

https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/docs/registry/attributes/gen-ai.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from ullage.events import CallEnded
from ullage.models.providers import canonical, provider_named
from ullage_agent.runtime.session_view import SessionView

STOPS: Final[Mapping[str, str]] = {"tool_calls": "tool_call", "refused": "content_filter"}
"""Reasons to stop whose name in the conventions is not ours."""

SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
"""Boundaries of ``gen_ai.client.inference.duration``, ``….time_to_first_chunk``, ``gen_ai.execute_tool.duration``."""

TOKENS: Final = tuple(float(4**power) for power in range(14))
"""Boundaries of ``gen_ai.client.inference.operation.input_tokens``, and of ``gen_ai.client.token.usage``."""

TURN_SECONDS: Final = tuple(0.1 * 2**power for power in range(13))
"""Boundaries of ``gen_ai.invoke_agent.duration``."""

INSTRUMENTS: Final[Mapping[str, tuple[str, tuple[float, ...]]]] = {
    "gen_ai.client.inference.duration": ("s", SECONDS),
    "gen_ai.client.operation.duration": ("s", SECONDS),
    "gen_ai.client.inference.time_to_first_chunk": ("s", SECONDS),
    "gen_ai.client.operation.time_to_first_chunk": ("s", SECONDS),
    "gen_ai.client.inference.operation.input_tokens": ("{token}", TOKENS),
    "gen_ai.client.inference.operation.output_tokens": ("{token}", TOKENS),
    "gen_ai.client.token.usage": ("{token}", TOKENS),
    "gen_ai.execute_tool.duration": ("s", SECONDS),
    "gen_ai.invoke_agent.duration": ("s", TURN_SECONDS),
}
"""The histograms: unit and boundaries."""

CALL_DURATION: Final = (
    "gen_ai.client.inference.duration",
    "gen_ai.client.operation.duration",
)

FIRST_CHUNK: Final = (
    "gen_ai.client.inference.time_to_first_chunk",
    "gen_ai.client.operation.time_to_first_chunk",
)

USAGE: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("input_tokens",),
    "output": ("output_tokens",),
    "cache_read": ("cache_read.input_tokens",),
    "cache_write": ("cache_write.input_tokens", "cache_creation.input_tokens"),
    "reasoning": ("reasoning.output_tokens",),
}
"""The names of each kind of tokens in the conventions."""

PARAMS: Final = ("top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")
"""Parameters of a request whose names are those of the wires."""

STOP_PARAMS: Final = ("stop", "stop_sequences")

Attributes = dict[str, str | int | float | bool | list[str]]


def named(agent: str) -> Attributes:
    return {"gen_ai.agent.name": agent} if agent else {}


def served(endpoint: str, model: str) -> Attributes:
    """Who serves a call, and which model is asked for; what is not known is left out."""
    provider = provider_named(endpoint).telemetry or canonical(endpoint)
    found: Attributes = {
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }
    return {name: value for name, value in found.items() if value}


def address_of(url: str) -> Attributes:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return {}
    if not parts.hostname:
        return {}
    return {"server.address": parts.hostname, "server.port": port}


def asked(view: SessionView) -> Attributes:
    """The parameters of a call that are settings."""
    options = view.options
    found: dict[str, str | int | float | None] = {
        "gen_ai.request.max_tokens": options.max_output,
        "gen_ai.request.temperature": options.temperature,
        "gen_ai.request.reasoning.level": options.effort,
    }
    known: Attributes = {
        name: value for name, value in found.items() if value is not None
    }
    if view.has_output_type:
        known["gen_ai.output.type"] = "json"
    if view.is_compacted:
        known["gen_ai.conversation.compacted"] = True
    return known


def params_of(params: Mapping[str, object]) -> Attributes:
    """The parameters of a request that are in its wire's own words."""
    found: Attributes = {}
    for name in PARAMS:
        value = params.get(name)
        if isinstance(value, int | float):
            found[f"gen_ai.request.{name}"] = value
    for name in STOP_PARAMS:
        value = params.get(name)
        stops = [value] if isinstance(value, str) else value
        if isinstance(stops, list) and stops:
            found["gen_ai.request.stop_sequences"] = [str(one) for one in stops]
    return found


def usage_of(event: CallEnded) -> Attributes:
    """The reported usage as attributes."""
    usage = event.usage
    if usage is None:
        return {}
    reported: Attributes = {}
    for name, kinds in USAGE.items():
        tokens = getattr(usage, name)
        if tokens is not None:
            reported.update({f"gen_ai.usage.{kind}": tokens for kind in kinds})
    if usage.placeholder or not usage.final:
        reported["ullage.usage.estimated"] = True
    return reported
