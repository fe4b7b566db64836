"""Extending is no change; anything else is one, and says where."""

from typing import Any

import pytest

from ullage.codec.epochs import EpochChange, blocks_of, compare, grows, is_bound, without_marks

TOOL = {"name": "read", "input_schema": {"type": "object"}}
USER = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}


def body(**changes: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "be kind"}],
        "tools": [TOOL],
        "messages": [USER],
        **changes,
    }


def departs(after: dict[str, Any], before: dict[str, Any] | None = None) -> EpochChange | None:
    return compare("messages", before or body(), after, model="claude-opus-4-5")


def test_the_same_request_and_a_longer_one_extend() -> None:
    assert departs(body()) is None
    assert departs(body(messages=[USER, ANSWER, USER])) is None


def test_parameters_and_cache_marks_say_nothing() -> None:
    marked = {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}
    assert departs(body(messages=[marked, ANSWER], max_tokens=99)) is None
    assert departs(body(), body(messages=[marked])) is None


def test_a_message_may_grow_at_the_end_only() -> None:
    more = {"role": "user", "content": [*USER["content"], {"type": "text", "text": "and"}]}
    assert departs(body(messages=[more])) is None
    change = departs(body(messages=[more, ANSWER, USER]), body(messages=[USER, ANSWER]))
    assert change is not None
    assert change[:2] == ("messages", 0)
    assert not grows(USER, {**more, "role": "assistant"})
    assert not grows("a", "ab")


@pytest.mark.parametrize(
    ("change", "reason", "at", "kept"),
    [
        ({"tools": [TOOL, {**TOOL, "name": "write"}]}, "tools", 1, 1),
        ({"tools": None}, "tools", 0, 0),
        ({"tools": [{**TOOL, "description": "new"}]}, "tools", 0, 0),
        ({"system": [{"type": "text", "text": "be brief"}]}, "system", 0, 1),
        ({"system": None}, "system", 0, 1),
        ({"messages": [ANSWER]}, "messages", 0, 2),
        ({"messages": []}, "messages", 0, 2),
    ],
)
def test_a_change_is_named_where_it_comes_first(change: dict[str, Any], reason: str, at: int, kept: int) -> None:
    assert departs(body(**change)) == EpochChange(reason, at, kept, True)  # type: ignore[arg-type]


def test_tools_that_come_later_are_a_change_of_the_tools() -> None:
    change = departs(body(), body(tools=None))
    assert change is not None
    assert change[:3] == ("tools", 0, 0)


def test_another_model_is_another_epoch() -> None:
    change = compare("chat", body(), body(), model="gpt-5", earlier_model="gpt-4.1")
    assert change == EpochChange("model", 0, 0, False)


def test_system_messages_at_the_head_are_the_system_prompt() -> None:
    before = {"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]}
    after = {"messages": [{"role": "developer", "content": "c"}, {"role": "user", "content": "b"}]}
    change = compare("chat", before, after)
    assert change is not None
    assert change[:2] == ("system", 0)
    assert [block.section for block in blocks_of("chat", before)] == ["system", "messages"]


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("responses", {"instructions": "s", "input": [{"role": "user", "content": "u"}], "tools": []}),
        ("generateContent", {"systemInstruction": {"parts": []}, "contents": [{"role": "user", "parts": []}]}),
    ],
)
def test_other_wires_name_their_parts_otherwise(wire: str, body: dict[str, Any]) -> None:
    assert [block.section for block in blocks_of(wire, body)] == ["system", "messages"]


def test_bound_reasoning_is_claudes_and_openais() -> None:
    assert is_bound("messages", "claude-fable-5-1")
    assert is_bound("responses", "gpt-5.2")
    assert not is_bound("chat", "deepseek-v4")


def test_marks_are_taken_out_however_deep() -> None:
    assert without_marks([{"a": ({"cache_control": 1, "b": 2},)}]) == [{"a": [{"b": 2}]}]
