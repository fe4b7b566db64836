"""Carries out ``Compact``."""

from __future__ import annotations

from ullage.agent.steps import Compact
from ullage.events import CompactionRolledBack, CompactionStarted
from ullage.runtime.work import Work


def may_compact(work: Work) -> bool:
    """Whether a compaction could help."""
    return False


async def compact(work: Work, step: Compact) -> None:
    """Make the view smaller."""
    name = f"compaction-{work.ledger.loop.seq + 1}"
    await work.ledger.write(
        [CompactionStarted(compaction=name, trigger=step.trigger), CompactionRolledBack(compaction=name, reason="none")]
    )
