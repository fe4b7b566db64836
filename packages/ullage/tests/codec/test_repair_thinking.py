"""Thinking is switched off for the rest of a turn whose tool loop began without it, and only there."""

import msgspec
import pytest

from ullage.codec.blocks import Options
from ullage.codec.history import History
from ullage.codec.repair import ToolLoop, repair
from ullage.messages import (
    Message,
    Part,
    ProviderData,
    ReasoningPart,
    Request,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

ENABLED = {"max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 2_000}}
SIGNED = ProviderData(
    data=msgspec.Raw(b'{"signature":"c2ln"}'), provider="anthropic", wire="messages"
)


def history(told: str) -> tuple[Message, ...]:
    """``q`` is of the user, ``t`` an answer, ``a-`` a call without thinking, ``a+`` one with it, ``r`` its result."""
    made: list[Message] = []
    for at, kind in enumerate(told.split()):
        name, call = f"m{at}", f"call of m{at}"
        part: Part = TextPart(id=f"{name}.0", text="hello")
        if kind[0] == "a":
            part = ToolCallPart(id=f"{name}.0", call_id=call, name="read")
        elif kind == "r":
            part = ToolResultPart(id=f"{name}.0", call_id=f"call of m{at - 1}")
        thought = ReasoningPart(id=f"{name}.r", text="hm", provider=SIGNED)
        role = ROLES[kind[0]]
        parts = (thought, part) if kind == "a+" else (part,)
        made.append(Message(id=name, role=role, parts=parts))
    return tuple(made)


ROLES: dict[str, Role] = {"q": "user", "t": "assistant", "a": "assistant", "r": "tool"}


def thinking_of(
    told: str, params: dict[str, object] = ENABLED, wire: str = "messages"
) -> object:
    request = Request(
        wire=wire,
        provider="anthropic",
        model="claude-sonnet-4-5",
        messages=history(told),
        params=params,
    )
    repaired = repair(request)
    assert request.params == params
    return repaired.request.params.get("thinking")


@pytest.mark.parametrize(
    ("told", "is_off"),
    [
        ("q a- r", True),  # another model began the loop
        ("q a- r a+ r", True),  # for the whole turn, whoever answers in between
        ("q a- r q", True),  # a message beside the results begins no turn
        ("q a- r t q", False),  # the next turn thinks again
        ("q a- r t q a+ r", False),
        ("q a+ r a- r", False),  # the loop began with its thinking
    ],
)
def test_thinking_is_off_for_the_rest_of_a_turn_whose_loop_began_without_it(
    told: str, is_off: bool
) -> None:
    assert thinking_of(told) == ({"type": "disabled"} if is_off else ENABLED["thinking"])


@pytest.mark.parametrize("thinking", [{"type": "adaptive"}, {"type": "disabled"}])
def test_other_ways_to_think_ask_for_nothing(thinking: dict[str, object]) -> None:
    assert thinking_of("q a- r", {"thinking": thinking}) == thinking


def test_no_other_wire_is_touched() -> None:
    assert thinking_of("q a- r", wire="chat") == ENABLED["thinking"]


def test_the_repair_is_named_and_the_same_in_every_request_of_the_turn() -> None:
    notes = []
    for told in ("q a- r", "q a- r a- r"):
        asked = Request(
            wire="messages", model="claude-x", messages=history(told), params=ENABLED
        )
        notes.append([one for one in repair(asked).repairs if one.kind == "thinking_off"])
    assert notes[0] == notes[1]
    assert [(note.kind, note.message) for note in notes[0]] == [("thinking_off", "m1")]


def test_a_budget_among_the_options_is_switched_off_too() -> None:
    asked = Request(
        wire="messages", model="claude-sonnet-4-5", messages=history("q a- r")
    )
    made = History().prepare(
        asked, options=Options(max_output=9_000, thinking_budget=2_000)
    )
    assert msgspec.json.decode(made.content)["thinking"] == {"type": "disabled"}


def test_a_result_before_any_answer_begins_no_loop() -> None:
    loop = ToolLoop()
    loop.add(history("r"))
    assert loop.begun_by is None
    answer, given = history("a+ r")
    loop.add([answer, given])
    assert loop.begun_by is answer
