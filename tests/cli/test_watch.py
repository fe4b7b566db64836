"""Following logs that grow: with every cut the reading of ``ullage context``; processes that write and watch."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiers import first_of
from ullage.cli import main
from ullage.cli.session import metered, read_session
from ullage.cli.watch import Watched, is_begun_only
from ullage.errors import InputError
from ullage.events import CompactionCommitted
from ullage.importers import ImportedSession
from ullage.importers.growing import GrowingLog
from ullage.meter.meter import Meter

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "importers" / "fixtures"
LOGS = [
    *sorted(
        path
        for path in FIXTURES.rglob("*.json*")
        if path.is_file() and "opencode" not in path.parts
    ),
    ROOT / "examples" / "session.jsonl",
]


def new_meter(imported: ImportedSession | None = None) -> Meter:
    return Meter(estimator="pretoken")


def of_context(path: Path) -> bytes:
    """What ``ullage context`` reads there, or the kind of its error."""
    try:
        return metered(read_session(path), new_meter()).meter.reading().to_json()
    except InputError as problem:
        return type(problem).__name__.encode()


def grown(path: Path, pieces: Sequence[bytes], watched: Watched) -> Iterator[bytes]:
    """What a watch says after each piece is appended."""
    said = b""
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        try:
            seen = watched.look()
            said = said if seen is None else seen.reading.to_json()
        except InputError as problem:
            said = type(problem).__name__.encode()
        yield said


@pytest.mark.parametrize(
    "log", first_of(LOGS, 3), ids=lambda path: f"{path.parent.name}/{path.name}"
)
@settings(max_examples=12)
@given(data=st.data())
def test_every_reading_is_that_of_ullage_context_wherever_the_log_is_cut(
    log: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = log.read_bytes()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(content) - 1), max_size=6)))
    pieces = [
        content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)
    ]
    path = tmp_path_factory.mktemp("log") / log.name
    watched = Watched(GrowingLog(path), new_meter)
    for said in grown(path, pieces, watched):
        assert said == of_context(path)


def test_a_line_that_is_whole_but_has_no_line_break_counts_as_it_does_for_context(
    tmp_path: Path,
) -> None:
    lines = (FIXTURES / "pi" / "session.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    watched = Watched(GrowingLog(path), new_meter)
    pieces = [piece for line in lines for piece in (line[:-1], line[-1:])]
    for said in grown(path, pieces, watched):
        assert said == of_context(path)


def test_a_log_that_is_cut_replaced_or_written_anew_is_read_from_its_begin_and_that_is_said(
    tmp_path: Path,
) -> None:
    first, second = (
        FIXTURES / "pi" / "session.jsonl",
        FIXTURES / "codex" / "session.jsonl",
    )
    path = tmp_path / "log.jsonl"
    shutil.copy(first, path)
    watched = Watched(GrowingLog(path), new_meter)
    seen = watched.look()
    assert seen is not None and seen.restarted == ""

    content = first.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    seen = watched.look()
    assert seen is not None and seen.restarted == "the log was cut"
    assert seen.reading.to_json() == of_context(path)

    new = tmp_path / "new"
    shutil.copy(second, new)
    with new.open("ab") as file:
        file.write(b"\n" * len(content))
    new.rename(path)
    seen = watched.look()
    assert seen is not None and seen.restarted == "the log was replaced by another file"
    assert seen.reading.to_json() == of_context(path)

    content = path.read_bytes()
    path.write_bytes(content.replace(b"\n\n", b"\n \n") + content)
    seen = watched.look()
    assert seen is not None and seen.restarted == "the log was written anew"
    assert seen.reading.to_json() == of_context(path)


def test_nothing_is_said_of_a_log_that_has_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    shutil.copy(FIXTURES / "pi" / "session.jsonl", path)
    watched = Watched(GrowingLog(path), new_meter)
    assert watched.look() is not None
    assert watched.look() is None


def test_a_compaction_is_told_once_when_it_comes_and_not_when_it_was_there_before(
    tmp_path: Path,
) -> None:
    lines = (
        (FIXTURES / "claude_code" / "compaction.jsonl")
        .read_bytes()
        .splitlines(keepends=True)
    )
    path = tmp_path / "log.jsonl"
    watched = Watched(GrowingLog(path), new_meter)
    told = 0
    for line in lines:
        with path.open("ab") as file:
            file.write(line)
        try:
            seen = watched.look()
        except InputError:
            continue
        told += (
            0
            if seen is None
            else sum(isinstance(event, CompactionCommitted) for event in seen.happened)
        )
    assert (
        told
        == sum(
            isinstance(event, CompactionCommitted) for event in read_session(path).events
        )
        > 0
    )
    seen = Watched(GrowingLog(path), new_meter).look()
    assert seen is not None and seen.happened == ()


def test_near_the_limit_goes_up_high_and_down_only_well_below(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    shutil.copy(ROOT / "examples" / "session.jsonl", path)
    used = metered(read_session(path), new_meter()).meter.reading().used.high
    for window, is_near in (
        (round(used / 0.8 / 0.85), True),
        (round(used / 0.8 / 0.7), False),
    ):
        seen = Watched(
            GrowingLog(path),
            lambda imported, window=window: Meter(estimator="pretoken", window=window),  # type: ignore[misc]
        ).look()
        assert seen is not None and seen.status.near_limit is is_near


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


def test_once_says_how_it_stands_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "watch",
                str(ROOT / "examples" / "session.jsonl"),
                "--once",
                "--estimator",
                "pretoken",
            ]
        )
        == 0
    )
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("Watching claude-code") and "44 calls" in head
    assert line.startswith("call 44") and "of 200,000 (18 %)" in line


def test_what_is_no_log_is_an_error_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("no log\n" * 3)
    assert main(["watch", str(tmp_path / "notes.txt")]) == 2
    assert main(["watch", str(tmp_path / "nothing")]) == 2
    assert main(["watch"]) == 2
    assert "does not exist" in capsys.readouterr().err


class Watching:
    """``ullage watch`` as a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            "ullage",
            "watch",
            "--interval",
            "0.02",
            "--estimator",
            "pretoken",
            *arguments,
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def stop(self) -> str:
        """Ctrl-C; gives what was still to be read."""
        self.process.send_signal(signal.SIGINT)
        rest, errors = self.process.communicate(timeout=20)
        assert (self.process.returncode, errors) == (0, "")
        return rest


def test_a_program_gets_a_reading_a_line_while_another_process_writes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    content = (ROOT / "examples" / "session.jsonl").read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle])
    watching = Watching(str(path), "--json")
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
    assert first["watch"]["calls"] < last["watch"]["calls"] == 44
    assert {name: value for name, value in last.items() if name != "watch"} == wanted


def test_a_pipe_gets_a_line_for_each_call_and_what_happened(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = (
        (FIXTURES / "claude_code" / "compaction.jsonl")
        .read_bytes()
        .splitlines(keepends=True)
    )
    path.write_bytes(lines[0])
    watching = Watching(str(path))
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
