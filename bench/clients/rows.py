"""The rows of a reading beside the parts of the request that was billed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from bench.clients.lanes import BilledRequest
from bench.clients.parts import Category
from ullage.meter.reading import Reading, Row

SYSTEM_NAMES = (
    "System prompt",
    "Instruction files",
    "Memory files",
    "Skills",
    "Agents",
    "Hidden prompt",
)
TOOL_NAMES = ("Tools", "MCP tools")
UNLOGGED = "Not in the log"
OWN_ROWS: Mapping[str, Category] = {
    "Tool calls": "tool calls",
    "Tool results": "tool results",
    "Reasoning": "reasoning",
}
"""Rows of messages with a category of their own; all others are text."""


class RowResult(Struct, frozen=True):
    """Tokens of a category or of one tool in Ullage's rows, and in the request and its answer.

    ``not in the log`` is that row and the text of messages, with the system prompt and tools if they have no row.
    """

    name: str
    tokens: float
    billed: float
    off_percent: float
    """The difference in percent of the request's bill."""
    is_tool: bool = False


def row_results(reading: Reading, request: BilledRequest) -> tuple[RowResult, ...]:
    """The rows of a reading after a call, beside that call's request."""
    shown = _by_category(reading.rows)
    billed = _with_answer(request, reading.basis.last_output)
    if "not in the log" in shown:
        shown, billed = _joined(shown, billed)
    found = []
    for name, tokens in billed.items():
        found.append(_result(name, shown.get(name, 0.0), tokens, request))
    tools = dict(_tools(reading.rows))
    for name, tokens in request.parts.tools.items():
        if tools:
            each = _result(name, tools.get(name, 0.0), tokens, request, is_tool=True)
            found.append(each)
    return tuple(found)


def _result(
    name: str,
    tokens: float,
    billed: float,
    request: BilledRequest,
    *,
    is_tool: bool = False,
) -> RowResult:
    off = 100 * (tokens - billed) / request.input
    return RowResult(name, tokens, billed, off, is_tool)


def worst(results: Iterable[RowResult]) -> RowResult | None:
    """The one that is off most; ``None`` without any."""
    return max(results, key=_size, default=None)


def _size(result: RowResult) -> float:
    return abs(result.off_percent)


def _by_category(rows: Iterable[Row]) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in rows:
        if not row.summed:
            continue
        for name, tokens in _categories(row):
            found[name] = found.get(name, 0.0) + tokens
    return found


def _categories(row: Row) -> Iterator[tuple[str, float]]:
    """The categories of a top row. Messages are divided by their own rows."""
    if row.name.startswith(SYSTEM_NAMES):
        yield "system prompt", row.tokens
    elif row.name.startswith(TOOL_NAMES):
        yield "tools", row.tokens
    elif row.name.startswith(UNLOGGED):
        yield "not in the log", row.tokens
    else:
        left = float(row.tokens)
        for child in row.children:
            if child.name in OWN_ROWS:
                yield OWN_ROWS[child.name], child.tokens
                left -= child.tokens
        yield "text", left


def _with_answer(request: BilledRequest, last_output: int) -> dict[str, float]:
    """The request's parts by category and its answer, since rows after a call hold both.

    How much of the answer's reasoning is sent back is told by the next bill: here it is as in the reading.
    """
    parts = {str(name): size for name, size in request.parts.categories.items()}
    answer = request.bill.output - request.bill.reasoning
    parts["text"] += parts.pop("other") + answer
    parts["reasoning"] += max(0, last_output - answer)
    return parts


def _joined(
    shown: dict[str, float], billed: dict[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """With ``not in the log`` in the place of what it holds."""
    held = ["text"]
    for name in ("system prompt", "tools"):
        if name not in shown:
            held.append(name)
    shown, billed = dict(shown), dict(billed)
    for name in held:
        shown["not in the log"] += shown.pop(name, 0.0)
    billed["not in the log"] = sum(billed.pop(name) for name in held)
    return shown, billed


def _tools(rows: Iterable[Row]) -> Iterator[tuple[str, float]]:
    """Each declared tool, wherever it is served."""
    for row in rows:
        if row.summed and row.name.startswith(TOOL_NAMES):
            for child in row.children:
                for leaf in child.children or (child,):
                    yield leaf.name, leaf.tokens
