"""Usage objects of frameworks, as the frameworks make them."""

import json
from itertools import product
from typing import Any

import pytest
from agents.usage import Usage as AgentsUsage
from google.genai.types import GenerateContentResponseUsageMetadata
from langchain_core.messages import AIMessage
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
from pydantic_ai._context_size import mark_context_input_tokens
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage, RunUsage

from tests.cases import case, filled
from ullage import Meter
from ullage.codec.dialects import read_reported
from ullage.codec.framework_usage import SEVERAL_CALLS
from ullage.errors import WrongType
from ullage.usage import Usage

NATIVE = ("anthropic", "openai-chat", "openai-responses", "gemini", "xai", "unknown")
"""Dialects of wires: a framework's object is the same on all of them."""


def counts(usage: Usage) -> tuple[int | None, ...]:
    return (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
    )


def langchain() -> AIMessage:
    return AIMessage(
        "Yes.",
        usage_metadata={
            "input_tokens": 100,
            "output_tokens": 20,
            "total_tokens": 120,
            "input_token_details": {"cache_read": 60, "cache_creation": 30},
            "output_token_details": {"reasoning": 8},
        },
    )


def agents() -> AgentsUsage:
    return AgentsUsage(
        requests=1,
        input_tokens=100,
        output_tokens=20,
        total_tokens=120,
        input_tokens_details=InputTokensDetails(cached_tokens=60, cache_write_tokens=30),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=8),
    )


def pydantic_ai() -> RequestUsage:
    return RequestUsage(
        input_tokens=100,
        output_tokens=20,
        cache_read_tokens=60,
        cache_write_tokens=30,
        details={"reasoning_tokens": 8},
    )


def google_adk() -> GenerateContentResponseUsageMetadata:
    """As ADK makes it from LiteLLM's counts: Google's object, and cache writes beside its fields."""
    made = GenerateContentResponseUsageMetadata(
        prompt_token_count=100,
        candidates_token_count=20,
        total_token_count=120,
        cached_content_token_count=60,
        thoughts_token_count=8,
    )
    object.__setattr__(made, "cache_creation_input_tokens", 30)
    return made


def ai_sdk_6() -> dict[str, Any]:
    return {
        "inputTokens": 100,
        "inputTokenDetails": {
            "noCacheTokens": 10,
            "cacheReadTokens": 60,
            "cacheWriteTokens": 30,
        },
        "outputTokens": 20,
        "outputTokenDetails": {"textTokens": 12, "reasoningTokens": 8},
        "totalTokens": 120,
        "reasoningTokens": 8,
        "cachedInputTokens": 60,
    }


def dexto() -> dict[str, Any]:
    """A message of Dexto's history."""
    usage = {
        "inputTokens": 10,
        "outputTokens": 20,
        "reasoningTokens": 8,
        "cacheReadTokens": 60,
        "cacheWriteTokens": 30,
        "totalTokens": 120,
    }
    return {"role": "assistant", "content": [], "tokenUsage": usage}


BEDROCK = {
    "inputTokens": 10,
    "outputTokens": 20,
    "totalTokens": 120,
    "cacheReadInputTokens": 60,
    "cacheWriteInputTokens": 30,
}


OBJECTS = {
    "ai-sdk-6": ai_sdk_6,
    "dexto": dexto,
    "langchain": lambda: langchain().usage_metadata,
    "langchain-message": langchain,
    "openai-agents": agents,
    "pydantic-ai": pydantic_ai,
}


def test_an_object_means_the_same_on_every_wire() -> None:
    for native, name in product(filled(NATIVE), filled(OBJECTS)):
        with case(name, native):
            usage = read_reported(native, OBJECTS[name]())
            assert counts(usage) == (100, 20, 60, 30, 8)
            assert not usage.flags


@pytest.mark.parametrize("native", [*NATIVE, "bedrock", "unknown"])
@pytest.mark.parametrize("answer", [BEDROCK, {"output": {}, "usage": BEDROCK}])
def test_bedrocks_own_object_leaves_the_cache_out_of_the_input(
    answer: dict[str, Any], native: str
) -> None:
    usage = read_reported(native, answer)
    assert usage.dialect == "bedrock"
    assert counts(usage) == (100, 20, 60, 30, None)


