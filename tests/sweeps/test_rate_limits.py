"""Processes of one store share a provider's rate limit, which they learn from its headers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ullage_simulators import running

from tests.machines import machines
from tests.server.served import script
from ullage.events import CallEnded, CallRetried

PER_MINUTE = 60
SESSIONS = tuple(f"s{number}" for number in range(40))
STEPS = 2


def test_two_workers_keep_one_limit_and_nobody_starves(tmp_path: Path) -> None:
    looks = {"calls": [{"name": "list", "arguments": {"path": "."}}]}
    story = script(
        {**looks, "when": {"step": 1}},
        {"text": "Done."},
    )
    story = replace(story, requests_per_minute=PER_MINUTE)
    options = ("--dispatch", "lease", "--tools", "list")
    with (
        running(story) as simulator,
        machines(
            simulator.url("anthropic"),
            tmp_path,
            server=options,
            workers=(options, options),
        ) as many,
    ):
        with many.servers[0].api() as one, many.servers[1].api() as other:
            for number, session in enumerate(SESSIONS):
                api = (one, other)[number % 2]
                api.session(session)
                text = {"text": "Look around."}
                api.post(f"/v1/sessions/{session}/messages", json=text)
        many.until_rest(SESSIONS)
        statuses = [each.status for each in simulator.exchanges if each.number]
        first = statuses.index(429) if 429 in statuses else len(statuses)
        refused = statuses.count(429)
        assert statuses.count(200) == len(SESSIONS) * STEPS
        assert first >= PER_MINUTE - 1
        assert refused <= 4, f"{refused} of {len(statuses)} were refused"
        ledgers = many.ledgers(SESSIONS)
        ends = []
        for session, events in ledgers.items():
            outcomes = [e.outcome for e in events if isinstance(e, CallEnded)]
            assert outcomes == ["finished"] * STEPS, session
            ends.append(max(e.at for e in events))
            waits = [e for e in events if isinstance(e, CallRetried)]
            assert all(e.attempt or "rate limit" in e.error for e in waits)
        assert max(ends) - min(ends) < 180
