"""Waits of a call are recorded before they begin, whatever the call is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import haiku
from tests.server.served import script
from ullage.events import CallRetried, CallStarted
from ullage_simulators import running

REFUSED = {"kind": "status", "status": 429, "retry_after_s": 0.5}


@pytest.mark.parametrize(("request_number", "purpose"), [(1, "main"), (4, "summary")])
async def test_a_wait_after_a_refusal_is_in_the_ledger(
    request_number: int, purpose: str, tmp_path: Path
) -> None:
    faults = [REFUSED | {"request": request_number}]
    with running(script({"text": "Done. " * 500}, faults=faults)) as simulator:
        agent = haiku(tmp_path / "s.db", base_url=simulator.url("anthropic"))
        async with agent.session("s") as session:
            for _ in range(3):
                await session.ask("Tell me at length. " * 500)
            await session.compact()
            await session.wait(check=False)
            events = await session.history()
    purposes = {e.call: e.purpose for e in events if isinstance(e, CallStarted)}
    waits = [e for e in events if isinstance(e, CallRetried)]
    assert [(purposes[e.call], e.attempt) for e in waits] == [(purpose, 1)]
    assert "asked too often" in waits[0].error
