"""Calls of an SDK's client as bytes: what is followed, and what never raises."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.plugins.sdk_calls import SdkAnswer, SdkCalls, SentRequest, is_followed

CHAT = "/v1/chat/completions"
JSON = {"content-type": "application/json"}


def sent(body: object, path: str = CHAT, **headers: str) -> SentRequest:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return SentRequest("POST", "127.0.0.1", path, headers, content)


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def answered(prompt_tokens: int, text: str = "well") -> SdkAnswer:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 3, "total_tokens": 0}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "x", "model": "m", "choices": [choice], "usage": usage}
    return SdkAnswer(200, JSON, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("path", "follows"),
    [
        ("/v1/messages", True),
        ("/openai/deployments/d/chat/completions", True),
        ("/v1beta/models/m:streamGenerateContent", True),
        ("/v1/messages/count_tokens", False),
        ("/v1/messages/batches", False),
        ("/v1/responses/compact", False),
        ("/v1/embeddings", False),
    ],
)
def test_only_calls_of_a_model_are_followed(path: str, follows: bool) -> None:
    assert is_followed("POST", path) is follows
    assert not is_followed("GET", path)


def test_a_call_made_while_a_request_is_fitted_is_not_followed() -> None:
    with SdkCalls(ullage.Meter("m")).fitting():
        assert not is_followed("POST", CHAT)
    assert is_followed("POST", CHAT)


def test_a_call_ends_once() -> None:
    meter = ullage.Meter("m", wire="chat")
    calls = SdkCalls(meter)
    call = calls.begin(sent(asked("hello")))
    assert call is not None
    calls.end(call, answered(9))
    calls.end(call, answered(900))
    assert meter.reading().basis.last_input == 9
    assert len(meter.steps) == 1


def test_a_call_that_was_dropped_ends_before_the_next_one() -> None:
    meter = ullage.Meter("m", wire="chat")
    calls = SdkCalls(meter)
    first = calls.begin(sent(asked("hello")))
    assert first is not None
    calls.abandon(first)
    assert not first.is_over
    calls.begin(sent(asked("hello")))
    assert first.is_over


class CollectingMeter(ullage.Meter):
    """Has a dropped stream collected in the middle of its own work, as Python may at any time."""

    def __init__(self) -> None:
        super().__init__("m", wire="chat")
        self.collect: Callable[[], None] = lambda: None

    def request(self, *given: Any, **more: Any) -> Any:
        self.collect()
        return super().request(*given, **more)


def test_a_stream_that_is_collected_while_a_call_begins_ends_after_it() -> None:
    meter = CollectingMeter()
    calls = SdkCalls(meter)
    first = calls.begin(sent(asked("hello")))
    assert first is not None
    seen: list[bool] = []

    def collect() -> None:
        calls.end(first, answered(9))
        seen.append(first.is_over)

    meter.collect = collect
    second = calls.begin(sent(asked("another conversation")))
    assert second is not None
    assert seen == [False], "nothing changes under the hands of the call that begins"
    assert first.is_over
    assert meter.reading().basis.last_input == 9


def test_an_answer_that_can_not_be_taken_in_leaves_the_next_call_followed() -> None:
    class BrokenMeter(ullage.Meter):
        def after(self, *given: Any, **more: Any) -> Any:
            raise RuntimeError("a fault of the meter")

    calls = SdkCalls(BrokenMeter("m", wire="chat"))
    for _ in range(3):
        call = calls.begin(sent(asked("hello")))
        assert call is not None
        calls.end(call, answered(9))
        assert call.is_over


@given(
    st.one_of(
        st.binary(max_size=40),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["model", "messages", "role", "content", "stream"]),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=8,
        ),
    )
)
def test_no_request_and_no_answer_raises(body: Any) -> None:
    calls = SdkCalls(ullage.Meter("m"))
    call = calls.begin(sent(body))
    if call is not None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        calls.end(call, SdkAnswer(200, JSON, content))
        assert call.is_over