@pytest.mark.parametrize(
    ("native", "given", "read"),
    [
        ("openai-responses", {"inputTokens": 100, "totalTokens": 120}, 100),
        ("anthropic", {"inputTokens": 40, "totalTokens": 60}, 100),
        ("bedrock", {"inputTokens": 40, "totalTokens": 60}, 100),
    ],
)
def test_version_5_of_the_ai_sdk_passes_the_input_on_as_the_provider_means_it(
    native: str, given: dict[str, Any], read: int
) -> None:
    usage = read_reported(native, {**given, "outputTokens": 20, "cachedInputTokens": 60})
    assert counts(usage) == (read, 20, 60, None, None)


def test_version_5_of_the_ai_sdk_leaves_googles_thoughts_out_of_the_output() -> None:
    given = {"inputTokens": 100, "outputTokens": 12, "totalTokens": 120}
    usage = read_reported("gemini", {**given, "reasoningTokens": 8})
    assert counts(usage) == (100, 20, None, None, 8)


@pytest.mark.parametrize(("native", "dialect"), [("bedrock", "bedrock"), ("x", "ai-sdk")])
def test_an_input_and_an_output_are_read_whoever_reports_them(
    native: str, dialect: str
) -> None:
    usage = read_reported(native, {"inputTokens": 100, "outputTokens": 20})
    assert (usage.dialect, usage.input, usage.output) == (dialect, 100, 20)


def test_a_meter_without_a_model_reads_bedrocks_usage() -> None:
    meter = Meter(provider="bedrock")
    body = {"messages": [{"role": "user", "content": "How many amphorae are there?"}]}
    reading = meter.after(meter.before(body).call, BEDROCK)
    assert reading.spend.all.input == 100


@pytest.mark.parametrize("native", ["anthropic", "openai-chat", "openai-responses"])
def test_adk_has_googles_object_on_every_wire(native: str) -> None:
    usage = read_reported(native, google_adk())
    assert usage.dialect == "google-adk"
    assert counts(usage) == (100, 20, 60, 30, 8)


def test_on_googles_own_wire_its_object_is_read_as_google_means_it() -> None:
    given = {
        "prompt_token_count": 100,
        "candidates_token_count": 12,
        "thoughts_token_count": 8,
    }
    usage = read_reported("gemini", given)
    assert usage.dialect == "gemini"
    assert (usage.input, usage.output) == (100, 20)


def test_token_usage_in_response_metadata_is_the_providers_own() -> None:
    message = AIMessage(
        "Yes.",
        response_metadata={
            "token_usage": {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 60},
                "completion_tokens_details": {"reasoning_tokens": 8},
            }
        },
    )
    for given in (message, message.response_metadata):
        for native in ("openai-chat", "anthropic", "openai-responses"):
            usage = read_reported(native, given)
            assert (usage.input, usage.output, usage.cache_read) == (100, 20, 60)


def test_the_usage_of_a_run_is_no_size_of_a_window() -> None:
    usage = read_reported(
        "openai-chat", RunUsage(requests=3, input_tokens=300, output_tokens=9)
    )
    assert usage.input is None
    assert SEVERAL_CALLS in usage.flags
    assert usage.raw is not None and b"300" in bytes(usage.raw)


def test_a_run_that_lists_its_calls_has_the_last_ones_window() -> None:
    total = AgentsUsage()
    total.add(agents())
    total.add(
        AgentsUsage(requests=1, input_tokens=150, output_tokens=5, total_tokens=155)
    )
    usage = read_reported("openai-responses", total)
    assert (usage.input, usage.context, usage.answer) == (250, 150, 5)


@pytest.mark.parametrize(
    "given",
    ["text", 5, -1, 1.5, True, [], [{"input_tokens": 5}], (), {5}, object(), dict, print],
    ids=lambda given: f"{type(given).__name__}-{str(given)[:12]}",
)
def test_what_is_no_object_is_refused(given: Any) -> None:
    with pytest.raises(WrongType, match="usage is the provider's or framework's object"):
        read_reported("openai-chat", given)


@pytest.mark.parametrize("tokens", [0, 40, 100, 101, True, None])
def test_pydantic_ai_says_what_of_several_passes_was_in_the_window(tokens: Any) -> None:
    answer = ModelResponse(parts=[TextPart("Yes.")], usage=pydantic_ai())
    if tokens is not None:
        mark_context_input_tokens(answer, tokens)
    held = tokens if tokens in (0, 40) and tokens is not False else None
    for given in (answer, json.loads(ModelMessagesTypeAdapter.dump_json([answer]))[0]):
        usage = read_reported("anthropic", given)
        assert usage.dialect == "pydantic-ai"
        assert usage.input == 100
        assert usage.context_input == held
        assert usage.context == (100 if held is None else held)
