"""A session that is made up step by step, for the pictures of the documentation."""

from __future__ import annotations

from typing import Any

from ullage.events import CallEnded, CallStarted, Event, MessageAdded
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.meter.meter import Meter
from ullage.usage import Usage

MINUTE = 60


class InventedSession:
    """The events of a session that is told step by step, billed by what a meter reads."""

    def __init__(self, window: int | None = None, at: float = 0.0) -> None:
        self.events: list[Event] = []
        self.meter = Meter("", window=window)
        self.at = at
        self.calls = 0
        self.cached = 0

    def put(self, event: Event) -> None:
        self.events.append(event)
        self.meter.apply(event)

    def say(self, role: Any, *parts: Any) -> None:
        """One more message."""
        name = f"m{len(self.events)}"
        self.put(MessageAdded(message=Message(id=name, role=role, parts=parts)))

    def call(self, part: Any, pause_s: float = 20) -> None:
        """A call of the model, which answers with this. After five minutes the cache is gone."""
        self.calls += 1
        self.at += pause_s
        name = f"call-{self.calls}"
        bill = self.meter.reading().used.tokens
        cached = 0 if pause_s > 5 * MINUTE else min(self.cached, bill)
        usage = Usage(input=bill, output=60, cache_read=cached, cache_write=bill - cached)
        self.put(CallStarted(call=name, at=self.at))
        self.put(CallEnded(call=name, at=self.at, usage=usage))
        self.cached = bill
        message = Message(id=f"{name}.answer", role="assistant", parts=(part,), call=name)
        self.put(MessageAdded(message=message))

    def tool(self, name: str, arguments: str, text: str, pause_s: float = 20) -> None:
        """A call that asks for a tool, and its result."""
        call_id = f"t{self.calls}"
        part = ToolCallPart(
            id=f"{call_id}.call", call_id=call_id, name=name, arguments=arguments
        )
        self.call(part, pause_s)
        content = TextPart(id=f"{call_id}.text", text=text)
        self.say(
            "tool",
            ToolResultPart(
                id=f"{call_id}.result", call_id=call_id, name=name, content=(content,)
            ),
        )

    def answer(self, text: str, pause_s: float = 20) -> None:
        """A call that ends a turn."""
        self.call(TextPart(id=f"a{self.calls}", text=text), pause_s)

    def ask(self, text: str) -> None:
        """A person writes."""
        self.say("user", TextPart(id=f"u{len(self.events)}", text=text))
