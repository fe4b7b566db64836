"""Machines are killed at random moments while people use them; ``python -m bench.kills`` kills 300."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweeps.machines.cluster import Kind
from tests.sweeps.machines.storm import run

KILLS = 12


@pytest.mark.timeout(900, func_only=True)
@pytest.mark.parametrize("kind", ["restate", "lease", "sqlite"])
def test_whatever_is_killed_nothing_is_lost_or_doubled_and_all_comes_to_rest(
    kind: Kind, tmp_path: Path
) -> None:
    (tally,) = run(kind, tmp_path, kind, rounds=1, kills=KILLS)
    assert tally.kills.total() == KILLS
    assert tally.messages > 0
