"""AG-UI 1.0, as ``HttpAgent`` and CopilotKit read and send it. Pure.

Names and shapes: ``EventSchemas`` and ``MessageSchema`` of the npm package @ag-ui/core 1.0.0
(https://ag-ui.com/spec/1.0/schema.json); their order: ``verifyEvents`` of @ag-ui/client 1.0.0; approvals:
https://docs.ag-ui.com/spec/1.0/basic/patterns/interrupt-resume. The texts and calls of an answer are one message, each
reasoning is one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, assert_never

from ullage.events import ReadingTaken
from ullage.messages import Message, TextPart, ToolResultPart
from ullage.watching.status import status_of
from ullage_agent.runtime.approvals import Question
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

VERSION: Final = "1.0"
"""``PROTOCOL_VERSION`` of @ag-ui/core."""

APPROVED: Final = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
"""The schema of a person's answer. Without ``editedArgs``: a call is allowed as it is, or not."""

ENDS: Final = {"finished": "success", "message": "success", "cancelled": "cancelled"}
"""``RunFinishedOutcome`` by how a turn ended. Another end is an error."""

KINDS: Final = {
    "text": "TEXT_MESSAGE_",
    "reasoning": "REASONING_MESSAGE_",
    "call": "TOOL_CALL_",
}
ROLES: Final = {"text": "assistant", "reasoning": "reasoning"}

AgUiEvent = dict[str, Any]


class AgUiRun:
    """The events of one run."""

    done: Final = b""

    wants_messages: Final = True

    def __init__(self, thread: str, run: str) -> None:
        self._ids = {"threadId": thread, "runId": run}
        self._texts = 0
        """How many texts are open: all of an answer are one message, which may be open once."""

    def begin(self, messages: Sequence[Message]) -> Iterator[AgUiEvent]:
        """What comes first."""
        yield {"type": "RUN_STARTED", **self._ids, "protocolVersion": VERSION}
        if messages:
            yield _snapshot(messages)

    def step(self, step: PageStep) -> Iterator[AgUiEvent]:
        """The events of one step."""
        match step:
            case CallStep(call, at):
                kind = "STARTED" if at == "start" else "FINISHED"
                yield {"type": f"STEP_{kind}", "stepName": call}
            case PartStep(part, at) if part.kind == "text" and at != "delta":
                before = self._texts
                self._texts += 1 if at == "start" else -1
                if not (before and self._texts):
                    yield from _part(step)
            case PartStep():
                yield from _part(step)
            case ResultStep(result):
                yield {"type": "TOOL_CALL_RESULT", **_result(result, "messageId")}
            case ReadingTaken():
                value = status_of(step)
                yield {"type": "CUSTOM", "name": "ullage.reading", "value": value}
            case _:
                assert_never(step)

    def rest(
        self, rested: Rested, waiting: Sequence[Question], messages: Sequence[Message]
    ) -> Iterator[AgUiEvent]:
        """What comes last. A run that waits for a person says before what it knows: the specification asks for it."""
        outcome: AgUiEvent = {"type": ENDS.get(rested.reason)}
        if waiting:
            yield _snapshot(messages)
            outcome = {"type": "interrupt", "interrupts": [*map(_interrupt, waiting)]}
        elif rested.reason not in ENDS:
            yield from self.fail(rested.note or rested.reason, rested.reason)
            return
        usage = [counts(rested.usage)]
        yield {"type": "RUN_FINISHED", **self._ids, "outcome": outcome, "usage": usage}

    def fail(self, note: str, code: str = "failed") -> Iterator[AgUiEvent]:
        """What comes last where the turn did not end as it should."""
        yield {"type": "RUN_ERROR", "message": note, "code": code}


def _part(step: PartStep) -> Iterator[AgUiEvent]:
    part, at, text = step
    is_span, is_call = part.kind == "reasoning", part.kind == "call"
    named = {"messageId": part.id if is_span else part.call}
    if is_call:
        named = {"toolCallId": part.call_id}
    event = {"type": KINDS[part.kind] + at.upper(), **named}
    if at == "delta":
        event |= {
            "type": KINDS[part.kind] + ("ARGS" if is_call else "CONTENT"),
            "delta": text,
        }
    elif at == "start" and is_call:
        event |= {"toolCallName": part.name, "parentMessageId": part.call}
    elif at == "start":
        event["role"] = ROLES[part.kind]
    if is_span and at == "start":
        yield {"type": "REASONING_START", **named}
    yield event
    if is_span and at == "end":
        yield {"type": "REASONING_END", **named}


def _result(result: ToolResultPart, name: str) -> AgUiEvent:
    return {name: result.id, "toolCallId": result.call_id, "content": result.text}


def _snapshot(messages: Iterable[Message]) -> AgUiEvent:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(ag_ui_messages(messages))}


def _interrupt(question: Question) -> AgUiEvent:
    lines = ["".join(piece.text for piece in line) for line in question.lines]
    return {
        "id": approval_id(question),
        "reason": "tool_call",
        "message": "\n".join(lines),
        "toolCallId": question.call_id,
        "responseSchema": APPROVED,
    }


def ag_ui_messages(messages: Iterable[Message]) -> Iterator[AgUiEvent]:
    """The messages as AG-UI has them, with the ids of the events."""
    for message in messages:
        if message.role == "user":
            yield {"id": message.id, "role": "user", "content": message.text}
            continue
        calls: list[AgUiEvent] = []
        for part, text in streamed_parts(message):
            if part.kind == "call":
                function = {"name": part.name, "arguments": text}
                call = {"id": part.call_id, "type": "function", "function": function}
                calls.append(call)
            elif part.kind == "reasoning":
                yield {"id": part.id, "role": "reasoning", "content": text}
        content = "".join(part.text for part in message.of_type(TextPart))
        if content or calls:
            answer = {"id": message.call or message.id, "role": "assistant"}
            called = {"toolCalls": calls} if calls else {}
            yield {**answer, "content": content, **called}
        for result in message.of_type(ToolResultPart):
            yield {"role": "tool", **_result(result, "id")}
