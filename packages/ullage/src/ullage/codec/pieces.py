"""Reads the answer of a ``Provider``, piece by piece, within the limits that hold for the answers of the wires."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ullage.codec.draft import Draft, DraftOrigin, Growing
from ullage.codec.problems import problem_in_stream
from ullage.codec.stream import Answer, Stop, StreamEvent, UsageSeen
from ullage.codec.wires import PYTHON
from ullage.errors import ProviderError, WrongType
from ullage.messages import ReasoningPart, Request, Stopped, TextPart, ToolCallPart
from ullage.provider import AnswerPiece
from ullage.usage import Usage

_OWN: Final = msgspec.Raw(b"{}")
"""The data of reasoning whose provider needs none to take it back."""


class PieceReader:
    """Reads one answer. Its events are those that a wire's decoder gives."""

    def __init__(
        self,
        request: Request,
        *,
        message_id: str,
        call: str | None,
        max_output: int | None,
    ) -> None:
        who = request.provider
        self.draft = Draft(
            DraftOrigin(request.wire, who, request.model),
            message_id,
            call,
            dialect=PYTHON.dialects[0],
            problem=partial(problem_in_stream, who, model=request.model),
            max_output=max_output,
        )
        self._growing: dict[tuple[str, str], Growing] = {}
        """The parts that may still grow, by kind and id: the last one, and all calls."""
        self._usage: Usage | None = None
        self._stop: Stop = ""

    def feed(self, piece: AnswerPiece) -> list[StreamEvent]:
        """What the piece adds. Raises ``WrongType`` for an object that is none."""
        match piece:
            case str():
                return self._grow("text", "", piece) if piece else []
            case TextPart():
                return self._grow("text", piece.id, piece.text, piece)
            case ReasoningPart():
                return self._grow("reasoning", piece.id, piece.text, piece)
            case ToolCallPart():
                return self._grow("call", piece.id, piece.arguments, piece)
            case Usage():
                self._usage = _checked(piece)
                return [UsageSeen(piece)] if self.draft.parts else []
            case Stopped():
                self._stop = piece.why
                return []
        raise WrongType(
            f"The provider yielded {type(piece).__name__}. Let it yield str, TextPart, "
            "ReasoningPart, ToolCallPart, Usage or Stopped."
        )

    def _grow(
        self,
        kind: Literal["text", "reasoning", "call"],
        id: str,
        text: str,
        part: TextPart | ReasoningPart | ToolCallPart | None = None,
    ) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        growing = self._growing.get((kind, id))
        if growing is None:
            events = self._opened(kind, id, part)
            growing = self._growing[kind, id]
        if part is not None and part.provider is not None:
            growing.bytes = part.provider.data
        if isinstance(part, ReasoningPart):
            growing.redacted = part.redacted
            growing.bytes = growing.bytes or _OWN
        return [*events, *growing.add(text)]

    def _opened(
        self,
        kind: Literal["text", "reasoning", "call"],
        id: str,
        part: TextPart | ReasoningPart | ToolCallPart | None,
    ) -> list[StreamEvent]:
        """Begin a part, and end the text or reasoning before it. A call may go on while another one grows."""
        events: list[StreamEvent] = []
        if not self.draft.parts and self._usage is not None:
            events.append(UsageSeen(self._usage))
        for key in [key for key in self._growing if key[0] != "call"]:
            events += self.draft.close(self._growing.pop(key))
        if isinstance(part, ToolCallPart):
            growing = self.draft.open_call(part.call_id, part.name)
            events += growing.begun()
        else:
            growing = self.draft.open(kind)
        self._growing[kind, id] = growing
        return events

    def end(self) -> list[StreamEvent]:
        """What is left to be given when the provider has ended."""
        return [
            event for growing in self.draft.parts for event in self.draft.close(growing)
        ]

    def answer(self, problem: ProviderError | None = None) -> Answer:
        """The answer; with a ``problem`` one that broke off there."""
        stop = self._stop or ("tool_calls" if self.draft.holds_call() else "stop")
        answer = self.draft.answer(finished=problem is None, stop=stop)
        usage = self._usage or Usage(final=problem is None)
        if answer.outcome != "finished":
            usage = replace(usage, final=False)
        return answer._replace(usage=usage, error=answer.error or problem)


def _checked(usage: Usage) -> Usage:
    """The usage itself. Raises ``WrongType`` for one that counts in other things than whole numbers from 0 on."""
    if usage.possible.flags != usage.flags:
        raise WrongType(
            f"The provider reported {usage!r:.200}. Usage is in whole tokens, 0 or more; leave out what is not known."
        )
    return usage
