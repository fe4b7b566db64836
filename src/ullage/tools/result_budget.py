"""The result budget: what is too long for the model's window is kept whole, and the model gets its ends and a handle.

Sizes and places are in bytes of UTF-8, as they are what the handle is read by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ullage.messages import Tool
from ullage.tokens.text import counter_for
from ullage.tools.long_text import encode_pieces
from ullage.tools.threads import in_thread
from ullage.tools.tool import AgentTool, BadArguments, Output, ToolContext, ToolError
from ullage.tools.truncation import CountTokens, head_of, tail_of, whole_characters

RESULT_TOKENS: Final = 25_000
"""The most tokens of one result where nobody says otherwise: an eighth of a 200,000 window. Chosen, not measured; with
a cap of a tenth of it models read in circles (https://github.com/openai/codex/issues/5913, 10 KB)."""

SHARE: Final = 0.25
"""The most of the free context that the results of one step may take together: the ends of what was cut leave the model
room to read on, three times, before anything has to be cleared."""

WHOLE: Final = 2_000
WHOLE_SHARE: Final = 0.8
"""A result of up to 2,000 tokens is not cut for that: it may take 0.8 of what is free, as a compaction is near then and
leaves it as it is, and one cut to less would have to be read again."""

LEAST: Final = 400
"""Tokens a result gets however little is free: the notice and its handle must fit, or the model could not go on."""

READER: Final = "read_result"
"""The name of the tool that reads a kept result."""

_NOTICE_TOKENS: Final = 200  # kept for the notice between the ends; counted as 110 to 150
_BYTES_A_TOKEN: Final = 16  # read for a page; only runs of spaces have more
_LONGEST_CHARACTER: Final = 4  # bytes of UTF-8


class Fitted(NamedTuple):
    """A result that fits. Where it was cut, ``handle`` names the whole text and ``size_bytes`` is its size."""

    output: Output
    handle: str = ""
    size_bytes: int | None = None


def budget_tokens(free: int | None, configured: int | None = None, *, calls: int = 1) -> int:
    """How many tokens of one result the model gets.

    ``free`` is what is left of the window, ``None`` where the window is unknown; ``configured`` is the tool's or the
    session's own limit; ``calls`` is how many calls end in this step, which share what is free.
    """
    limit = RESULT_TOKENS if configured is None else configured
    if free is not None:
        each = free / max(1, calls)
        limit = min(limit, int(max(each * SHARE, min(each * WHOLE_SHARE, WHOLE))))
    return max(LEAST, limit)


def estimated_tokens(text: str) -> float:
    """Tokens of a text, cheaply: the core's estimator, which needs no tokenizer, for the o200k vocabulary."""
    return counter_for("pretoken").count(text, "o200k")


async def fit(output: Output, context: ToolContext, tokens: int, *, count: CountTokens = estimated_tokens) -> Fitted:
    """The result within so many tokens; pictures are not counted. What is over is kept before it is cut.

    Work that grows with the text is done beside the event loop, and counting costs what the budget is, not what the
    text is. Raises what ``context.keep`` raises: nothing is cut that could not be kept.
    """
    if len(output.text) <= tokens // 4:  # no estimator here gives four tokens for a character
        return Fitted(output)
    ends = await in_thread(_ends, output.text, tokens, count)
    if ends is None:
        return Fitted(output)
    handle = await context.keep(ends.data)
    text = ends.head + _notice(ends, handle) + ends.tail
    return Fitted(output._replace(text=text), handle, len(ends.data))


def read_result(tokens: int | Callable[[], int] = RESULT_TOKENS, *, count: CountTokens = estimated_tokens) -> AgentTool:
    """The tool that pages through what was kept; what it gives is never over ``tokens`` itself.

    Given a function, it asks at each call how much there is room for.
    """

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        try:
            asked = msgspec.convert(arguments, _Asked, strict=False)
        except msgspec.ValidationError as error:
            raise BadArguments(f"Nothing was read: {error}. Give handle, start and size.") from error
        room = max(LEAST, tokens() if callable(tokens) else tokens)
        return Output(await _page(asked, context, room, count))

    return AgentTool(declaration=_declaration(), run=run, idempotent=True)


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    handle: str
    start: int = 0
    size: int | None = None


msgspec.json.Decoder(_Asked)  # so that two loops' first use of it are safe: docs/why/msgspec.md


class _Ends(NamedTuple):
    head: str
    tail: str
    data: bytes

    @property
    def gap(self) -> tuple[int, int]:
        return len(self.head.encode()), len(self.data) - len(self.tail.encode())


def _ends(text: str, tokens: int, count: CountTokens) -> _Ends | None:
    """The two ends and all of the text as bytes; ``None`` where it fits as it is."""
    if len(head_of(text, tokens, count)) == len(text):
        return None
    room = max(0, tokens - _NOTICE_TOKENS) / 2
    return _Ends(head_of(text, room, count), tail_of(text, room, count), encode_pieces(text))


def _notice(ends: _Ends, handle: str) -> str:
    start, end = ends.gap
    before = "" if not ends.head or ends.head.endswith("\n") else "\n"
    return (
        f"{before}[This result is too long to show whole. Left out here are the bytes {start} to {end} of its "
        f"{len(ends.data)}. All of it is kept: to read more, call {READER} with "
        f'{{"handle": "{handle}", "start": {start}}}, or with another start.]\n'
    )


async def _page(asked: _Asked, context: ToolContext, tokens: int, count: CountTokens) -> str:
    if asked.start < 0 or (asked.size is not None and asked.size < 1):
        raise BadArguments("Nothing was read: start counts bytes from 0, and size is at least 1.")
    most = tokens * _BYTES_A_TOKEN
    size = most if asked.size is None else max(_LONGEST_CHARACTER, min(asked.size, most))
    try:
        data = await context.kept(asked.handle, start=asked.start, size=size + _LONGEST_CHARACTER)
    except Exception as error:  # whatever the store says of a handle, the model should hear
        raise ToolError(f"Nothing can be read under the handle {asked.handle!r}: {error}") from error
    if b"\0" in data:  # which no kept text holds
        raise ToolError(f"What is kept under {asked.handle!r} is no text.")
    if not data:
        return f"[There is nothing at byte {asked.start}: the result ends before it.]"
    return await in_thread(_shown, data, asked.start, size, tokens, count)


def _shown(data: bytes, start: int, size: int, tokens: int, count: CountTokens) -> str:
    """The page: characters that begin inside the bytes asked for, as many as fit, and where to go on."""
    whole = whole_characters(data, cut="start") if start else data
    first = start + len(data) - len(whole)
    is_last = len(data) < size + _LONGEST_CHARACTER
    wanted = whole if is_last and len(whole) <= size else whole_characters(whole[:size], cut="end")
    text = wanted.decode("utf-8", "replace")
    page = head_of(text, tokens - _NOTICE_TOKENS, count) or text[:1]
    end = first + len(page.encode())
    is_end = is_last and len(page) == len(text) and len(wanted) == len(whole)
    on = "the result ends here" if is_end else f'to go on, call {READER} with "start": {end}'
    return f"{page}{'' if page.endswith(chr(10)) else chr(10)}[bytes {first} to {end}; {on}]"


def _declaration() -> Tool:
    """In few words, as every request carries them: the notice in the result says how it is called."""
    schema = {
        "type": "object",
        "properties": {
            "handle": {"type": "string"},
            "start": {"type": "integer"},
            "size": {"type": "integer", "description": "bytes"},
        },
        "required": ["handle"],
    }
    return Tool(
        name=READER,
        description="Read on in a result that was cut.",
        schema=msgspec.Raw(msgspec.json.encode(schema)),
    )
