"""The body of a request for a summary: in the caller's fields, and without what shapes the caller's answers."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec
import pytest
from anthropic.types.message_create_params import MessageCreateParamsBase
from google.genai.types import GenerationConfig
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase

from ullage.codec.bodies import read_body
from ullage.context.summary_body import (
    CHAT_LIMITS,
    FOR_ANSWERS,
    FOR_ANSWERS_OF_GEMINI,
    output_beside_thinking,
    summary_body,
    summary_request,
)
from ullage.messages import Request
from ullage.reasoning import ReasoningPolicy

ASK = {"role": "user", "content": "Sum it up."}
SINCE_RENAMED = {"output_format"}
"""Of a beta of Messages, and now in ``output_config``; servers still take it."""


@pytest.mark.parametrize(
    ("wire", "typed"),
    [
        ("chat", CompletionCreateParamsBase),
        ("responses", ResponseCreateParamsBase),
        ("messages", MessageCreateParamsBase),
    ],
    ids=["chat", "responses", "messages"],
)
def test_what_is_left_out_are_parameters_of_the_sdk(wire: str, typed: type) -> None:
    assert FOR_ANSWERS[wire] - SINCE_RENAMED <= set(get_type_hints(typed))


def test_what_is_left_out_for_gemini_are_parameters_of_the_sdk() -> None:
    names = {field.alias for field in GenerationConfig.model_fields.values()}
    assert names >= FOR_ANSWERS_OF_GEMINI


@pytest.mark.parametrize("name", ["generationConfig", "generation_config"])
@pytest.mark.parametrize("limit", ["maxOutputTokens", "max_output_tokens"])
def test_gemini_s_names_are_known_in_both_spellings(name: str, limit: str) -> None:
    config = {limit: 5, "stop_sequences": ["x"], "temperature": 0.5}
    content = {"role": "user", "parts": [{"text": "Hello."}]}
    made = _made({"contents": [content], name: config}, 2_000, model="gemini-2.5-flash")
    assert made["generationConfig"] == {"temperature": 0.5, "maxOutputTokens": 2_000}
    assert "generation_config" not in made


def test_a_summary_keeps_thinking_and_is_free_in_its_form() -> None:
    thinking = {"type": "enabled", "budget_tokens": 10_000}
    made = _made(
        {
            "model": "claude",
            "max_tokens": 16_000,
            "thinking": thinking,
            "tool_choice": {"type": "any"},
            "stop_sequences": ["."],
            "messages": [ASK],
        },
        12_000,
    )
    assert made["thinking"] == thinking
    assert made["max_tokens"] == 12_000
    assert "tool_choice" not in made
    assert "stop_sequences" not in made


@pytest.mark.parametrize(
    ("own", "budget", "most", "known", "limit"),
    [
        (16_000, 10_000, 2_000, None, 12_000),
        (16_000, 10_000, 9_000, None, 16_000),
        (16_000, 10_000, 9_000, 32_000, 19_000),
        (500, 0, 20_000, None, 4_096),
        (500, 0, 2_000, None, 2_000),
        (500, 0, 20_000, 8_192, 8_192),
    ],
)
def test_the_limit_on_output_is_above_what_thinking_takes_and_below_what_the_model_may(
    own: int, budget: int, most: int, known: int | None, limit: int
) -> None:
    body: dict[str, Any] = {"model": "claude", "max_tokens": own, "messages": [ASK]}
    if budget:
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    request = read_body(body)
    assert output_beside_thinking(request, request, most, known) == limit


def test_thinking_of_gemini_is_part_of_its_output() -> None:
    content = {"role": "user", "parts": [{"text": "Hello."}]}
    config = {"thinkingConfig": {"thinkingBudget": 3_000}}
    body = {"contents": [content], "generationConfig": config}
    request = read_body(body, model="gemini-2.5-flash")
    assert output_beside_thinking(request, request, 1_000, None) == 4_000
    assert output_beside_thinking(request, request, None, None) is None


def test_no_stream_is_asked_for() -> None:
    body = {
        "model": "small",
        "messages": [ASK],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    request = summary_request(read_body(body))
    assert not request.stream
    assert request.params == {}


@pytest.mark.parametrize("model", ["gpt-5", "nobody-knows-this"])
@pytest.mark.parametrize("name", ["max_completion_tokens", "max_tokens"])
def test_the_limit_on_output_keeps_the_callers_name(name: str, model: str) -> None:
    body = {"model": model, name: 500, "messages": [ASK]}
    held = read_body(body)
    made = summary_body(held, max_output=2_000, policy=ReasoningPolicy(), held=held)
    assert {key: made[key] for key in CHAT_LIMITS if key in made} == {name: 2_000}
    elsewhere = msgspec.structs.replace(held, provider="mistral", params={})
    made = summary_body(elsewhere, max_output=9, policy=ReasoningPolicy(), held=held)
    assert made["max_tokens"] == 9


def _made(body: dict[str, Any], most: int, model: str = "") -> dict[str, Any]:
    request: Request = read_body(body, model=model)
    field = "contents" if "contents" in body else "messages"
    return summary_body(
        request, max_output=most, policy=ReasoningPolicy(), body=body, items=body[field]
    )
