"""The Meter beside a loop that speaks a provider's own JSON: what comes back is recognised, on every wire."""

import copy
from dataclasses import dataclass
from typing import Any

import pytest

from tests.codec.test_bodies import WIRES, Wire
from ullage import Meter
from ullage.events import Event, MessageAdded, MessageReplaced, Rewound

Json = dict[str, Any]


@dataclass
class Loop:
    """One wire: its first body, answer and next body, and what the answer reports."""

    wire: Wire
    model: str
    usage: Json
    wanted_output: int
    wanted_input: int = 5000


CACHED = {"cache_read_input_tokens": 4600, "cache_creation_input_tokens": 0}
THOUGHTS = {"output_tokens_details": {"reasoning_tokens": 128}}
REPORTED: dict[str, tuple[str, Json, int]] = {
    "messages": (
        "anthropic:claude-sonnet-4-5",
        {"input_tokens": 400, **CACHED, "output_tokens": 90},
        90,
    ),
    "chat": (
        "deepseek:deepseek-reasoner",
        {"prompt_tokens": 5000, "completion_tokens": 40, "total_tokens": 5040},
        40,
    ),
    "responses": (
        "openai:gpt-5",
        {"input_tokens": 5000, "output_tokens": 161, **THOUGHTS, "total_tokens": 5161},
        161,
    ),
    "generateContent": (
        "google:gemini-3-flash-preview",
        {
            "promptTokenCount": 5000,
            "candidatesTokenCount": 22,
            "thoughtsTokenCount": 130,
            "totalTokenCount": 5152,
        },
        152,
    ),
}
EVERY = {wire.name: Loop(wire, *REPORTED[wire.name]) for wire in WIRES}
LOOPS = pytest.mark.parametrize("loop", EVERY.values(), ids=EVERY)


def begun(loop: Loop, *, shown: bool = True) -> tuple[Meter, list[Event]]:
    events: list[Event] = []
    meter = Meter(loop.model, on_event=events.append)
    first = meter.before(loop.wire.body)
    meter.after(first.call, loop.usage, loop.wire.answer if shown else None)
    return meter, events


@LOOPS
def test_the_answer_that_comes_back_is_the_one_that_was_shown(loop: Loop) -> None:
    meter, events = begun(loop)
    count = len(events)
    reading = meter.before(loop.wire.echo)
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
    reading = meter.before(loop.wire.echo)
    assert reading.basis.last_output == loop.wanted_output
    assert 5 <= reading.basis.new <= 60


@LOOPS
def test_the_same_body_again_adds_nothing(loop: Loop) -> None:
    meter, events = begun(loop)
    body = loop.wire.echo
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
        again = meter.before(copy.deepcopy(loop.wire.body))
        assert again.basis.last_output == 0
        assert loop.wanted_input <= again.used.tokens <= loop.wanted_input + 5
        replayed = Meter()
        for event in events:
            replayed.apply(event)
        assert replayed.reading().used == meter.reading().used


def test_an_answer_that_the_provider_keeps_has_not_left() -> None:
    meter, events = begun(EVERY["responses"], shown=False)
    meter.before({**EVERY["responses"].wire.body, "previous_response_id": "resp_1"})
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
    longer = meter.before(loop.wire.echo)
    shorter = meter.before(loop.wire.body)
    assert shorter.used.tokens < longer.used.tokens
