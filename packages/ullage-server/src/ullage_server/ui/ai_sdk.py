"""The UI message stream of the Vercel AI SDK, as ``useChat`` reads and sends it. Pure.

Names and shapes: ``uiMessageChunkSchema`` and ``uiMessagesSchema`` of the npm package ai 7.0.173
(``src/ui-message-stream/ui-message-chunks.ts``, ``src/ui/validate-ui-messages.ts``), and
https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol. The answer to each message of a person is one message of the page.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, assert_never

import msgspec

from ullage.bounds import json_excess
from ullage.events import ReadingTaken
from ullage.messages import FilePart, ImagePart, Message, TextPart, ToolResultPart
from ullage.watching.status import status_of
from ullage_agent.runtime.approvals import Question
from ullage_agent.runtime.session_runtime import BLOB_SOURCE
from ullage_server.event_stream import HEADERS
from ullage_server.ui.steps import (
    CallStep,
    PageStep,
    PartStep,
    Rested,
    ResultStep,
    approval_id,
    counts,
    streamed_parts,
)

UI_HEADERS: Final = {**HEADERS, "x-vercel-ai-ui-message-stream": "v1"}
"""``src/ui-message-stream/ui-message-stream-headers.ts``."""

FINISH_REASONS: Final = {
    "finished": "stop",
    "length": "length",
    "refused": "content-filter",
    "approval": "tool-calls",
    "message": "other",
}
"""``FinishReason`` by how a turn ended or why it waits. Another end is an ``error`` for the page, or an ``abort``."""

CALL_CHUNKS: Final = {
    "start": "tool-input-start",
    "delta": "tool-input-delta",
    "end": "tool-input-available",
}

Chunk = dict[str, Any]


class UiStream:
    """The chunks of one answer. Without a message the page's last message continues."""

    done: Final = b"data: [DONE]\n\n"
    """``src/ui-message-stream/json-to-sse-transform-stream.ts``."""

    wants_messages: Final = False

    def __init__(self, message: str) -> None:
        self._message = message

    def begin(self, _: Sequence[Message]) -> Iterator[Chunk]:
        """What comes first."""
        named = {"messageId": answer_id(self._message)} if self._message else {}
        yield {"type": "start", **named}

    def step(self, step: PageStep) -> Iterator[Chunk]:
        """The chunk of one step."""
        match step:
            case CallStep(_, at, is_lost):
                kind = {"start": "start", "end": "reset" if is_lost else "finish"}[at]
                yield {"type": f"{kind}-step"}
            case PartStep():
                yield _part(step)
            case ResultStep(result, is_denied):
                came = {"state": "output-denied"} if is_denied else _output(result)
                kind = f"tool-{came.pop('state')}"
                yield {"type": kind, "toolCallId": result.call_id, **came}
            case ReadingTaken():
                data = status_of(step)
                yield {"type": "data-ullage-reading", "id": "reading", "data": data}
            case _:
                assert_never(step)

    def rest(
        self, rested: Rested, waiting: Sequence[Question], _: Sequence[Message]
    ) -> Iterator[Chunk]:
        """What comes last."""
        for question in waiting:
            asked = {"toolCallId": question.call_id, "approvalId": approval_id(question)}
            yield {"type": "tool-approval-request", **asked}
        reason = FINISH_REASONS.get(rested.reason)
        usage = {"usage": counts(rested.usage)}
        if rested.reason == "cancelled":
            yield {"type": "abort"}
        elif reason is None:
            yield from self.fail(rested.note or rested.reason)
        else:
            yield {"type": "finish", "finishReason": reason, "messageMetadata": usage}

    def fail(self, note: str) -> Iterator[Chunk]:
        """What comes last where the turn did not end as it should."""
        yield {"type": "error", "errorText": note}


def answer_id(message: str) -> str:
    """The id of the page's message that answers a person's, the same in a stream and in the history."""
    return f"{message}-answer"


def _part(step: PartStep) -> Chunk:
    part, at, text = step
    if part.kind != "call":
        grown = {"delta": text} if at == "delta" else {}
        return {"type": f"{part.kind}-{at}", "id": part.id, **grown}
    by_place: dict[str, Chunk] = {
        "start": {"toolName": part.name},
        "delta": {"inputTextDelta": text},
        "end": {"toolName": part.name, "input": arguments(text)},
    }
    return {"type": CALL_CHUNKS[at], "toolCallId": part.call_id, **by_place[at]}


def arguments(text: str) -> object:
    """A call's arguments as JSON; the text itself where the model wrote something else, or too deep."""
    if json_excess(text):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _output(result: ToolResultPart) -> Chunk:
    if result.is_error:
        return {"state": "output-error", "errorText": result.text}
    return {"state": "output-available", "output": result.text}


def ui_messages(
    messages: Iterable[Message], waiting: Iterable[Question], files: str
) -> list[Chunk]:
    """The messages as ``useChat`` takes them to begin with.

    ``waiting`` are the calls that need approval; ``files`` is the address of images and files without their handles.
    """
    shown: list[Chunk] = []
    calls: dict[str, Chunk] = {}
    for message in messages:
        is_user = message.role == "user"
        if is_user or not shown or shown[-1]["role"] == "user":
            name = answer_id(shown[-1]["id"]) if shown and not is_user else message.id
            role = "user" if is_user else "assistant"
            shown.append({"id": name, "role": role, "parts": []})
        parts = shown[-1]["parts"]
        if is_user:
            parts += _sent(message, files)
            continue
        for result in message.of_type(ToolResultPart):
            calls.get(result.call_id, {}).update(_output(result))
        if message.role == "assistant":
            parts.append({"type": "step-start"})
        for part, text in streamed_parts(message):
            made: Chunk = {"type": part.kind, "text": text}
            if part.kind == "call":
                made = {"type": f"tool-{part.name}", "toolCallId": part.call_id}
                made |= {"input": arguments(text), "state": "input-available"}
                calls[part.call_id] = made
            parts.append(made)
    for question in waiting:
        asked = {"state": "approval-requested", "approval": {"id": approval_id(question)}}
        calls.get(question.call_id, {}).update(asked)
    return shown


def _sent(message: Message, files: str) -> Iterator[Chunk]:
    """The parts of a person's message."""
    for part in message.parts:
        if isinstance(part, TextPart):
            yield {"type": "text", "text": part.text}
        elif isinstance(part, ImagePart | FilePart):
            url = files + part.source.removeprefix(BLOB_SOURCE)
            if isinstance(part, FilePart) and part.is_text:
                url = f"data:{part.mime};base64,{b64encode(part.text.encode()).decode()}"
            yield {"type": "file", "mediaType": part.mime, "url": url}
