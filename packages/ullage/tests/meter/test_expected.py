from typing import Any

from ullage import Meter, Usage
from ullage.events import (
    CallEnded,
    CallStarted,
    MessageAdded,
    SessionStarted,
    ToolsChanged,
)
from ullage.messages import Message, TextPart, Tool
from ullage.meter.expected import expectation_of
from ullage.meter.plausible import Expectation


def asked(**more: Any) -> Meter:
    meter = Meter("gpt-5", wire="chat", window=50_000)
    hello = {"role": "user", "content": "What is in the hall?"}
    meter.before({"model": "gpt-5", "messages": [hello], **more})
    return meter


def expected(meter: Meter) -> Expectation:
    fold = meter._fold
    return expectation_of(fold, next(iter(fold.pending.values()), None), 0)


def test_a_request_made_from_the_ledger_is_whole() -> None:
    first = expected(asked())
    assert first.is_whole
    assert first.last_input is None
    assert first.low <= first.content <= first.high
    assert not first.has_left


def test_content_that_the_provider_keeps_is_missing() -> None:
    assert not expected(asked(prompt={"id": "pmpt_1"})).is_whole
    assert expected(asked(truncation="auto")).may_clear


def test_content_that_the_provider_adds_is_not_seen() -> None:
    assert not expected(asked()).adds_unseen
    assert expected(asked(web_search_options={})).adds_unseen
    meter = Meter("gpt-5:online", wire="chat", provider="openrouter")
    meter.before({"messages": [{"role": "user", "content": "Hello"}]})
    assert expected(meter).adds_unseen


def test_a_continued_request_is_judged_by_the_last_report() -> None:
    meter = Meter("gpt-5", wire="responses")
    first = {"model": "gpt-5", "input": [{"role": "user", "content": "Hello. " * 50}]}
    call = meter.before({**first, "previous_response_id": "resp_0"}).call
    unknown = expected(meter)
    assert unknown.is_held
    assert not unknown.is_whole
    assert unknown.last_input is None
    meter.after(call, {"input_tokens": 9_000, "output_tokens": 3})
    meter.before({**first, "previous_response_id": "resp_1"})
    known = expected(meter)
    assert known.is_held
    assert known.last_input == 9_000
    assert known.low > 9_000
    assert known.content == 0


def test_the_largest_known_window_counts() -> None:
    assert (expected(asked()).window or 0) > 50_000


def test_a_log_is_not_whole() -> None:
    meter = Meter()
    text = TextPart(id="p", text="Hello")
    for event in (
        SessionStarted(model="gpt-5", wire="responses", provider="openai"),
        MessageAdded(message=Message(id="m", role="user", parts=(text,))),
        CallStarted(call="c"),
    ):
        meter.apply(event)
    assert not expected(meter).is_whole


def test_tools_that_run_at_the_provider_are_known() -> None:
    meter = Meter("claude-sonnet-4-5", wire="messages", provider="anthropic")
    meter.apply(
        ToolsChanged(tools=(Tool(name="web_search", kind="web_search_20250305"),))
    )
    meter.apply(CallStarted(call="c"))
    assert expected(meter).adds_unseen


def test_an_answer_larger_than_the_window_is_no_count() -> None:
    meter = asked()
    call = next(iter(meter._fold.pending))
    meter.apply(CallEnded(call=call, usage=Usage(input=15, output=9_000_000)))
    assert meter.reading().basis.last_input == 15
    assert meter.reading().used.high < 1_000
