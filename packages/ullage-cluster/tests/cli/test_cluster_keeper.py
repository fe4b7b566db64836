import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ullage_cluster.cli import cluster_keeper
from ullage_cluster.cli.cluster_keeper import DONE


@pytest.mark.parametrize("last", ["", f"{DONE}\n"])
def test_programs_and_folder_go_with_the_process_that_began_them(
    last: str, tmp_path: Path
) -> None:
    folder = tmp_path / "trial"
    folder.mkdir()
    waits = [sys.executable, "-c", "input()"]
    ended, program = (subprocess.Popen(waits, stdin=subprocess.PIPE) for _ in range(2))
    command = [sys.executable, "-I", "-S", cluster_keeper.__file__, str(folder)]
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    assert keeper.stdin is not None
    keeper.stdin.write(f"{ended.pid} 9\n{program.pid} 3\n{ended.pid} 0\n{last}")
    keeper.stdin.close()
    if not last:
        assert program.wait() == -signal.SIGQUIT
    assert keeper.wait() == 0
    assert not folder.exists()
    assert ended.poll() is None
    for each in (ended, program):
        each.kill()
        each.communicate()
