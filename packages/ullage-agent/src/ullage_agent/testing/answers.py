"""The answers of a model that is made up for a test: Python values, and what a ``Provider`` yields for them."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.messages import ReasoningPart, Request, Stopped, TextPart, Tool, ToolCallPart
from ullage.provider import AnswerPiece
from ullage.usage import Usage
from ullage_agent.runtime.answer_tool import ANSWER
from ullage_agent.runtime.output_type import VALUE

_WORDS: Final = re.compile(r"\s*\S+\s*|\s+")
"""How a text streams: word by word."""

CHARS_PER_TOKEN: Final = 4
"""By which a made-up answer reports usage where its script names none. No tokenizer's: a round number for tests."""


class Delay(NamedTuple):
    """The answer pauses for so many seconds."""

    seconds: float


class Structured(NamedTuple):
    """An answer of the agent's ``output_type``."""

    value: object


def tool_call(name: str, /, **arguments: object) -> ToolCallPart:
    """The model calls a tool: ``tool_call("look_up", word="cask")``.

    Args:
        name: The tool's name.
        arguments: What it is called with, as JSON can hold it. For arguments that are no JSON, make a ``ToolCallPart``.
    """
    return ToolCallPart(id="", call_id="", name=name, arguments=_json(arguments))


def reasoning(text: str) -> ReasoningPart:
    """The model thinks this."""
    return ReasoningPart(id="", text=text)


def structured(value: object) -> Structured:
    """An answer of the agent's ``output_type``, where it could be taken for something else: a list, a text, a tuple.

    Objects of classes (dataclasses, pydantic models, Structs), dictionaries and numbers need no ``structured``.
    """
    return Structured(value)


async def pieces_of(
    value: object, request: Request, ids: Iterator[int], pause_s: float
) -> AsyncGenerator[AnswerPiece, None]:
    """What a provider yields for one value of a script. Raises the value where it is an exception."""
    match value:
        case str():
            for word in _WORDS.findall(value):
                if pause_s:
                    await asyncio.sleep(pause_s)
                yield word
        case TextPart() | ReasoningPart() | ToolCallPart():
            yield value if value.id else replace(value, id=f"part-{next(ids)}")
        case Usage() | Stopped():
            yield value
        case Delay():
            await asyncio.sleep(value.seconds)
        case BaseException():
            raise value
        case list() | tuple() if type(value) in (list, tuple):
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
        case _:
            yield _as_answer(value, request, ids)


def _as_answer(value: object, request: Request, ids: Iterator[int]) -> AnswerPiece:
    """The value as the model would write it: the arguments of the tool for answers, or JSON as text."""
    plain: Any = value.value if isinstance(value, Structured) else value
    asked = _answer_tool(request)
    if asked is None:
        return plain if isinstance(plain, str) else _json(plain)
    fields = json.loads(bytes(asked.schema)).get("properties", {})
    written = json.loads(_json(plain))
    if list(fields) == [VALUE] and not (isinstance(written, dict) and VALUE in written):
        written = {VALUE: written}
    return ToolCallPart(
        id=f"part-{next(ids)}", call_id="", name=asked.name, arguments=json.dumps(written)
    )


def _answer_tool(request: Request) -> Tool | None:
    """The tool by which the request asks for a typed answer (``runtime/answer_tool.py``)."""
    named = [tool for tool in request.tools if tool.name.rstrip("_") == ANSWER]
    return named[-1] if named else None


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


def usual_usage(request: Request, output: int) -> Usage:
    """The usage that is reported where a script names none; ``output`` in characters."""
    sent = len(msgspec.json.encode((request.system, request.tools, request.messages)))
    return Usage(input=1 + sent // CHARS_PER_TOKEN, output=1 + output // CHARS_PER_TOKEN)


def new_ids() -> Iterator[int]:
    """Numbers from 1 on."""
    return itertools.count(1)
