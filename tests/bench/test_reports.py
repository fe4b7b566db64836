"""Random sessions whose true sizes are known: no honest report is lost for longer than one call."""

from __future__ import annotations

import pytest

from bench.reports import BROKEN, HONEST, count
from tests.tiers import examples

SESSIONS = examples(100)


@pytest.mark.parametrize("kind", HONEST)
def test_no_honest_report_is_lost_for_longer_than_one_call_or_outside_the_interval(
    kind: str,
) -> None:
    found = count(kind, SESSIONS)
    assert found["calls"] >= 5 * SESSIONS
    assert (found["lost"], found["outside"], found["compacted"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        ("cumulative", 0.1),
        ("only fresh", 0.1),
        ("zero", 0.1),
        ("absurd: too large", 0),
        ("absurd: too small", 0.02),
        ("absurd: the first report", 0.25),
    ],
)
def test_broken_reports_are_hardly_believed(kind: str, share: float) -> None:
    assert kind in BROKEN
    found = count(kind, SESSIONS)
    assert found["off"] <= share * found["calls"]
    assert found["compacted"] == 0
