"""A history whose calls have one result each, directly behind them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiers import examples
from ullage.codec.bodies import read_body
from ullage.codec.repair_calls import NO_RESULT
from ullage.context.mended_calls import mended
from ullage.messages import (
    Message,
    Part,
    ProviderItem,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def call(number: int, name: str = "c") -> ToolCallPart:
    return ToolCallPart(
        id=f"call{number}", call_id=f"{name}{number}", name="look", arguments="{}"
    )


def result(number: int, mark: str = "") -> ToolResultPart:
    text = TextPart(id=f"text{number}{mark}", text="Found.")
    return ToolResultPart(
        id=f"result{number}{mark}", call_id=f"c{number}", name="look", content=(text,)
    )


def text(number: int) -> TextPart:
    return TextPart(id=f"t{number}", text="Hello.")


def history(*said: tuple[Role, Sequence[Part]]) -> tuple[Message, ...]:
    return tuple(
        Message(id=f"m{at}", role=role, parts=tuple(parts))
        for at, (role, parts) in enumerate(said)
    )


def shape(messages: Sequence[Message]) -> list[tuple[str, list[str]]]:
    return [(one.role, [part.id for part in one.parts]) for one in messages]


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    lost = history(
        ("assistant", [call(1), call(2)]), ("tool", [result(1)]), ("user", [text(1)])
    )
    found = mended(lost)
    assert shape(found) == [
        ("assistant", ["call1", "call2"]),
        ("tool", ["result1", "call2.result"]),
        ("user", ["t1"]),
    ]
    assert found[0] is lost[0]
    added = found[1].parts[1]
    assert isinstance(added, ToolResultPart)
    assert added.is_error
    assert [part.text for part in added.content if isinstance(part, TextPart)] == [
        NO_RESULT
    ]


def test_a_result_that_came_late_goes_behind_its_call() -> None:
    late: list[tuple[Role, list[Part]]] = [("user", [text(1)]), ("tool", [result(1)])]
    found = mended(history(("assistant", [call(1)]), *late))
    names = [["call1"], ["result1"], ["t1"]]
    assert shape(found) == list(zip(("assistant", "tool", "user"), names, strict=True))


def test_a_result_whose_call_may_be_one_that_the_provider_holds_stays() -> None:
    reference = ProviderItem(id="r", kind="item_reference")
    found = history(("assistant", [reference]), ("tool", [result(1)]))
    assert shape(mended(found)) == shape(found)


def test_the_reference_is_named_as_the_reader_names_it() -> None:
    items = [{"role": "user", "content": "a"}, {"type": "item_reference", "id": "x"}]
    request = read_body({"model": "m", "input": items}, wire="responses")
    kinds = [getattr(part, "kind", "") for one in request.messages for part in one.parts]
    assert "item_reference" in kinds


PARTS = st.one_of(
    st.builds(text, st.integers(0, 9)),
    st.builds(call, st.integers(0, 5)),
    st.builds(result, st.integers(0, 5)),
)
ROLES = {"assistant": ToolCallPart, "tool": ToolResultPart, "user": TextPart}


def spoken(role: Role, parts: list[Part]) -> tuple[Role, list[Part]]:
    """What a message of this role may hold, each part a value of its own."""
    kinds = (TextPart, ROLES[role])
    return role, [
        msgspec.structs.replace(part) for part in parts if isinstance(part, kinds)
    ]


@settings(max_examples=examples(600))
@given(
    st.lists(
        st.builds(spoken, st.sampled_from(list(ROLES)), st.lists(PARTS, max_size=4)),
        max_size=12,
    )
)
def test_each_call_has_one_result_behind_it(said: list[tuple[Role, list[Part]]]) -> None:
    given_messages = history(*said)
    found = mended(given_messages)
    assert mended(found) is found
    open_calls: list[str] = []
    for message in found:
        if message.role != "tool":
            assert open_calls == []
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                open_calls.append(part.call_id)
            if isinstance(part, ToolResultPart):
                open_calls.remove(part.call_id)
    assert open_calls == []
    assert all(one.parts or one in given_messages for one in found)
    given_parts = [part for one in given_messages for part in one.parts]
    texts = [id(part) for part in given_parts if not isinstance(part, ToolResultPart)]
    found_parts = [part for one in found for part in one.parts]
    assert texts == [
        id(part) for part in found_parts if not isinstance(part, ToolResultPart)
    ]
