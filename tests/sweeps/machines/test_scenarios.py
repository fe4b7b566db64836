"""A worker that stands still past its lease while people use the machines."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.sweeps.machines.cluster import LEASE_S, Cluster
from tests.sweeps.machines.storm import Tally, in_use, used

WAIT_S = 120.0


async def until_left(machines: Cluster, machine: str) -> None:
    """Wait until no session is driven by this machine."""
    statement = f"SELECT count(*) FROM sessions WHERE owner LIKE '{machine}-%'"
    ends = time.monotonic() + WAIT_S
    while await asyncio.to_thread(machines.sql, statement) != "0\n":
        assert time.monotonic() < ends, f"{machine} still has sessions"
        await asyncio.sleep(0.2)


async def until_driving(machines: Cluster, machine: str) -> None:
    """Wait until a session is driven by this machine."""
    statement = f"SELECT count(*) FROM sessions WHERE owner LIKE '{machine}-%'"
    ends = time.monotonic() + WAIT_S
    while await asyncio.to_thread(machines.sql, statement) == "0\n":
        assert time.monotonic() < ends, f"{machine} drives nothing"
        await asyncio.sleep(0.05)


def test_a_worker_that_stood_still_past_its_lease_writes_nothing_more(
    tmp_path: Path,
) -> None:
    with in_use("lease", tmp_path) as (machines, clock):
        tally = Tally()

        async def stand_still() -> None:
            await until_driving(machines, "worker0")
            with machines.programs["worker0"].stopped():
                await until_left(machines, "worker0")
                await asyncio.sleep(LEASE_S)
            for _ in range(600):
                if "A driver leaves" in machines.programs["worker0"].said():
                    return
                await asyncio.sleep(0.1)

        asyncio.run(used(machines, stand_still(), "still", tally, clock))
        assert "A driver leaves: The lease of worker0-" in (
            machines.programs["worker0"].said()
        )
