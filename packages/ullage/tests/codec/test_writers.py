"""Encoded messages by the piece: what is joined, marked and looked up across pieces."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.codec.streams import HOSTS, request, user
from ullage.codec.blocks import PLAIN, CacheMarks, MessageWriter, Options, Sending
from ullage.codec.history import History, encode
from ullage.codec.wires import target_of, wire_named
from ullage.messages import (
    ImagePart,
    Message,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)

WIRES = sorted(HOSTS)


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


def grows(given: Request, options: Options = PLAIN) -> None:
    """Every prefix, message by message, is what is encoded in one piece."""
    history = History()
    for at in range(len(given.messages)):
        asked = replace(given, messages=given.messages[: at + 1])
        repaired, encoded, content = history.prepare(asked, options=options)
        whole = encode(repaired.request, options=options)
        assert content == whole.content == encoded.content
        assert encoded._replace(body={}) == whole._replace(body={})


@pytest.mark.parametrize("wire", WIRES)
def test_neighbours_of_one_speaker_are_joined_across_pieces(wire: str) -> None:
    messages = (
        *(
            user("a", "u"),
            user("b", "v"),
            answer("x"),
            answer("y"),
            result("r", "1"),
            result("s", "2"),
        ),
        *(
            user("c", "w"),
            Message(id="sys", role="system", parts=(TextPart(id="sys.t", text="note"),)),
            answer("z"),
        ),
    )
    grows(
        request(
            wire,
            *messages,
            system=(SystemBlock(text="S"),),
            tools=(Tool(name="f"),),
            stream=True,
        )
    )


@pytest.mark.parametrize(
    "marks",
    [None, CacheMarks(), CacheMarks(messages=9, system=False), CacheMarks(messages=0)],
)
def test_markers_move_with_the_last_turns_over_any_number_of_them(
    marks: CacheMarks | None,
) -> None:
    turns = [
        one for at in range(9) for one in (user(f"q{at}", f"u{at}"), answer(f"a{at}"))
    ]
    grows(
        request("messages", *turns, user("end", "e"), system=(SystemBlock(text="S"),)),
        Options(cache=marks),
    )


def test_turns_that_can_carry_no_marker_are_passed_over() -> None:
    data = ProviderData(data=msgspec.Raw(b'{"type":"container_upload"}'), wire="messages")
    items = [
        Message(
            id=f"i{at}", role="user", parts=(ProviderItem(id=f"i{at}.p", provider=data),)
        )
        for at in range(9)
    ]
    turns = [one for at, item in enumerate(items) for one in (item, answer(f"a{at}"))]
    grows(
        request(
            "messages", user("q", "u"), answer("x"), user("r", "v"), answer("y"), *turns
        )
    )


def test_a_turn_with_nothing_to_send_is_left_out_and_keeps_its_neighbours_apart() -> None:
    thought = ReasoningPart(id="th", text="hm", provider=None)
    turns = [
        one for at in range(8) for one in (user(f"q{at}", f"u{at}"), answer(f"a{at}"))
    ]
    silent = Message(id="silent", role="assistant", parts=(thought,))
    grows(
        request(
            "messages",
            user("first", "f"),
            silent,
            user("second", "s"),
            *turns,
            user("end", "e"),
        )
    )


@pytest.mark.parametrize("wire", WIRES)
def test_what_can_not_be_sent_is_named_in_the_order_of_the_whole(wire: str) -> None:
    image = Message(id="i", role="user", parts=(ImagePart(id="img", source="blake2b:1"),))
    given = request(
        wire,
        user("a", "u"),
        image,
        answer("x"),
        image,
        tools=(Tool(name="web", kind="web"),),
    )
    grows(given, Options(thinking_budget=5))


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


def test_a_negative_number_of_markers_marks_every_turn() -> None:
    turns = [
        one for at in range(9) for one in (user(f"q{at}", f"u{at}"), answer(f"a{at}"))
    ]
    every = Options(cache=CacheMarks(messages=-1))
    assert (
        encode(request("messages", *turns), options=every).content.count(b"cache_control")
        == 9
    )
    grows(request("messages", *turns, user("end", "e")), every)


@pytest.mark.parametrize("wire", WIRES)
def test_parameters_around_the_messages_stand_where_they_stood(wire: str) -> None:
    grows(
        replace(
            request(wire, user("a", "u")),
            params={"model": "other", "n": 1, "tools": []},
            stream=True,
        )
    )
