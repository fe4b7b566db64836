import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.line.logs import answer, prompt, result, use
from ullage_programs.claude_code import look as looking
from ullage_programs.claude_code.look import MOST, NEAR, LogFile, LogPosition, look
from ullage_programs.claude_code.size import SessionSize
from ullage_programs.files import write_object
from ullage_programs.line.places import session_file

FILLER = "steep the tea for a minute longer " * 30


def calls(first: int, count: int) -> bytes:
    lines = []
    for number in range(first, first + count):
        blocks = [use(f"t{number}", "Read", file_path=f"{number}.py")]
        lines.append(answer(f"msg_{number}", reported=20_000 + number, blocks=blocks))
        lines.append(result(f"t{number}", FILLER))
    return b"".join(lines)


def next_input(log: Path) -> int | None:
    size = look(str(log))
    assert size is not None
    return size.next_input()


def read_up_to(log: Path) -> object:
    return json.loads(Path(session_file(str(log), ".json")).read_bytes())["at"]


def whole(data: bytes) -> SessionSize:
    size = SessionSize()
    for line in data.splitlines():
        size.feed(line)
    return size


def test_a_second_look_reads_only_what_is_new(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    first = calls(0, 5)
    log.write_bytes(first)
    next_input(log)
    assert read_up_to(log) == len(first)
    log.write_bytes(first[:-70] + b"#" * 6 + first[-64:] + calls(5, 1))
    assert next_input(log) == whole(first + calls(5, 1)).next_input()


def test_a_line_without_an_end_is_left_for_the_next_look(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    line = answer("msg_1", reported=30_000)
    log.write_bytes(calls(0, 1) + line[:60])
    before = next_input(log)
    log.write_bytes(calls(0, 1) + line)
    assert before == whole(calls(0, 1)).next_input()
    assert next_input(log) == 30_010


def test_a_log_that_was_written_anew_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(calls(0, 5))
    next_input(log)
    other = prompt("hello") + answer("msg_1", reported=70_000) + calls(50, 6)
    log.write_bytes(other)
    assert next_input(log) == whole(other).next_input()


def test_a_shorter_log_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(calls(0, 5))
    next_input(log)
    log.write_bytes(answer("msg_1", reported=70_000))
    assert next_input(log) == 70_010


def test_the_first_look_at_a_long_log_tells_the_last_call(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    data = calls(0, 2_000)
    log.write_bytes(data)
    assert len(data) > MOST
    assert next_input(log) == pytest.approx(whole(data).next_input(), rel=0.005)
    for first, count in ((2_000, 3), (2_003, 2_000)):
        data += calls(first, count)
        log.write_bytes(data)
        assert next_input(log) == pytest.approx(whole(data).next_input(), rel=0.005)


def test_one_look_reads_a_bounded_part_of_a_log_of_any_length(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    with log.open("wb") as file:
        file.seek(100_000_000)
        file.write(b"\n" + calls(0, 3))
    read: list[int] = []

    class Counting(LogFile):
        def read(self, at: int, length: int) -> bytes:
            data = super().read(at, length)
            read.append(len(data))
            return data

    with log.open("rb") as opened:
        counting = Counting(opened.fileno(), log.stat().st_size)
        size = looking._look(counting, str(log))
    assert size.next_input() == whole(calls(0, 3)).next_input()
    assert sum(read) < NEAR + 1_000


def test_a_long_line_is_read(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    long = result("t0", "x " * (MOST // 3))
    data = answer("msg_1", reported=20_000) + long + prompt("hello")
    log.write_bytes(data)
    assert next_input(log) == whole(data).next_input()


def test_a_line_too_long_for_a_look_is_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    long = result("t0", "x" * (2 * MOST))
    log.write_bytes(long + answer("msg_1", reported=20_000))
    assert next_input(log) == 20_010
    assert read_up_to(log) == log.stat().st_size


def place_of_fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo.jsonl"
    os.mkfifo(path)
    return path


def place_of_directory(tmp_path: Path) -> Path:
    path = tmp_path / "directory.jsonl"
    path.mkdir()
    return path


@pytest.mark.parametrize(
    "place",
    [
        place_of_fifo,
        place_of_directory,
        lambda tmp_path: tmp_path / "missing.jsonl",
        lambda tmp_path: "nul\0byte.jsonl",
        lambda tmp_path: "/dev/zero",
        lambda tmp_path: "x" * 5_000,
    ],
    ids=["fifo", "directory", "missing", "nul", "device", "long name"],
)
def test_what_is_no_file_is_no_log(tmp_path: Path, place: object) -> None:
    assert callable(place)
    assert look(str(place(tmp_path))) is None


def test_a_cache_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(calls(0, 3))
    cache = Path(session_file(str(log), ".json")).parent
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the directory should be")
    assert next_input(log) == next_input(log) == whole(calls(0, 3)).next_input()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"7", b"[" * 100_000, b"\x00" * 2_000_000]
)
def test_a_damaged_state_is_made_anew(tmp_path: Path, content: bytes) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(calls(0, 3))
    next_input(log)
    Path(session_file(str(log), ".json")).write_bytes(content)
    assert next_input(log) == whole(calls(0, 3)).next_input()


def test_a_state_of_another_log_of_the_same_name_is_not_used(tmp_path: Path) -> None:
    one, other = tmp_path / "one" / "s.jsonl", tmp_path / "other" / "s.jsonl"
    for log, reported in ((one, 20_000), (other, 60_000)):
        log.parent.mkdir()
        log.write_bytes(answer("msg_1", reported=reported))
    assert (next_input(one), next_input(other)) == (20_010, 60_010)


def test_the_state_of_a_session_has_no_file_outside_the_cache() -> None:
    inside = session_file("/logs/../../../etc/pass wd\n.jsonl", ".json")
    assert Path(inside).name == "passwd.json"


@given(
    cuts=st.lists(st.integers(1, 4_000), min_size=1, max_size=30),
    end=st.integers(1, 9_000),
)
def test_any_pieces_give_the_same_size_as_the_whole(cuts: list[int], end: int) -> None:
    data = calls(0, 4)[:end]
    complete = data[: data.rfind(b"\n") + 1]
    position = LogPosition()
    read, write = os.pipe()
    os.close(write)

    class Piece(LogFile):
        def read(self, at: int, length: int) -> bytes:
            return data[at : min(at + length, self.end)]

    reached = 0
    for cut in [*cuts, len(data)]:
        reached = min(len(data), reached + cut)
        position.advance(Piece(read, reached))
    os.close(read)
    assert vars(position.size) == vars(whole(complete))
    assert position.at == len(complete)


def test_a_state_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(prompt("hello"))
    state = Path(session_file(str(log), ".json"))
    state.mkdir(parents=True)
    assert look(str(log)) is not None
    assert list(state.parent.iterdir()) == [state]


def test_what_is_kept_is_the_users_alone(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(calls(0, 2))
    place = Path(session_file(str(log), ".json"))
    for _ in range(2):
        write_object(str(place), {"log": str(log)})
        assert place.stat().st_mode & 0o777 == 0o600
        assert place.parent.stat().st_mode & 0o777 == 0o700
