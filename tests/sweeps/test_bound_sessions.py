"""1,000 random sessions on every simulated model: nothing is refused for what is in front of reasoning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweeps.bound_sessions import Outcome, random_session

CHUNK = 50
CHUNKS = 20


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_session_is_refused_for_its_reasoning(tmp_path: Path, chunk: int) -> None:
    total = Outcome()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        found = random_session(seed, tmp_path)
        assert (found.refused, found.dropped, found.lost) == (0, 0, ""), f"seed {seed}"
        total = total.plus(found)
    assert total.before > CHUNK, "the sessions hold reasoning"
    assert total.after > total.before / 3, "and most changes keep some of it"
