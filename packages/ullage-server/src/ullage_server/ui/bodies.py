"""What pages send: bodies of the Vercel AI SDK and of AG-UI, and what they ask for. Pure.

A page sends its whole history with every message. Only the last message is read: the session's ledger holds the others.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from ullage.errors import InputError
from ullage_agent.runtime.message_input import NamedFile
from ullage_server.api_types import MessageId, SessionId

T = TypeVar("T")


class UnusablePage(InputError):
    """A page's request that can't be used."""


class PageMessage(Struct, kw_only=True):
    """A message of a page, with ``parts`` (AI SDK) or ``content`` (AG-UI), which are read where it is the last one."""

    id: str
    role: str
    parts: Any = ()
    content: Any = None


class UiRequest(Struct, kw_only=True, rename="camel"):
    """What ``DefaultChatTransport`` sends (``src/ui/http-chat-transport.ts`` of ai 7.0.173). ``id`` is the session's,
    which begins with its first message. ``message`` may stand in the place of ``messages``.
    """

    id: SessionId
    messages: tuple[PageMessage, ...] = ()
    message: PageMessage | None = None
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = None


class ResumeEntry(Struct, kw_only=True, rename="camel"):
    """A person's answer to an interrupt."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class RunRequest(Struct, kw_only=True, rename="camel"):
    """``RunAgentInput`` of @ag-ui/core 1.0.0. The thread is the session, which begins with its first message.

    ``tools``, ``context`` and ``state`` of the page are not used.
    """

    thread_id: SessionId
    run_id: Annotated[str, Meta(max_length=200)]
    messages: tuple[PageMessage, ...] = ()
    resume: tuple[ResumeEntry, ...] = ()


class PageAnswer(NamedTuple):
    """A person's answer to a call that needs approval. ``note`` is the reason of a no."""

    call_id: str
    digest: str
    approved: bool
    note: str


class PageTurn(NamedTuple):
    """What a page asks for. Without a message and answers it asks for what runs.

    ``is_again``: the message replaces the one of its id and all that followed.
    """

    session: str
    message: str = ""
    pieces: tuple[str | NamedFile, ...] = ()
    answers: tuple[PageAnswer, ...] = ()
    is_again: bool = False


class _Decision(Struct):
    approved: bool
    reason: str | None = None


class _Approval(Struct):
    id: str
    approved: bool = False
    reason: str | None = None


class _Source(Struct):
    type: str
    value: str


class _Part(Struct):
    """A part of a message, of either protocol."""

    type: str
    text: str = ""
    url: str = ""
    filename: str | None = None
    state: str | None = None
    approval: _Approval | None = None
    source: _Source | None = None


msgspec.json.Decoder(tuple[_Part, ...])  # asks for the classes where they are imported
msgspec.json.Decoder(_Decision)


def asked_by_ui(body: UiRequest) -> PageTurn:
    """What a page with ``useChat`` asks for. Raises ``UnusablePage``."""
    last = body.message or (body.messages[-1] if body.messages else None)
    if last is None:
        raise UnusablePage("There is no message: send `messages` or `message`.")
    parts = _decoded(last.parts, tuple[_Part, ...])
    if last.role == "user":
        is_again = body.trigger != "submit-message" or body.message_id == last.id
        return PageTurn(body.id, *_message(last, parts), is_again=is_again)
    answers = []
    for part in parts:
        if part.state == "approval-responded" and part.approval:
            answers.append(_answer(part.approval.id, part.approval))
    if not answers:
        raise UnusablePage(
            "The last message is no user's and answers no call that needs approval: send a user's message."
        )
    return PageTurn(body.id, answers=tuple(answers))


def asked_by_run(body: RunRequest) -> PageTurn:
    """What a page with AG-UI asks for. Raises ``UnusablePage``."""
    answers = []
    for entry in body.resume:
        given = _Decision(False, "The person closed the question without an answer.")
        if entry.status == "resolved":
            given = _decoded(entry.payload, _Decision)
        answers.append(_answer(entry.interrupt_id, given))
    last = body.messages[-1] if body.messages else None
    if answers or last is None or last.role != "user":
        return PageTurn(body.thread_id, answers=tuple(answers))
    if isinstance(last.content, str):
        return PageTurn(body.thread_id, *_message(last, (_Part("text", last.content),)))
    parts = _decoded(last.content, tuple[_Part, ...])
    return PageTurn(body.thread_id, *_message(last, parts))


def _message(
    last: PageMessage, parts: tuple[_Part, ...]
) -> tuple[str, tuple[str | NamedFile, ...]]:
    """The id of a user's message, and what it is made of."""
    pieces = tuple(_piece(part) for part in parts if part.text or part.url or part.source)
    return _decoded(last.id, MessageId), pieces


def _piece(part: _Part) -> str | NamedFile:
    if part.text:
        return part.text
    head, _, data = part.url.partition(";base64,")
    is_data = head.startswith("data:")
    if part.source:
        is_data, data = part.source.type == "data", part.source.value
    if not is_data:
        raise UnusablePage(
            "A file is named by an address, which the server does not fetch: send its bytes as base64."
        )
    try:
        return NamedFile(part.filename or "", b64decode(data, validate=True))
    except ValueError as problem:
        raise UnusablePage(f"A file is no base64: {problem}.") from problem


def _answer(name: str, given: _Decision | _Approval) -> PageAnswer:
    digest, _, call_id = name.partition(".")
    return PageAnswer(call_id, digest, given.approved, given.reason or "")


def _decoded(given: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as problem:
        raise UnusablePage(f"The last message can't be used: {problem}.") from problem
