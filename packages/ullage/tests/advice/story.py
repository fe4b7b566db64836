"""Short sessions as events, with bills: what a plain meter estimates of each request, times a factor."""

from __future__ import annotations

from msgspec.structs import replace

from tests.meter.session import said
from ullage.advice.history import history_of
from ullage.advice.suggestion import Suggestion
from ullage.advice.suggestions import Advice, advice_of
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import (
    ImagePart,
    Message,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.meter import Meter
from ullage.usage import Usage


class Story:
    """A session that is told step by step. Each step makes the calls that it needs."""

    def __init__(
        self,
        *,
        program: str = "claude-code 2.1.330",
        model: str = "claude-haiku-4-5",
        system: tuple[SystemBlock, ...] = (),
        tools: tuple[Tool, ...] = (),
    ) -> None:
        self.events: list[Event] = [
            SessionStarted(
                model=model,
                wire="messages",
                provider="anthropic",
                program=program,
            ),
            SystemChanged(system=system),
            ToolsChanged(tools=tools),
        ]
        self.at = 1_000.0
        self.calls = 0
        self.tool_calls = 0

    def user(self, text: str) -> Story:
        """A person writes."""
        self._add(said(f"u{len(self.events)}", text))
        return self

    def answer(self, text: str, *, pause_s: float = 10) -> Story:
        """The model answers."""
        call = self._call(pause_s)
        self._add(said(f"{call}.a", text, role="assistant", call=call))
        return self

    def tool(self, name: str, arguments: str, result: str, *pictures: ImagePart) -> Story:
        """The model calls a tool, which returns this."""
        call = self._call(10)
        self.tool_calls += 1
        call_id = f"t{self.tool_calls}"
        asked = ToolCallPart(
            id=f"{call}.call", call_id=call_id, name=name, arguments=arguments
        )
        self._add(Message(id=f"{call}.a", role="assistant", parts=(asked,), call=call))
        written = TextPart(id=f"{call_id}.text", text=result)
        content: tuple[TextPart | ImagePart, ...] = (written, *pictures)
        part = ToolResultPart(
            id=f"{call_id}.result", call_id=call_id, name=name, content=content
        )
        self._add(Message(id=f"{call_id}.r", role="tool", parts=(part,)))
        return self

    def read(self, path: str, content: str) -> Story:
        """The model reads a file."""
        return self.tool("Read", f'{{"file_path":"{path}"}}', content)

    def then(self, event: Event) -> Story:
        """Any other event."""
        self.events.append(event)
        return self

    def chat(self, times: int) -> Story:
        """Small talk that refers to nothing."""
        for _ in range(times):
            self.user("go on").answer("done")
        return self

    def _add(self, message: Message) -> None:
        self.events.append(MessageAdded(message=message))

    def _call(self, pause_s: float) -> str:
        self.calls += 1
        self.at += pause_s
        name = f"c{self.calls}"
        self.events.append(CallStarted(call=name, at=self.at))
        self.events.append(CallEnded(call=name, at=self.at, usage=Usage(output=20)))
        return name

    def billed(
        self, factor: float = 1.0, *, lost: frozenset[int] = frozenset()
    ) -> list[Event]:
        """The events with a bill for each call; ``lost`` are the numbers of calls that find nothing in the cache."""
        meter = Meter()
        bill = before = number = 0
        events: list[Event] = []
        for event in self.events:
            billed: Event = event
            if isinstance(event, CallStarted):
                number += 1
                bill = round(meter.reading().used.tokens * factor)
            meter.apply(event)
            if isinstance(event, CallEnded):
                cached = 0 if number in lost else min(before, bill)
                bought = Usage(
                    input=bill,
                    output=20,
                    cache_read=cached,
                    cache_write=bill - cached,
                )
                billed = replace(event, usage=bought)
                before = bill
            events.append(billed)
        return events


def code(name: str, lines: int = 120) -> str:
    """A file whose identifiers all begin with ``name``."""
    return "\n".join(f"def {name}_{n}(value): return value + {n}" for n in range(lines))


def prose(lines: int) -> str:
    """A text without any distinctive word."""
    return "the cat sat on the mat and then it went out\n" * lines


def advised(events: list[Event], *, no_content: bool = False) -> Advice:
    """The advice for a session."""
    meter = Meter()
    history = history_of(events, meter)
    return advice_of(history, meter, events, no_content=no_content)


def found(events: list[Event], kind: str) -> Suggestion | None:
    """The first suggestion of this kind."""
    for suggestion in advised(events).suggestions:
        if suggestion.kind == kind:
            return suggestion
    return None


def used(events: list[Event]) -> int:
    """The tokens of the next request."""
    meter = Meter()
    for event in events:
        meter.apply(event)
    return meter.reading().used.tokens
