"""Encoded messages by the piece: what is joined, marked and looked up across pieces."""

import json
from typing import Any

import msgspec

from tests.codec.streams import request
from ullage.codec.blocks import PLAIN, MessageWriter, Sending
from ullage.codec.wires import target_of, wire_named
from ullage.messages import (
    Message,
    ProviderData,
    Request,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def answer(name: str, *parts: Any) -> Message:
    return Message(
        id=name, role="assistant", parts=parts or (TextPart(id=f"{name}.t", text="so"),)
    )


def call(call_id: str, name: str = "read", *, kind: str = "") -> ToolCallPart:
    data = (
        ProviderData(
            data=msgspec.Raw(json.dumps({"type": kind}).encode()), wire="responses"
        )
        if kind
        else None
    )
    return ToolCallPart(
        id=f"c{call_id}", call_id=call_id, name=name, arguments="{}", provider=data
    )


def result(name: str, call_id: str) -> Message:
    return Message(
        id=name, role="tool", parts=(ToolResultPart(id=f"{name}.r", call_id=call_id),)
    )


def added(writer: MessageWriter, given: Request, *new: Message) -> bool:
    return writer.add(Sending(given, target_of(given), PLAIN), new)


def test_a_call_that_alters_the_kind_of_an_earlier_result_is_refused() -> None:
    given = request("responses")
    messages = wire_named(given.wire).writer()
    assert added(messages, given, result("r", "1"))
    assert added(messages, given, answer("a", call("2", kind="custom_tool_call")))
    assert not added(messages, given, answer("b", call("1", kind="custom_tool_call")))


def test_a_call_that_alters_the_name_of_an_earlier_result_is_refused() -> None:
    given = request("generateContent")
    messages = wire_named(given.wire).writer()
    assert added(messages, given, answer("a", call("1", "read")), result("r", "1"))
    assert added(messages, given, answer("b", call("1", "read"), call("2")))
    assert not added(messages, given, answer("c", call("1", "write")))
