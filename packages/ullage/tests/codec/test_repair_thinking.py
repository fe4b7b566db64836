"""Thinking is switched off for the rest of a turn whose tool loop began without it, and only there."""

from __future__ import annotations

import msgspec
import pytest

from ullage.codec.repair import ToolLoop, repair
from ullage.messages import (
    Message,
    ProviderData,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

ENABLED = {"max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 2_000}}
SIGNED = ProviderData(
    data=msgspec.Raw(b'{"signature":"c2ln"}'), provider="anthropic", wire="messages"
)


def said(name: str, text: str = "hello") -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text=text),))


def calling(name: str, *, thinks: bool) -> Message:
    thought = (
        (ReasoningPart(id=f"{name}.r", text="hm", provider=SIGNED),) if thinks else ()
    )
    return Message(
        id=name,
        role="assistant",
        parts=(*thought, ToolCallPart(id=f"{name}.0", call_id=name, name="read")),
    )


def result(name: str, call_id: str) -> Message:
    text = TextPart(id=f"{name}.t", text="text")
    return Message(
        id=name,
        role="tool",
        parts=(ToolResultPart(id=f"{name}.0", call_id=call_id, content=(text,)),),
    )


def answered(name: str) -> Message:
    return Message(
        id=name, role="assistant", parts=(TextPart(id=f"{name}.0", text="done"),)
    )


def thinking_of(
    *messages: Message, params: dict[str, object] = ENABLED, wire: str = "messages"
) -> object:
    request = Request(
        wire=wire,
        provider="anthropic",
        model="claude-sonnet-4-5",
        messages=messages,
        params=params,
        tools=(),
    )
    repaired = repair(request)
    assert request.params == params
    return repaired.request.params.get("thinking")


OFF = {"type": "disabled"}


def test_a_loop_that_another_model_began_is_finished_without_thinking() -> None:
    assert thinking_of(said("q"), calling("a", thinks=False), result("r", "a")) == OFF


def test_it_stays_off_for_the_whole_turn_whoever_answers_in_between() -> None:
    loop = (
        said("q"),
        calling("a", thinks=False),
        result("r", "a"),
        calling("b", thinks=True),
        result("s", "b"),
    )
    assert thinking_of(*loop) == OFF


def test_the_next_turn_thinks_again() -> None:
    turn = (
        said("q"),
        calling("a", thinks=False),
        result("r", "a"),
        answered("b"),
        said("next"),
    )
    assert thinking_of(*turn) == ENABLED["thinking"]
    assert (
        thinking_of(*turn, calling("c", thinks=True), result("s", "c"))
        == ENABLED["thinking"]
    )


def test_a_message_of_the_user_beside_the_results_begins_no_turn() -> None:
    assert (
        thinking_of(
            said("q"), calling("a", thinks=False), result("r", "a"), said("and hurry")
        )
        == OFF
    )


def test_a_loop_that_began_with_its_thinking_goes_on_thinking() -> None:
    loop = (
        said("q"),
        calling("a", thinks=True),
        result("r", "a"),
        calling("b", thinks=False),
        result("s", "b"),
    )
    assert thinking_of(*loop) == ENABLED["thinking"]


@pytest.mark.parametrize("thinking", [{"type": "adaptive"}, {"type": "disabled"}])
def test_other_ways_to_think_ask_for_nothing(thinking: dict[str, object]) -> None:
    loop = (said("q"), calling("a", thinks=False), result("r", "a"))
    assert thinking_of(*loop, params={"thinking": thinking}) == thinking


def test_no_other_wire_is_touched() -> None:
    assert (
        thinking_of(said("q"), calling("a", thinks=False), result("r", "a"), wire="chat")
        == ENABLED["thinking"]
    )


def test_the_repair_is_named_and_the_same_in_every_request_of_the_turn() -> None:
    loop = (said("q"), calling("a", thinks=False), result("r", "a"))
    longer = (*loop, calling("b", thinks=False), result("s", "b"))
    notes = [
        [
            repair_
            for repair_ in repair(
                Request(wire="messages", model="claude-x", messages=some, params=ENABLED)
            ).repairs
            if repair_.kind == "thinking_off"
        ]
        for some in (loop, longer)
    ]
    assert notes[0] == notes[1]
    assert [(note.kind, note.message) for note in notes[0]] == [("thinking_off", "a")]


def test_the_loop_is_found_in_pieces_as_in_one() -> None:
    first, second = calling("a", thinks=False), calling("b", thinks=True)
    pieces = [
        ([said("q"), first], None),
        ([result("r", "a")], first),
        ([said("steer"), second, result("s", "b")], first),
        ([answered("c"), said("next")], None),
        ([second, result("s", "b")], second),
        ([second, first, result("r", "a")], first),
    ]
    loop = ToolLoop()
    for messages, begun_by in pieces:
        loop.add(messages)
        assert loop.begun_by is begun_by


def test_a_result_before_any_answer_begins_no_loop() -> None:
    loop = ToolLoop()
    loop.add([result("r", "gone")])
    assert loop.begun_by is None
    answer = calling("a", thinks=True)
    loop.add([answer, result("s", "a")])
    assert loop.begun_by is answer
