"""The Meter beside a loop that speaks a provider's own JSON: what comes back is recognised, on every wire."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest

from ullage import Meter
from ullage.events import Event, MessageAdded, MessageReplaced, Rewound

Json = dict[str, Any]


@dataclass
class Loop:
    """One wire: the first body, the answer to it with its usage, and what the next body adds."""

    name: str
    model: str
    body: Json
    history: str
    answer: Any
    echo: list[Json]
    results: list[Json]
    usage: Json
    wanted_input: int
    wanted_output: int


ANTHROPIC = Loop(
    name="messages",
    model="anthropic:claude-opus-4-5",
    body={
        "model": "claude-opus-4-5",
        "max_tokens": 1000,
        "system": "Be brief.",
        "tools": [
            {
                "name": "weather",
                "input_schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}},
                },
            }
        ],
        "messages": [{"role": "user", "content": "What's the weather in NYC?"}],
    },
    history="messages",
    answer=[
        {"type": "thinking", "thinking": "I have a tool for that.", "signature": "c2ln"},
        {"type": "text", "text": "I'll check."},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "weather",
            "input": {"city": "NYC"},
        },
    ],
    echo=[
        {
            "role": "assistant",
            "content": [
                {
                    "type": "thinking",
                    "thinking": "I have a tool for that.",
                    "signature": "c2ln",
                },
                {"type": "text", "text": "I'll check."},
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "weather",
                    "input": {"city": "NYC"},
                },
            ],
        }
    ],
    results=[
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": "72°F, sunny",
                }
            ],
        }
    ],
    usage={
        "input_tokens": 400,
        "cache_read_input_tokens": 4600,
        "cache_creation_input_tokens": 0,
        "output_tokens": 90,
    },
    wanted_input=5000,
    wanted_output=90,
)
CHAT = Loop(
    name="chat",
    model="openai:gpt-4o",
    body={
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What's the weather in NYC?"},
        ],
    },
    history="messages",
    answer={
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {
                                "name": "weather",
                                "arguments": '{"city": "NYC"}',
                            },
                        }
                    ],
                }
            }
        ]
    },
    echo=[
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "NYC"}'},
                }
            ],
        }
    ],
    results=[{"role": "tool", "tool_call_id": "call_1", "content": "72°F, sunny"}],
    usage={"prompt_tokens": 5000, "completion_tokens": 18, "total_tokens": 5018},
    wanted_input=5000,
    wanted_output=18,
)
RESPONSES = Loop(
    name="responses",
    model="openai:gpt-5",
    body={
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "What's the weather in NYC?"}],
    },
    history="input",
    answer={
        "output": [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [],
                "encrypted_content": "gAAAA",
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "weather",
                "arguments": '{"city":"NYC"}',
            },
        ]
    },
    echo=[
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "weather",
            "arguments": '{"city":"NYC"}',
        },
    ],
    results=[
        {"type": "function_call_output", "call_id": "call_1", "output": "72°F, sunny"}
    ],
    usage={
        "input_tokens": 5000,
        "output_tokens": 151,
        "output_tokens_details": {"reasoning_tokens": 128},
        "total_tokens": 5151,
    },
    wanted_input=5000,
    wanted_output=151,
)
GEMINI = Loop(
    name="generateContent",
    model="google:gemini-3-flash-preview",
    body={
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "What's the weather in NYC?"}]}],
    },
    history="contents",
    answer={
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {
                            "functionCall": {"name": "weather", "args": {"city": "NYC"}},
                            "thoughtSignature": "c2lnbmF0dXJl",
                        }
                    ],
                }
            }
        ]
    },
    echo=[
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"name": "weather", "args": {"city": "NYC"}},
                    "thoughtSignature": "c2lnbmF0dXJl",
                }
            ],
        }
    ],
    results=[
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "weather",
                        "response": {"result": "72°F, sunny"},
                    }
                }
            ],
        }
    ],
    usage={
        "promptTokenCount": 5000,
        "candidatesTokenCount": 12,
        "thoughtsTokenCount": 130,
        "totalTokenCount": 5142,
    },
    wanted_input=5000,
    wanted_output=142,
)

LOOPS = pytest.mark.parametrize(
    "loop", [ANTHROPIC, CHAT, RESPONSES, GEMINI], ids=lambda loop: loop.name
)


def begun(loop: Loop, *, shown: bool = True) -> tuple[Meter, list[Event]]:
    events: list[Event] = []
    meter = Meter(loop.model, on_event=events.append)
    first = meter.before(loop.body)
    meter.after(first.call, loop.usage, loop.answer if shown else None)
    return meter, events


def extended(loop: Loop, *more: Json) -> Json:
    body = copy.deepcopy(loop.body)
    body[loop.history] += [*loop.echo, *more]
    return body


@LOOPS
def test_the_answer_that_comes_back_is_the_one_that_was_shown(loop: Loop) -> None:
    meter, events = begun(loop)
    count = len(events)
    reading = meter.before(extended(loop, *loop.results))
    added = [
        event
        for event in events[count:]
        if isinstance(event, MessageAdded | MessageReplaced | Rewound)
    ]
    assert [type(event) for event in added] == [MessageAdded]
    assert reading.basis.last_input == loop.wanted_input
    assert reading.basis.last_output == loop.wanted_output
    assert 5 <= reading.basis.new <= 60
    assert reading.basis.removed == 0


@LOOPS
def test_an_answer_that_was_never_shown_is_known_by_its_place(loop: Loop) -> None:
    meter, _ = begun(loop, shown=False)
    reading = meter.before(extended(loop, *loop.results))
    assert reading.basis.last_output == loop.wanted_output
    assert 5 <= reading.basis.new <= 60


@LOOPS
def test_the_same_body_again_adds_nothing(loop: Loop) -> None:
    meter, events = begun(loop)
    body = extended(loop, *loop.results)
    first = meter.before(body)
    count = len(events)
    again = meter.before(copy.deepcopy(body))
    assert [type(event).__name__ for event in events[count:]] == ["CallStarted"]
    assert again.used == first.used


@LOOPS
def test_a_request_sent_again_is_counted_without_the_answer_that_it_does_not_hold(
    loop: Loop,
) -> None:
    for shown in (False, True):
        meter, events = begun(loop, shown=shown)
        again = meter.before(copy.deepcopy(loop.body))
        assert again.basis.last_output == 0
        assert loop.wanted_input <= again.used.tokens <= loop.wanted_input + 5
        replayed = Meter()
        for event in events:
            replayed.apply(event)
        assert replayed.reading().used == meter.reading().used


def test_an_answer_that_the_provider_keeps_has_not_left() -> None:
    meter, events = begun(RESPONSES, shown=False)
    meter.before({**RESPONSES.body, "previous_response_id": "resp_1"})
    assert not any(isinstance(event, Rewound) for event in events)


def test_a_cache_mark_that_moves_to_the_newest_message_is_no_edit() -> None:
    events: list[Event] = []
    meter = Meter("anthropic:claude-opus-4-5", on_event=events.append)
    history: list[Json] = []
    for turn in range(4):
        history.append({"role": "user", "content": f"This is question {turn}."})
        sent = copy.deepcopy(history)
        sent[-1]["content"] = [
            {
                "type": "text",
                "text": history[-1]["content"],
                "cache_control": {"type": "ephemeral"},
            }
        ]
        body = {"model": "claude-opus-4-5", "max_tokens": 99, "messages": sent}
        call = meter.before(body).call
        answer = [{"type": "text", "text": f"This is answer {turn}."}]
        meter.after(call, {"input_tokens": 50 + 20 * turn, "output_tokens": 8}, answer)
        history.append({"role": "assistant", "content": answer})
    assert sum(isinstance(event, MessageAdded) for event in events) == len(history)
    assert not any(isinstance(event, Rewound | MessageReplaced) for event in events)


@LOOPS
def test_a_shorter_body_is_smaller_at_once(loop: Loop) -> None:
    meter, _ = begun(loop)
    longer = meter.before(extended(loop, *loop.results))
    shorter = meter.before(loop.body)
    assert shorter.used.tokens < longer.used.tokens


@LOOPS
def test_the_ledger_of_a_loop_gives_the_same_reading_again(loop: Loop) -> None:
    meter, events = begun(loop)
    meter.before(extended(loop, *loop.results))
    replayed = Meter()
    for event in events:
        replayed.apply(event)
    assert replayed.reading() == meter.reading()
