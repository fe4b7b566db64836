"""What makes two messages the same to a model."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.messages import (
    Message,
    ProviderData,
    ProviderItem,
    TextPart,
    ToolResultPart,
)
from ullage.meter.same_content import same_content


def data(fields: dict[str, Any]) -> ProviderData:
    return ProviderData(data=msgspec.Raw(msgspec.json.encode(fields)), wire="messages")


def text(name: str, fields: dict[str, Any] | None = None) -> TextPart:
    return TextPart(
        id=name, text="Hello", provider=None if fields is None else data(fields)
    )


def user(*parts: Any) -> Message:
    return Message(id=parts[0].id, role="user", parts=parts)


MARK = {"type": "ephemeral"}
CITED = {"citations": {"enabled": True}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (text("a"), text("b")),
        (text("a", {"cache_control": MARK}), text("b")),
        (text("a", {"cache_control": MARK, **CITED}), text("b", CITED)),
        (
            ToolResultPart(id="r", call_id="c", content=(text("a"),)),
            ToolResultPart(id="s", call_id="c", content=(text("b", {"cachePoint": {}}),)),
        ),
        (
            ProviderItem(
                id="i", kind="x", provider=data({"a": [{"cache_control": MARK}]})
            ),
            ProviderItem(id="j", kind="x", provider=data({"a": [{}]})),
        ),
    ],
    ids=["ids", "mark", "mark beside others", "inside a result", "inside an item"],
)
def test_ids_and_cache_marks_are_no_content(one: Any, other: Any) -> None:
    assert same_content(user(one), user(other))
    assert same_content(user(other), user(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (text("a", CITED), text("b")),
        (text("a", {"cache_control": MARK, **CITED}), text("b", {"cache_control": MARK})),
        (text("a"), TextPart(id="b", text="Good bye")),
    ],
)
def test_other_fields_and_text_are(one: Any, other: Any) -> None:
    assert not same_content(user(one), user(other))
