"""``ullage context --follow``: the command, and processes that write a log and follow it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.logs import of_context
from tests.places import CLIENT_LOGS
from ullage.cli import main
from ullage.cli.follow import is_begun_only

ROOT = Path(__file__).parents[4]
FIXTURES = CLIENT_LOGS


def test_a_log_without_a_whole_line_has_only_been_begun(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert not is_begun_only(path)
    path.write_bytes(b'{"type":')
    assert is_begun_only(path)
    path.write_bytes(b'{"type":1}\n')
    assert not is_begun_only(path)


# -- the command --


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_what_is_no_log_is_an_error_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("no log\n" * 3)
    assert main(["context", "--follow", str(tmp_path / "notes.txt")]) == 2
    assert main(["context", "--follow", str(tmp_path / "nothing")]) == 2
    assert main(["context", "--follow"]) == 2
    assert "There is no file" in capsys.readouterr().err


class Following:
    """``ullage context --follow`` as a process of its own."""

    def __init__(self, *arguments: str) -> None:
        words = ["-m", "ullage", "context", "--follow", "--estimator", "pretoken"]
        command = [sys.executable, *words, *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def stop(self) -> str:
        """Ctrl-C; gives what was still to be read."""
        self.process.send_signal(signal.SIGINT)
        rest, errors = self.process.communicate(timeout=60)
        assert (self.process.returncode, errors) == (0, "")
        return rest


def test_a_program_gets_readings_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    content = (ROOT / "examples" / "session.jsonl").read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle])
    watching = Following(str(path), "--json")
    first = json.loads(watching.line())
    writer = (
        "import sys,time\n"
        "data=open(sys.argv[1],'rb').read()[int(sys.argv[3]):]\n"
        "with open(sys.argv[2],'ab',buffering=0) as file:\n"
        "    for at in range(0,len(data),4001): file.write(data[at:at+4001]); time.sleep(0.001)\n"
    )
    arguments = [str(ROOT / "examples" / "session.jsonl"), str(path), str(middle)]
    subprocess.run([sys.executable, "-c", writer, *arguments], check=True)
    wanted = json.loads(of_context(path))
    last = first
    while last["snapshot_id"] != wanted["snapshot_id"]:
        last = json.loads(watching.line())
    watching.stop()
    assert first["follow"]["calls"] < last["follow"]["calls"] == 111
    assert {name: value for name, value in last.items() if name != "follow"} == wanted


def test_a_pipe_gets_a_line_for_each_call_and_what_happened(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = (
        (FIXTURES / "claude_code" / "compaction.jsonl")
        .read_bytes()
        .splitlines(keepends=True)
    )
    path.write_bytes(lines[0])
    watching = Following(str(path))
    shown = [watching.line()]
    for line in lines[1:]:
        with path.open("ab") as file:
            file.write(line)
        time.sleep(0.01)
    while not any("compacted:" in line for line in shown) or not shown[-1].startswith(
        "call "
    ):
        shown.append(watching.line())
        assert shown[-1], shown
    watching.stop()
