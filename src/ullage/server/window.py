"""The window: the reading, every step, the largest items, the spend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Final

from litestar import get
from litestar.params import QueryParameter

from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.rows import Item
from ullage.meter.spend import Spend
from ullage.meter.track import Step
from ullage.server.access import Opened
from ullage.server.api_types import LargeItem, Largest, StepLine, Steps

PREVIEW: Final = 160
"""Characters of an item's text that are shown beside its size."""


@get("/v1/sessions/{session:str}/context", operation_id="get_context", summary="The window now, breakdown and all")
async def get_context(opened: Opened) -> Reading:
    """The number that is displayed, decided on and enforced: ``snapshot_id`` is the same on every display."""
    return await opened.context()


@get("/v1/sessions/{session:str}/steps", operation_id="list_steps", summary="Estimate and actual of every call")
async def list_steps(opened: Opened) -> Steps:
    """With what the window grew by, and what happened before each."""
    return Steps(steps=tuple(step_lines((await opened.meter()).steps)))


@get("/v1/sessions/{session:str}/largest", operation_id="list_largest", summary="The parts that cost most")
async def list_largest(opened: Opened, count: Annotated[int, QueryParameter(ge=1, le=1000)] = 20) -> Largest:
    """Goes through the whole view."""
    return Largest(largest=largest_of(await opened.meter(), count))


@get("/v1/sessions/{session:str}/spend", operation_id="get_spend", summary="What the session has cost")
async def get_spend(opened: Opened) -> Spend:
    """All calls of all purposes, failed ones and children included."""
    return await opened.spend()


def step_lines(steps: Sequence[Step]) -> Iterator[StepLine]:
    """The steps as lines."""
    for before, step in pairwise([None, *steps]):
        assert step is not None
        yield StepLine(
            number=step.number,
            call=step.call,
            at=step.at,
            estimated=step.estimated,
            low=step.low,
            high=step.high,
            actual=step.actual,
            error=step.error,
            error_percent=step.error_percent,
            tokens=_size(step),
            grown=None if before is None else _size(step) - _size(before),
            marks=step.marks,
            first=step.first,
        )


def _size(step: Step) -> int:
    return step.estimated if step.actual is None else step.actual


def largest_of(meter: Meter, count: int) -> tuple[LargeItem, ...]:
    """The largest items that cost anything, with how each begins."""
    items = [item for item in meter.largest(count) if item.tokens]
    texts = _previews(meter.messages, items)
    return tuple(LargeItem(**item._asdict(), preview=texts.get(item.part, "")) for item in items)


def _previews(messages: Iterable[Message], items: Sequence[Item]) -> dict[str, str]:
    wanted = {item.part for item in items}
    return {part.id: _preview(part) for message in messages for part in message.parts if part.id in wanted}


def _preview(part: Part) -> str:
    match part:
        case TextPart() | ReasoningPart() | ProviderItem() | ToolResultPart():
            return part.text[:PREVIEW]
        case ToolCallPart():
            return part.arguments[:PREVIEW]
        case ImagePart():
            return f"{part.mime or 'image'} {part.width or '?'} x {part.height or '?'}"
        case FilePart():
            return part.name or part.mime
        case _:
            return ""
