"""What makes two messages the same to a model."""

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
from ullage.meter import following
from ullage.meter.meter import Meter
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


def test_each_message_of_a_growing_history_is_compared_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[Message] = []

    def counted(one: Message, other: Message) -> bool:
        compared.append(other)
        return same_content(one, other)

    monkeypatch.setattr(following, "same_content", counted)
    meter = Meter("gpt-4o", wire="chat", provider="openai", estimator="pretoken")
    messages: list[dict[str, Any]] = []
    turns = 10
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}"})
        reading = meter.before({"model": "gpt-4o", "messages": messages})
        answer = {"role": "assistant", "content": f"Answer {turn}"}
        meter.after(reading.call, {"prompt_tokens": 20 * turn + 9}, answer)
        messages.append(dict(answer))
    assert 0 < len(compared) <= turns
    messages[1]["content"] = "Another answer"
    meter.before({"model": "gpt-4o", "messages": messages})
    assert "Another answer" in [part.text for part in meter.messages[1].parts]  # type: ignore[union-attr]


def test_an_answer_is_the_same_after_a_change_of_the_model() -> None:
    fields = {"id": "msg_1", "status": "completed"}
    one = text("t", fields)
    assert one.provider is not None
    before = msgspec.structs.replace(one.provider, provider="openai", model="gpt-4.1")
    after = msgspec.structs.replace(one.provider, provider="openai", model="gpt-5")
    question = user(msgspec.structs.replace(one, id="u", provider=after))
    assert same_content(user(msgspec.structs.replace(one, provider=before)), question)
    edited = msgspec.structs.replace(
        after, data=msgspec.Raw(msgspec.json.encode({**fields, "id": "msg_2"}))
    )
    assert not same_content(
        user(msgspec.structs.replace(one, provider=before)),
        user(msgspec.structs.replace(one, id="u", provider=edited)),
    )
