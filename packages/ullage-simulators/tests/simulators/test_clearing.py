"""Context editing as the simulator serves it, read by Anthropic's own SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from ullage_simulators import Server, running

MODEL = "claude-sonnet-4-6"
BETA = "context-management-2025-06-27"
TOOL: Any = {"name": "look", "input_schema": {"type": "object"}}
RESULTS: Any = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "tool_uses", "value": 3},
    "keep": {"type": "tool_uses", "value": 1},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=21) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=server.url("anthropic"), api_key="any", max_retries=0
    )


def history(uses: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Look around."}]
    for number in range(uses):
        call = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {}}
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": f"Room {number} holds a lamp and a book. " * 40,
        }
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result]})
    return messages


def asked(uses: int, *edits: Any) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": MODEL,
        "tools": [TOOL],
        "messages": history(uses),
        "betas": [BETA],
    }
    if edits:
        request["context_management"] = {"edits": list(edits)}
    return request


def test_an_answer_says_what_was_cleared(client: anthropic.Anthropic) -> None:
    plain = client.beta.messages.create(max_tokens=900, **asked(4))
    cleared = client.beta.messages.create(max_tokens=900, **asked(4, RESULTS))
    assert plain.context_management is None
    assert cleared.context_management is not None
    (edit,) = cleared.context_management.applied_edits
    assert edit.type == "clear_tool_uses_20250919"
    assert edit.cleared_tool_uses == 3
    left = plain.usage.input_tokens - cleared.usage.input_tokens
    assert edit.cleared_input_tokens == left > 100


def test_a_streamed_answer_says_it_at_its_end(client: anthropic.Anthropic) -> None:
    with client.beta.messages.stream(max_tokens=900, **asked(4, RESULTS)) as stream:
        deltas = [event for event in stream if event.type == "message_delta"]
    (delta,) = deltas
    assert delta.context_management is not None
    (edit,) = delta.context_management.applied_edits
    assert edit.type == "clear_tool_uses_20250919"
    assert edit.cleared_tool_uses == 3


def test_a_count_says_both_numbers(client: anthropic.Anthropic) -> None:
    plain = client.beta.messages.count_tokens(**asked(4))
    cleared = client.beta.messages.count_tokens(**asked(4, RESULTS))
    assert cleared.context_management is not None
    original = cleared.context_management.original_input_tokens
    assert original == plain.input_tokens > cleared.input_tokens


@pytest.mark.parametrize(
    "edit",
    [
        {**RESULTS, "trigger": {"type": "tool_uses", "value": 5}},
        {"type": "clear_tool_uses_20250919"},
        {**RESULTS, "clear_at_least": {"type": "input_tokens", "value": 50_000}},
        {**RESULTS, "exclude_tools": ["look"]},
        {"type": "clear_thinking_20251015"},
    ],
    ids=["trigger", "default", "too little", "excluded", "no thinking"],
)
def test_thresholds_hold(client: anthropic.Anthropic, edit: Any) -> None:
    plain = client.beta.messages.create(max_tokens=900, **asked(4))
    answer = client.beta.messages.create(max_tokens=900, **asked(4, edit))
    assert answer.context_management is not None
    assert answer.context_management.applied_edits == []
    assert answer.usage.input_tokens == plain.usage.input_tokens


def test_without_the_beta_the_field_is_refused(client: anthropic.Anthropic) -> None:
    request = {**asked(1, RESULTS), "betas": []}
    with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
        client.beta.messages.create(max_tokens=900, **request)


def thought(client: anthropic.Anthropic, model: str, turns: int) -> list[Any]:
    """A conversation in which the model thought in each turn."""
    messages: list[Any] = []
    for number in range(turns):
        messages.append({"role": "user", "content": f"question {number}"})
        answer = client.beta.messages.create(
            model=model, max_tokens=9_000, messages=messages, thinking=THINKS[model]
        )
        messages.append({"role": "assistant", "content": answer.content})
    return [*messages, {"role": "user", "content": "and now?"}]


THINKS: dict[str, Any] = {
    "claude-sonnet-4-5": {"type": "enabled", "budget_tokens": 2_000},
    "claude-opus-4-6": {"type": "adaptive"},
}


@pytest.mark.parametrize(
    ("model", "keep", "kept"),
    [
        ("claude-sonnet-4-5", None, 0),
        ("claude-sonnet-4-5", "all", 3),
        ("claude-sonnet-4-5", {"type": "all"}, 3),
        ("claude-sonnet-4-5", {"type": "thinking_turns", "value": 2}, 2),
        ("claude-opus-4-6", None, 3),
        ("claude-opus-4-6", "all", 3),
        ("claude-opus-4-6", {"type": "thinking_turns", "value": 1}, 1),
    ],
)
def test_what_the_request_keeps_of_thinking_is_billed_whatever_the_model_does_unasked(
    client: anthropic.Anthropic, server: Server, model: str, keep: Any, kept: int
) -> None:
    messages = thought(client, model, 3)
    sizes = [bill.reasoning for bill in server.truth().bills[-3:]]
    edit = {"type": "clear_thinking_20251015"}
    edits: Any = [{**edit, "keep": keep} if keep else edit]
    client.beta.messages.create(
        model=model,
        max_tokens=9_000,
        messages=messages,
        thinking=THINKS[model],
        betas=[BETA],
        context_management={"edits": edits},
    )
    assert server.truth().bills[-1].kept == sum(sizes[3 - kept :])
