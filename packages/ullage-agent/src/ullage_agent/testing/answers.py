"""The answers of a model that is made up for a test: Python values, and what a ``Provider`` yields for them."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.display.text import counted, quoted
from ullage.messages import (
    ReasoningPart,
    Request,
    Stopped,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.meter import Meter
from ullage.provider import AnswerPiece
from ullage.tokens.content import text_tokens
from ullage.tokens.families import family_for
from ullage.tokens.text import counter_for
from ullage.usage import Usage
from ullage_agent.runtime.answer_tool import ANSWER
from ullage_agent.runtime.output_type import VALUE

_WORDS: Final = re.compile(r"\s*\S+\s*|\s+")
"""How a text streams: word by word."""


class Delay(NamedTuple):
    """The answer pauses for so many seconds."""

    seconds: float


class Structured(NamedTuple):
    """An answer of the agent's ``output_type``."""

    value: object


class Script:
    """Answers that are given one after the other."""

    def __init__(self, answers: Iterable[object]) -> None:
        self.left = list(answers)
        self._count = len(self.left)

    def add(self, answers: Iterable[object]) -> None:
        """More answers, behind those that are left."""
        before = len(self.left)
        self.left.extend(answers)
        self._count += len(self.left) - before

    def next(self, asked: str) -> object:
        """The next answer. Raises ``AssertionError`` where none is left for what was ``asked``."""
        if self.left:
            return self.left.pop(0)
        raise AssertionError(
            f"ScriptedModel has {counted(self._count, 'answer')} and was called once more, for {asked}. Add an "
            "answer, or look at `requests` for what the agent did."
        )

    def assert_used_up(self) -> None:
        """Raise ``AssertionError`` if answers are left."""
        if self.left:
            raise AssertionError(
                f"{len(self.left)} of {counted(self._count, 'answer')} of ScriptedModel were not asked for. The next "
                f"one is {self.left[0]!r:.200}. The agent made fewer calls than the test expects."
            )


def tool_call(name: str, /, **arguments: object) -> ToolCallPart:
    """The model calls a tool: ``tool_call("look_up", word="cask")``.

    Args:
        name: The tool's name.
        arguments: What it is called with, as JSON can hold it. For arguments that are no JSON, make a ``ToolCallPart``.
    """
    return ToolCallPart(id="", call_id="", name=name, arguments=_json(arguments))


def reasoning(text: str) -> ReasoningPart:
    """The model thinks this.

    Args:
        text: Its thoughts.
    """
    return ReasoningPart(id="", text=text)


def structured(value: object) -> Structured:
    """An answer of the agent's ``output_type``, where it could be taken for something else: a list, a text, a tuple.

    Objects of classes (dataclasses, pydantic models, Structs), dictionaries and numbers need no ``structured``.

    Args:
        value: The answer.
    """
    return Structured(value)


async def pieces_of(
    value: object, request: Request, ids: Iterator[int], pause_s: float
) -> AsyncGenerator[AnswerPiece, None]:
    """What a provider yields for one value of a script. Raises the value where it is an exception."""
    if is_value(value):
        value = as_answer(value, request.tools)
    match value:
        case str():
            for word in _WORDS.findall(value):
                if pause_s:
                    await asyncio.sleep(pause_s)
                yield word
        case ToolCallPart():
            whole = value if value.id else replace(value, id=f"part-{next(ids)}")
            for word in _WORDS.findall(value.arguments) or [""]:
                if pause_s:
                    await asyncio.sleep(pause_s)
                yield replace(whole, arguments=word)
        case TextPart() | ReasoningPart():
            yield value if value.id else replace(value, id=f"part-{next(ids)}")
        case Usage() | Stopped():
            yield value
        case Delay():
            await asyncio.sleep(value.seconds)
        case BaseException():
            raise value
        case list() | tuple():
            for one in value:
                async for piece in pieces_of(one, request, ids, pause_s):
                    yield piece
        case AsyncIterator():
            async for one in value:
                async for piece in pieces_of(one, request, ids, pause_s):
                    yield piece
        case _ if callable(value):
            made = value(request)
            if inspect.isawaitable(made):
                made = await made
            async for piece in pieces_of(made, request, ids, pause_s):
                yield piece


def is_value(value: object) -> bool:
    """Whether an item of a script is an answer of a type, and nothing that a model says otherwise."""
    is_said = isinstance(value, AnswerPiece | Delay | BaseException | AsyncIterator)
    return not (is_said or type(value) in (list, tuple) or callable(value))


def as_answer(
    value: object, tools: Sequence[Tool], schema: Mapping[str, object] | None = None
) -> str | ToolCallPart:
    """A typed answer as the model would give it: a call of the tool for answers, or JSON by the ``schema`` as text."""
    plain: Any = value.value if isinstance(value, Structured) else value
    named = [tool for tool in tools if tool.name.rstrip("_") == ANSWER]
    if named:
        schema = json.loads(bytes(named[-1].schema))
    if schema is None:
        return plain if isinstance(plain, str) else _json(plain)
    fields, written = schema.get("properties"), json.loads(_json(plain))
    is_wrapped = isinstance(fields, Mapping) and list(fields) == [VALUE]
    if is_wrapped and not (isinstance(written, dict) and VALUE in written):
        written = {VALUE: written}
    text = json.dumps(written)
    if not named:
        return text
    return ToolCallPart(id="", call_id="", name=named[-1].name, arguments=text)


def _json(value: object) -> str:
    def plain(other: object) -> object:
        dump = getattr(other, "model_dump", None)  # pydantic's models
        if dump is None:
            raise TypeError(
                f"An answer of the type {type(other).__name__} has no JSON form. Give a dataclass, a pydantic model, "
                "or plain values."
            )
        return dump(mode="json")

    return msgspec.json.encode(value, enc_hook=plain).decode()


def last_words(request: Request) -> str:
    """What the last message of a request says, quoted: its text, or its last result."""
    if not request.messages:
        return "nothing"
    last = request.messages[-1]
    results = [*last.of_type(ToolResultPart)]
    if not results:
        return quoted(last.text)
    return f"{quoted(results[-1].text)}, the result of {results[-1].name}"


def usual_usage(meter: Meter, request: Request, written: str) -> Usage:
    """The usage that is reported where a script names none: what Ullage expects, so that no reading doubts it.

    Args:
        meter: Of earlier requests; it was given no usage.
        request: What was sent.
        written: The answer's text, reasoning and tool calls.
    """
    family = family_for(request.wire, request.provider, request.model)
    output = text_tokens(written, family, counter_for())
    return Usage(input=meter.before(request).used.tokens, output=1 + round(output))
