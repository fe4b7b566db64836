"""One kind of trouble at a time while people use the machines: nothing is lost or doubled, and all comes to rest.

``tests/sweeps/test_deployed.py`` has the load balancer killed, and a rolling restart under Restate.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.sweeps.machines.cluster import LEASE_S, Cluster
from tests.sweeps.machines.storm import Tally, in_use, used

WAIT_S = 240.0

pytestmark = pytest.mark.timeout(900, func_only=True)

DRIVEN = """
SELECT count(*) FROM sessions WHERE owner LIKE '{0}%'
AND EXISTS (SELECT 1 FROM drafts WHERE session = key)
"""
"""Sessions whose answer streams at this machine."""

HELD = "SELECT count(*) FROM sessions WHERE owner LIKE '{0}%'"

SILENCE = """
CREATE SEQUENCE lost;
CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE sql AS $f$ SELECT nextval('lost') $f$;
DO $d$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $d$
"""
"""Every notification of a connection that is made from now on goes nowhere, and is counted."""

HEARD_AGAIN = """
DO $d$ BEGIN EXECUTE format('ALTER DATABASE %I RESET search_path', current_database()); END $d$
"""
"""The same for notifications of later connections: those of the test, whose store is refused without any."""

CUT = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


async def many(machines: Cluster, statement: str) -> int:
    return int(await asyncio.to_thread(machines.sql, statement))


async def until(machines: Cluster, statement: str, *, some: bool = True) -> None:
    """Wait until a statement counts something, or nothing."""
    ends = time.monotonic() + WAIT_S
    while bool(await many(machines, statement)) != some:
        assert time.monotonic() < ends, f"{statement} still counts the other"
        await asyncio.sleep(0.05)


async def stand_still(machines: Cluster) -> bool:
    """Stop a worker until others have all its sessions. False if it had none when it stood still."""
    await until(machines, DRIVEN.format("worker0-"))
    with machines.programs["worker0"].stopped():
        had = bool(await many(machines, DRIVEN.format("worker0-")))
        await until(machines, HELD.format("worker0-"), some=False)
        await asyncio.sleep(LEASE_S)
    return had


def test_a_worker_that_stood_still_past_its_lease_writes_nothing_more(
    tmp_path: Path,
) -> None:
    with in_use("lease", tmp_path) as machines:

        async def until_it_stood_still() -> None:
            while not await stand_still(machines):
                pass

        asyncio.run(used(machines, until_it_stood_still(), "still", Tally()))
        said = machines.programs["worker0"].said()
        assert "A driver leaves: The lease of worker0-" in said


def test_without_any_notification_everything_still_arrives(tmp_path: Path) -> None:
    with in_use("lease", tmp_path) as machines:

        async def fall_silent() -> None:
            await until(machines, DRIVEN.format("worker"))
            await asyncio.to_thread(machines.sql, SILENCE)
            assert await many(machines, CUT)
            before = await many(machines, "SELECT count(*) FROM events")
            await until(
                machines, f"SELECT greatest(0, count(*) - {before + 50}) FROM events"
            )
            assert await many(machines, "SELECT last_value FROM lost") > 1
            await asyncio.to_thread(machines.sql, HEARD_AGAIN)

        asyncio.run(used(machines, fall_silent(), "silent", Tally()))


def test_when_restate_has_lost_its_data_every_session_goes_on(tmp_path: Path) -> None:
    with in_use("restate", tmp_path) as machines:
        restate = machines.restate
        assert restate is not None

        async def forget() -> None:
            await until(machines, DRIVEN.format("worker"))
            restate.kill()
            restate.forget()
            await asyncio.to_thread(restate.start)
            await until(machines, DRIVEN.format("worker"))

        asyncio.run(used(machines, forget(), "forgotten", Tally()))


def test_a_rolling_restart_under_leases_loses_no_event_of_a_stream(
    tmp_path: Path,
) -> None:
    with in_use("lease", tmp_path) as machines:

        async def roll() -> None:
            for name, program in tuple(machines.programs.items()):
                await until(machines, DRIVEN.format("worker"))
                assert await asyncio.to_thread(program.end) == 0, program.said()
                await asyncio.to_thread(machines.parts[name].start)

        tally = Tally()
        asyncio.run(used(machines, roll(), "roll", tally))
        assert tally.breaks and not tally.resets
