from types import SimpleNamespace
from typing import Any

import pytest

from ullage.codec.bodies import detect_wire, read_body
from ullage.codec.body_pieces import pieces_of
from ullage.codec.held import answer_id, continued_as, continued_in
from ullage.codec.history import encode
from ullage.codec.wires import WIRES
from ullage.errors import InvalidRequest
from ullage.messages import Message, Request, Tool

CONTINUE = {"type": "continue", "previous_message_id": "msg_1"}


@pytest.mark.parametrize(
    ("wire", "fields", "name"),
    [
        ("responses", {"previous_response_id": "resp_1"}, "resp_1"),
        ("responses", {"conversation": "conv_1"}, "conv_1"),
        ("responses", {"conversation": {"id": "conv_1"}}, "conv_1"),
        ("responses", {"previous_response_id": None, "conversation": None}, ""),
        ("responses", {"prompt": {"id": "pmpt_1"}}, ""),
        ("messages", {"thread": CONTINUE}, "msg_1"),
        ("messages", {"thread": {"type": "create"}}, ""),
        ("messages", {"container": "container_1"}, ""),
        ("messages", {"previous_response_id": "resp_1"}, ""),
        ("generateContent", {"cachedContent": "cachedContents/1"}, ""),
        ("chat", {"thread": CONTINUE, "conversation": "conv_1"}, ""),
        ("responses", {"conversation": ["conv_1"]}, ""),
        ("messages", {"thread": {"type": "continue", "previous_message_id": 7}}, ""),
    ],
)
def test_what_a_body_continues_is_read_the_same_everywhere(
    wire: str, fields: dict[str, Any], name: str
) -> None:
    items = {WIRES[wire].field: [{"role": "user", "content": "And now?"}]}
    body = {"model": "m", **items, **fields}
    assert continued_in(wire, body) == name
    assert pieces_of(wire, body).chained == name
    request = read_body(body, wire=wire)
    assert request.chained == name
    assert "thread" not in request.params or wire == "chat"


def test_a_thread_is_told_from_chat_by_its_field_alone() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "And now?"}]}
    assert detect_wire(body) == "chat"
    assert detect_wire({**body, "thread": CONTINUE}) == "messages"
    assert detect_wire({"model": "m", "conversation": "conv_1"}) == "responses"
    with pytest.raises(InvalidRequest):
        detect_wire({"model": "m", "thread": CONTINUE})


def test_a_thread_is_written_without_what_the_provider_keeps_of_it() -> None:
    request = Request(
        wire="messages", model="m", chained="msg_1", tools=(Tool(name="x"),)
    )
    encoded = encode(request)
    assert encoded.body["thread"] == CONTINUE
    assert "tools" not in encoded.body
    assert "message-threads" in encoded.headers["anthropic-beta"]


@pytest.mark.parametrize(
    ("wire", "chained", "name"),
    [
        ("responses", "", "a1"),
        ("responses", "resp_1", "a1"),
        ("responses", "conv_1", "conv_1"),
        ("messages", "msg_1", "a1"),
        ("chat", "", ""),
        ("generateContent", "", ""),
    ],
)
def test_an_answer_is_continued_by_its_id_or_its_conversations(
    wire: str, chained: str, name: str
) -> None:
    assert continued_as(Request(wire=wire, model="m", chained=chained), "a1") == name


def test_the_id_of_an_answer_is_read_from_a_whole_one_only() -> None:
    assert answer_id("responses", {"id": "resp_1", "output": []}) == "resp_1"
    assert answer_id("responses", [{"id": "msg_1"}]) == ""
    assert answer_id("responses", {"id": "resp_1"}) == ""
    assert answer_id("messages", SimpleNamespace(id="msg_1", content=[])) == "msg_1"
    assert answer_id("messages", SimpleNamespace(id=7, content=[])) == ""
    assert answer_id("messages", Message(id="own", role="assistant", parts=())) == ""
    assert answer_id("chat", {"id": "chatcmpl", "content": ""}) == ""
    assert answer_id("responses", None) == ""
