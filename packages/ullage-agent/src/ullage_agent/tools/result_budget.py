"""The result budget: a result too long for the model's window is stored, and the model gets its ends and a handle.

Sizes and positions are in bytes of UTF-8, in which the stored result is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ullage.context.shorten import READER
from ullage.messages import Tool
from ullage.threads import in_thread
from ullage.tokens.truncation import (
    CountTokens,
    estimated_tokens,
    head_of,
    tail_of,
    whole_characters,
)
from ullage_agent.tools.tool import (
    AgentTool,
    BadArguments,
    Output,
    ToolContext,
    ToolError,
)

RESULT_TOKENS: Final = 25_000
"""The most tokens of one result by default: an eighth of a 200,000 window. Chosen, not measured; with a tenth of it
models read in circles (https://github.com/openai/codex/issues/5913, 10 KB)."""

SHARE: Final = 0.25
"""The most of the free context that the results of one step may take together. It leaves the model room to read on
three times before anything has to be cleared."""

WHOLE: Final = 2_000
WHOLE_SHARE: Final = 0.8
"""A result of up to 2,000 tokens may take 0.8 of the free context instead: a compaction is near then and keeps it, and
a shorter piece would have to be read again."""

LEAST: Final = 400
"""The fewest tokens of a result: the notice and its handle must fit, or the model could not continue."""

_NOTICE_TOKENS: Final = 200  # kept for the notice between the ends; counted as 110 to 150
_BYTES_A_TOKEN: Final = 16  # read for a page; only runs of spaces have more


class FittedResult(NamedTuple):
    """A result that fits. If it was cut, ``handle`` names the whole text and ``size_bytes`` is its size."""

    output: Output
    handle: str = ""
    size_bytes: int | None = None


def budget_tokens(
    free: int | None, configured: int | None = None, *, calls: int = 1
) -> int:
    """How many tokens of one result the model gets.

    ``free`` is the room left in the window, ``None`` if the window is unknown; ``configured`` is the tool's or the
    session's own limit; ``calls`` is how many calls end in this step and share the room.
    """
    limit = RESULT_TOKENS if configured is None else configured
    if free is not None:
        each = free / max(1, calls)
        whole = min(each * WHOLE_SHARE, WHOLE)
        limit = min(limit, int(max(each * SHARE, whole)))
    return max(LEAST, limit)


async def fit(
    output: Output,
    context: ToolContext,
    tokens: int,
    *,
    count: CountTokens = estimated_tokens,
) -> FittedResult:
    """The result within so many tokens; pictures are not counted. A longer result is stored before it is cut.

    Work that grows with the text is done beside the event loop; the cost of counting depends on the budget alone.
    Raises what ``context.keep`` raises: a result that can't be stored is not cut.
    """
    if (
        len(output.text) <= tokens // 4
    ):  # no estimator here gives four tokens for a character
        return FittedResult(output)
    ends = await in_thread(_ends, output.text, tokens, count)
    if ends is None:
        return FittedResult(output)
    handle = await context.keep(ends.data)
    text = ends.head + _notice(ends, handle) + ends.tail
    return FittedResult(output._replace(text=text), handle, len(ends.data))


def read_result(
    tokens: int | Callable[[ToolContext], int] = RESULT_TOKENS,
) -> AgentTool:
    """The tool that pages through stored results; a page has at most ``tokens``.

    A function is called for each page and returns the room there is in its session.
    """

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        try:
            asked = msgspec.convert(arguments, _PageRequest, strict=False)
        except msgspec.ValidationError as error:
            raise BadArguments(
                f"Nothing was read: {error}. Give handle and start."
            ) from error
        room = max(LEAST, tokens(context) if callable(tokens) else tokens)
        return Output(await _page(asked, context, room))

    return AgentTool(declaration=_declaration(), run=run, idempotent=True, read_only=True)


class _PageRequest(msgspec.Struct, forbid_unknown_fields=True):
    handle: str
    start: int = 0


msgspec.json.Decoder(
    _PageRequest
)  # makes first use by two loops at once safe: docs/why/index.md#types-and-events


class _Ends(NamedTuple):
    head: str
    tail: str
    data: bytes

    @property
    def gap(self) -> tuple[int, int]:
        return len(self.head.encode()), len(self.data) - len(self.tail.encode())


def _ends(text: str, tokens: int, count: CountTokens) -> _Ends | None:
    """The two ends and all of the text as bytes; ``None`` if it fits."""
    if len(head_of(text, tokens, count)) == len(text):
        return None
    room = max(0, tokens - _NOTICE_TOKENS) / 2
    return _Ends(head_of(text, room, count), tail_of(text, room, count), text.encode())


def _notice(ends: _Ends, handle: str) -> str:
    start, end = ends.gap
    before = "" if not ends.head or ends.head.endswith("\n") else "\n"
    return (
        f"{before}[This result is too long to show whole. Left out here are the bytes {start} to {end} of its "
        f"{len(ends.data)}. All of it is kept: to read more, call {READER} with "
        f'{{"handle": "{handle}", "start": {start}}}, or with another start.]\n'
    )


async def _page(asked: _PageRequest, context: ToolContext, tokens: int) -> str:
    if asked.start < 0:
        raise BadArguments("Nothing was read: start counts bytes from 0.")
    size = tokens * _BYTES_A_TOKEN
    try:
        data = await context.kept(asked.handle, start=asked.start, size=size)
    except Exception as error:  # the model gets the store's reason
        raise ToolError(
            f"Nothing can be read under the handle {asked.handle!r}: {error}"
        ) from error
    if b"\0" in data:  # which no stored text holds
        raise ToolError(f"What is kept under {asked.handle!r} is no text.")
    if not data:
        return f"[There is nothing at byte {asked.start}: the result ends before it.]"
    is_last = len(data) < size
    return await in_thread(_shown, data, asked.start, is_last, tokens)


def _shown(data: bytes, start: int, is_last: bool, tokens: int) -> str:
    """The page: as many characters as fit, and where to continue."""
    whole = whole_characters(data, cut="start") if start else data
    first = start + len(data) - len(whole)
    if not is_last:
        whole = whole_characters(whole, cut="end")
    text = whole.decode("utf-8", "replace")
    page = head_of(text, tokens - _NOTICE_TOKENS, estimated_tokens) or text[:1]
    end = first + len(page.encode())
    next_step = f'to go on, call {READER} with "start": {end}'
    if is_last and len(page) == len(text):
        next_step = "the result ends here"
    line_end = "" if page.endswith("\n") else "\n"
    return f"{page}{line_end}[bytes {first} to {end}; {next_step}]"


def _declaration() -> Tool:
    """Short, as every request carries it: the notice in the result says how to call the tool."""
    schema = {
        "type": "object",
        "properties": {
            "handle": {"type": "string"},
            "start": {"type": "integer"},
        },
        "required": ["handle"],
    }
    return Tool(
        name=READER,
        description="Read on in a result that was cut.",
        schema=msgspec.Raw(msgspec.json.encode(schema)),
    )
