"""What one driver knows of its session's compactions and no event tells."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from ullage.context.prepared import Prefix
from ullage.context.request_limits import RequestLimits
from ullage.context.strategies import STRATEGIES
from ullage.context.strategy import Strategy, SummaryAnswer


class ReadySummary(NamedTuple):
    """A summary that was made ahead, and what it rests on."""

    prefix: Prefix
    answer: SummaryAnswer


class Served(NamedTuple):
    """A model at its address. What one takes of images and bytes, another need not."""

    provider: str
    model: str
    base_url: str


class LastLook(NamedTuple):
    """Whether a view, by its digest, was over what one request may hold under the limits met."""

    view: str
    served: Served
    met: RequestLimits
    is_over: bool


@dataclass(slots=True)
class Compactions:
    """What one driver knows of its session's compactions and no event tells: work under way, and limits it has met."""

    strategies: tuple[Strategy, ...] = STRATEGIES
    prepared: ReadySummary | None = None
    preparing: asyncio.Task[None] | None = None
    met: dict[Served, RequestLimits] = field(default_factory=dict)
    """Limits of images and bytes that refusals have taught."""
    last_look: LastLook | None = None
