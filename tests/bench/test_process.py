import sys
from pathlib import Path

import pytest

from bench.process import CommandFailed, run_in_turn, run_once


def test_a_process_is_accounted_with_the_memory_it_touched() -> None:
    size = 60_000_000
    cost = run_once([sys.executable, "-c", f"held = b'x' * {size}"])
    bare = run_once([sys.executable, "-c", "pass"])
    assert size < cost.peak_bytes < 3 * size
    assert bare.peak_bytes < size
    assert cost.wall_s > 0


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(CommandFailed, match="no such cask"):
        run_once([sys.executable, "-c", "raise SystemExit('no such cask')"])
    with pytest.raises(CommandFailed):
        run_once(["/no/such/command"])


def test_the_warm_up_is_not_counted() -> None:
    runs = run_in_turn({"bare": [sys.executable, "-c", "pass"]}, count=2)
    assert len(runs["bare"].runs) == 2
    assert runs["bare"].median.peak_mb > 1


def test_bytecode_is_cached_from_the_second_run_on(tmp_path: Path) -> None:
    (tmp_path / "cask.py").write_text("LITRES = 225\n")
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    run_once([sys.executable, "-c", "import cask"], environment=environment)
    assert list(tmp_path.glob("__pycache__/cask.*.pyc"))
