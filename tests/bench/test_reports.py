from __future__ import annotations

from bench.reports import REFUSED, USED, ReportReplay, of_requests, table
from tests.cli.recorded import pair
from ullage.cli.recorded import pair_of


def test_each_report_is_counted_once_and_one_that_is_not_used_is_named() -> None:
    replay = ReportReplay()
    for number in range(3):
        row = pair(number, truth=14_800_000 if number == 2 else 1030, spent=1000)
        replay.add(pair_of({**row, "conv": str(number)}))
    replay.finish()
    assert replay.outcomes["cassette", USED] == 5
    assert replay.outcomes["cassette", REFUSED] == 1
    assert "14,800,000" in replay.refused[0]
    assert "| all | 6 | 5 | 0 | 0 | 1 |" in table(replay.outcomes)


def test_a_call_that_two_pairs_hold_is_counted_once() -> None:
    replay = ReportReplay()
    second = {"input": 1030, "output": 20, "reasoning": 0}
    replay.add(pair_of(pair(0, truth=1030, usage_b=second)))
    replay.add(pair_of(pair(1, truth=1060, spent=1030)))
    replay.finish()
    assert sum(replay.outcomes.values()) == 3


def test_whole_requests_are_first_calls() -> None:
    atoms = [{"r": "user", "k": "text", "t": "Hello there.", "m": 0}]
    row = {"api": "chat", "provider": "openai", "model": "gpt-4o", "atoms": atoms}
    rows = [{**row, "src": str(n), "usage": {"input": n}} for n in (10, 50_000)]
    outcomes, refused = of_requests(iter(rows))
    assert outcomes == {("whole request", USED): 1, ("whole request", REFUSED): 1}
    assert "50,000" in refused[0]
