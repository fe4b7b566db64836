"""The simulators say why a cache was not read, as the providers document it."""

from __future__ import annotations

from typing import Any

import pytest

from ullage_simulators.cache_diagnostics import of_message, of_response


class FakeMemory:
    def __init__(self) -> None:
        self.items: dict[str, Any] = {}


class FakeCall:
    """A call as far as diagnostics look at it."""

    def __init__(self, memory: FakeMemory, body: dict[str, Any]) -> None:
        self.memory = memory
        self.body = body


def told(tell: Any, *bodies: dict[str, Any]) -> Any:
    """The last of these answers' fields; their ids are ``a0``, ``a1``."""
    memory, found = FakeMemory(), None
    for number, body in enumerate(bodies):
        found = tell(FakeCall(memory, body), f"a{number}")
    return found


HELLO = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "other"}, "model_changed"),
        ({"system": "other"}, "system_changed"),
        ({"tools": [{"name": "a"}]}, "tools_changed"),
        ({"messages": [{"role": "user", "content": "bye"}]}, "messages_changed"),
        ({"thinking": {"type": "adaptive"}}, "unavailable"),
    ],
)
def test_anthropic_names_the_first_difference(
    change: dict[str, Any], reason: str
) -> None:
    first = {
        "model": "m",
        "messages": HELLO,
        "diagnostics": {"previous_message_id": None},
    }
    second = {**first, "diagnostics": {"previous_message_id": "a0"}}
    longer = {**second, "messages": [*HELLO, {"role": "assistant", "content": "yes"}]}
    assert told(of_message, first) == {"diagnostics": None}
    assert told(of_message, first, longer) == {"diagnostics": None}
    found = told(of_message, first, {**second, **change})
    assert found["diagnostics"]["cache_miss_reason"]["type"] == reason
    lost = told(of_message, {"model": "m", "messages": HELLO}, second)
    assert (
        lost["diagnostics"]["cache_miss_reason"]["type"] == "previous_message_not_found"
    )
    assert told(of_message, {"model": "m", "messages": HELLO}) == {}


def test_openai_names_the_first_difference() -> None:
    first = {"model": "m", "input": HELLO}
    second = {**first, "prompt_cache_options": {"comparison_response_id": "a0"}}
    assert told(of_response, first) == {}
    hit = told(of_response, first, {**second, "input": [*HELLO, *HELLO]})
    assert hit == {"prompt_cache_diagnostics": {"type": "cache_hit"}}
    miss = told(of_response, first, {**second, "reasoning": {"effort": "low"}})
    assert miss["prompt_cache_diagnostics"]["reason"] == "reasoning_effort_changed"
    lost = told(of_response, second)
    assert lost["prompt_cache_diagnostics"]["type"] == "comparison_response_not_found"
