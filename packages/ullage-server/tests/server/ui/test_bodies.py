"""What pages send."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
import pytest

from ullage_agent.runtime.message_input import NamedFile
from ullage_server.ui.bodies import (
    PageAnswer,
    PageTurn,
    RunRequest,
    UiRequest,
    UnusablePage,
    asked_by_run,
    asked_by_ui,
)

BYTES = b64encode(b"a,b").decode()


def ui(*messages: dict[str, Any], **more: Any) -> PageTurn:
    body = {"id": "s1", "messages": messages, **more}
    return asked_by_ui(msgspec.convert(body, UiRequest))


def run(*messages: dict[str, Any], **more: Any) -> PageTurn:
    body = {"threadId": "s1", "runId": "r1", "messages": messages, **more}
    return asked_by_run(msgspec.convert(body, RunRequest))


def user(*parts: object, name: str = "u1") -> dict[str, Any]:
    return {"id": name, "role": "user", "parts": parts}


TEXT = {"type": "text", "text": "Hello"}


def test_only_the_last_message_of_use_chat_is_read() -> None:
    odd = {"id": "\0", "role": "assistant", "parts": [{"type": 5}, None]}
    assert ui(odd, user(TEXT)) == PageTurn("s1", "u1", ("Hello",))


def test_a_page_may_send_its_last_message_alone() -> None:
    assert ui(message=user(TEXT)) == PageTurn("s1", "u1", ("Hello",))


def test_files_come_as_bytes() -> None:
    url = f"data:text/csv;base64,{BYTES}"
    file = {"type": "file", "mediaType": "text/csv", "url": url, "filename": "a.csv"}
    assert ui(user(file, TEXT)).pieces == (NamedFile("a.csv", b"a,b"), "Hello")
    source = {"type": "data", "value": BYTES, "mimeType": "text/csv"}
    content = [{"type": "document", "source": source}, TEXT]
    message = {"id": "u1", "role": "user", "content": content}
    assert run(message).pieces == (NamedFile("", b"a,b"), "Hello")


def test_answers_to_calls_name_what_was_shown() -> None:
    approval = {"id": "ab12.call.7", "approved": False, "reason": "Too many."}
    part = {"type": "tool-order", "state": "approval-responded", "approval": approval}
    answered = {"id": "a1", "role": "assistant", "parts": [TEXT, part]}
    expected = (PageAnswer("call.7", "ab12", False, "Too many."),)
    assert ui(answered) == PageTurn("s1", answers=expected)


def test_an_interrupt_is_resolved_or_cancelled() -> None:
    resume = [
        {"interruptId": "a.t1", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "b.t2", "status": "cancelled"},
    ]
    first, second = run({"id": "u1", "role": "user"}, resume=resume).answers
    assert first == PageAnswer("t1", "a", True, "")
    assert (second.call_id, second.approved) == ("t2", False)


@pytest.mark.parametrize("more", [{"trigger": "regenerate-message"}, {"messageId": "u1"}])
def test_a_message_may_be_sent_again(more: dict[str, str]) -> None:
    assert ui(user(TEXT), **more).is_again


def test_a_run_without_a_new_message_asks_for_what_runs() -> None:
    assert run() == PageTurn("s1")
    assert run({"id": "a", "role": "assistant", "content": "Hi"}) == PageTurn("s1")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([{"type": "file", "url": "http://10.0.0.1/a.png"}], "does not fetch"),
        ([{"type": "file", "url": "data:a/b;base64,§"}], "no base64"),
        ([{"type": "text", "text": 5}], "Expected `str`"),
        (["text"], "Expected `object`"),
    ],
)
def test_odd_parts_are_refused(parts: list[object], words: str) -> None:
    with pytest.raises(UnusablePage, match=words):
        ui(user(*parts))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"id": "a b", "role": "user", "content": "Hi"}, "can't be used"),
        ({"id": "u", "role": "user", "content": {"a": 1}}, "can't be used"),
        (
            {
                "id": "u",
                "role": "user",
                "content": [{"type": "image", "source": {"type": "url", "value": "x"}}],
            },
            "does not fetch",
        ),
    ],
)
def test_odd_messages_of_a_run_are_refused(message: dict[str, Any], words: str) -> None:
    with pytest.raises(UnusablePage, match=words):
        run(message)


def test_an_interrupt_needs_a_decision() -> None:
    with pytest.raises(UnusablePage, match="approved"):
        run(resume=[{"interruptId": "a.t", "status": "resolved", "payload": {}}])


def test_a_body_without_anything_new_is_refused() -> None:
    with pytest.raises(UnusablePage, match="no message"):
        ui()
    with pytest.raises(UnusablePage, match="answers no call"):
        ui({"id": "a", "role": "assistant", "parts": [TEXT]})
