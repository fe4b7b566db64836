import json
from pathlib import Path

import pytest

from tests.processes import run_python
from tests.tiers import examples

ROOT = Path(__file__).parents[5]
ROUNDS = examples(320)


@pytest.mark.sweep
def test_a_process_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    done = run_python(
        "-m", "tests.store.sqlite.crashing", str(tmp_path), str(ROUNDS), "20", cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    said = json.loads(done.stdout)
    assert said["rounds"] == ROUNDS
    assert said["acknowledgements"] > 10 * ROUNDS
