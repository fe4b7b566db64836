"""A worker that stands still past its lease while people use the machines."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.sweeps.machines.cluster import LEASE_S, Cluster
from tests.sweeps.machines.storm import Tally, in_use, used

WAIT_S = 120.0


DRIVEN = """
SELECT count(*) FROM sessions WHERE owner LIKE 'worker0-%'
AND EXISTS (SELECT 1 FROM drafts WHERE session = key)
"""
"""Sessions whose answer streams at this worker."""

HELD = "SELECT count(*) FROM sessions WHERE owner LIKE 'worker0-%'"


async def many(machines: Cluster, statement: str) -> int:
    """What a statement counts."""
    return int(await asyncio.to_thread(machines.sql, statement))


async def until(machines: Cluster, statement: str, *, some: bool) -> None:
    """Wait until a statement counts something, or nothing."""
    ends = time.monotonic() + WAIT_S
    while bool(await many(machines, statement)) != some:
        assert time.monotonic() < ends, f"{statement} still counts the other"
        await asyncio.sleep(0.05)


async def stand_still(machines: Cluster) -> bool:
    """Stop a worker until others have all its sessions. False if it had none when it stood still."""
    await until(machines, DRIVEN, some=True)
    with machines.programs["worker0"].stopped():
        had = bool(await many(machines, DRIVEN))
        await until(machines, HELD, some=False)
        await asyncio.sleep(LEASE_S)
    return had


def test_a_worker_that_stood_still_past_its_lease_writes_nothing_more(
    tmp_path: Path,
) -> None:
    with in_use("lease", tmp_path) as (machines, clock):

        async def until_it_stood_still() -> None:
            while not await stand_still(machines):
                pass

        still = until_it_stood_still()
        asyncio.run(used(machines, still, "still", Tally(), clock))
        said = machines.programs["worker0"].said()
        assert "A driver leaves: The lease of worker0-" in said
