"""What one driver knows of its session's compactions and no event tells."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

from ullage.context.ladder import RUNGS
from ullage.context.prepared import Prefix
from ullage.context.strategy import Strategy, SummaryAnswer


class Prepared(NamedTuple):
    """A summary that was made ahead, and what it rests on."""

    prefix: Prefix
    answer: SummaryAnswer


@dataclass(slots=True)
class Compactions:
    """What one driver knows of its session's compactions and no event tells: work under way, and limits it has met."""

    strategies: tuple[Strategy, ...] = RUNGS
    prepared: Prepared | None = None
    preparing: asyncio.Task[None] | None = None
    bytes_limit: int | None = None
    image_limit: int | None = None
