"""Which conversation a call of LiteLLM belongs to."""

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from ullage.plugins.conversations import conversations_of
from ullage.plugins.litellm_calls import (
    MOST_OPEN,
    SUMMARY_PREFIX,
    LiteLLMCall,
    OpenCalls,
    history_of,
    name_of,
    request_of,
    summary_arguments,
)

HI = {"role": "user", "content": "Hi"}
HELLO = {"role": "assistant", "content": "Hello."}
MORE = {"role": "user", "content": "And the pumps?"}
USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}


@pytest.fixture
def calls() -> Iterator[OpenCalls]:
    made = OpenCalls(conversations_of({"window": 9_000}))
    yield made
    made.conversations.close()


def arguments(name: str, *items: Any, session: str = "", **others: Any) -> dict[str, Any]:
    return {
        "litellm_call_id": name,
        "model": "openai/nobody-knows-this",
        "messages": list(items),
        "metadata": {"session_id": session},
        **others,
    }


def begun(
    calls: OpenCalls, name: str, *items: Any, session: str = "", **others: Any
) -> LiteLLMCall:
    given = arguments(name, *items, session=session, **others)
    call = calls.begin("acompletion", list(items), given)
    call.held.compactor.fit_sync(request_of(call))
    return call


def test_a_call_goes_on_in_the_conversation_of_the_one_before(calls: OpenCalls) -> None:
    first = begun(calls, "1", HI)
    calls.end("1", USAGE)
    second = begun(calls, "2", HI, HELLO, MORE)
    assert first.held is second.held
    assert second.held.compactor.reading().spend.all.input == 7


def test_sessions_keys_and_beginnings_are_conversations(calls: OpenCalls) -> None:
    keys = {"metadata": {"session_id": "a", "user_api_key_hash": "other"}}
    found = {
        id(begun(calls, "1", HI, session="a").held),
        id(begun(calls, "2", HI, session="b").held),
        id(begun(calls, "3", MORE, session="a").held),
        id(calls.begin("acompletion", [HI], {**arguments("4", HI), **keys}).held),
    }
    assert len(found) == 4


def test_a_second_call_at_the_same_time_is_another_conversation(calls: OpenCalls) -> None:
    first, second = begun(calls, "1", HI), begun(calls, "2", HI)
    assert first.held is not second.held


def test_an_open_call_is_found_by_what_goes_on_from_it(calls: OpenCalls) -> None:
    call = begun(calls, "1", HI)
    answered, unanswered = [HI, HELLO, MORE], [HI, MORE]
    assert calls.continued(arguments("2"), answered) is call
    assert calls.continued(arguments("2"), unanswered) is call
    assert calls.continued(arguments("2"), [MORE]) is None
    assert call.is_answered(answered)
    assert not call.is_answered(unanswered)


def test_the_same_history_repeats_only_in_its_thread(calls: OpenCalls) -> None:
    call = begun(calls, "1", HI)
    found: list[object] = []
    other = Thread(target=lambda: found.append(calls.continued(arguments("2"), [HI])))
    other.start()
    other.join()
    assert found == [None]
    assert calls.continued(arguments("2"), [HI]) is call
    assert not call.is_answered([HI])


def test_calls_on_a_stored_response_are_one_conversation(calls: OpenCalls) -> None:
    held = []
    before = ""
    for number in range(3):
        given: dict[str, Any] = {"litellm_call_id": str(number), "model": "gpt-5"}
        items = [{"role": "user", "content": "Go on."}]
        given["input"] = items
        if before:
            given["previous_response_id"] = before
        call = calls.begin("aresponses", items, given)
        held.append(call.held)
        body = request_of(call)
        assert body.get("previous_response_id", "") == before
        assert call.held.compactor.fit_sync(body).body is body
        before = f"resp_{number}"
        usage = {"input_tokens": 9 + 14 * number, "output_tokens": 5}
        calls.end(str(number), usage, response=before)
    assert held == [held[0]] * 3
    assert held[0].compactor.reading().basis.last_input == 37


def test_what_is_reported_late_changes_nothing(calls: OpenCalls) -> None:
    call = begun(calls, "1", HI)
    calls.end("1", outcome="cancelled")
    calls.end("1", USAGE)
    assert call.has_ended
    assert not call.held.compactor.reading().spend.all.input


def test_calls_that_nobody_ends_are_given_up(calls: OpenCalls) -> None:
    first = begun(calls, "first", HI, session="first")
    for number in range(MOST_OPEN):
        begun(calls, str(number), HI, session=str(number))
    assert first.has_ended
    assert calls.named("first") is None


def test_a_call_that_was_not_sent_leaves_its_conversation_free(calls: OpenCalls) -> None:
    first = begun(calls, "1", HI)
    calls.abandon("1")
    second = calls.begin("acompletion", [HI], arguments("2", HI))
    assert first.held is second.held


@pytest.mark.parametrize(
    ("function", "given", "history"),
    [
        ("acompletion", {"messages": [HI]}, [HI]),
        ("anthropic_messages", {"messages": [HI]}, [HI]),
        ("aresponses", {"input": "Hi"}, [HI]),
        ("aresponses", {"input": [HI], "previous_response_id": "r1"}, [HI]),
        ("acompletion", {}, None),
        ("aembedding", {"input": ["Hi"]}, None),
    ],
    ids=["chat", "messages", "responses", "chained", "by position", "no conversation"],
)
def test_only_conversations_that_are_given_by_name_are_followed(
    function: str, given: dict[str, Any], history: list[Any] | None
) -> None:
    assert history_of(function, given) == history


def test_a_summary_goes_where_its_call_goes(calls: OpenCalls) -> None:
    call = begun(calls, "1", HI, api_key="secret", aws_region_name="x", stream=True, n=2)
    made = summary_arguments(call, {"messages": [MORE], "model": "openai/a"})
    assert name_of(made).startswith(SUMMARY_PREFIX)
    assert made["api_key"] == "secret"
    assert made["aws_region_name"] == "x"
    assert made["messages"] == [MORE]
    assert made["stream"] is False
    assert "n" not in made


def test_a_calls_key_is_not_in_its_text(calls: OpenCalls) -> None:
    assert "secret" not in repr(begun(calls, "1", HI, api_key="secret"))


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ({"litellm_params": {"metadata": {"client_disconnected": True}}}, True),
        ({"metadata": {"client_disconnected": True}}, True),
        ({"metadata": None, "litellm_params": {"metadata": {"user": "a"}}}, False),
        ({}, False),
    ],
    ids=["parameters", "arguments", "others", "nothing"],
)
def test_what_the_proxy_estimates_for_a_left_stream_is_not_used(
    calls: OpenCalls, arguments: dict[str, Any], left: bool
) -> None:
    call = begun(calls, "1", HI)
    calls.finished({"litellm_call_id": "1", **arguments}, {"usage": USAGE})
    assert call.has_ended
    assert bool(call.held.compactor.reading().spend.all.input) is not left
