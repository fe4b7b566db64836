"""Logs that would take time or memory without bounds: each is read in steps that grow with its size, or refused."""

from pathlib import Path

import pytest

from tests.hostile.logs import claude, lines
from tests.importers.test_tree import Log
from ullage.envelope import COPY_STEPS, LINE_BYTES, LOG_LINES, LOG_STEPS
from ullage.errors import UnreadableInput
from ullage.importers import read
from ullage.importers.rows import EventWriter
from ullage.messages import Message, SystemBlock, Tool


def said(name: str) -> Message:
    return Message(id=name, role="user")


def test_a_log_of_too_many_lines_is_refused(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", claude())
    with log.open("ab") as file:
        file.write(b"\n" * (LOG_LINES + LOG_LINES // 500))
    with pytest.raises(UnreadableInput, match=r"more than 24,\d+ lines.*tail -n 6000"):
        read(log)


def test_a_log_may_have_a_line_more_for_each_part_of_its_size(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", claude("x" * LINE_BYTES * 1_000))
    with log.open("ab") as file:
        file.write(b"\n" * (LOG_LINES + 1_000))
    assert read(log).lines == LOG_LINES + 1_001


@pytest.mark.sweep
def test_branches_that_are_returned_to_again_and_again_end_the_reading() -> None:
    log, length = Log(), 1_000
    for branch in "ab":
        log.line(f"{branch}0", "")
        log.rows.rewind("")
        for number in range(1, length):
            log.line(f"{branch}{number}", f"{branch}{number - 1}")
    with pytest.raises(UnreadableInput, match="too often"):
        for number in range(LOG_STEPS // (length * COPY_STEPS) + 1):
            log.line(f"x{number}", f"{'ab'[number % 2]}{length - 1}")
    assert len(log.rows.messages) < LOG_STEPS // COPY_STEPS + 3 * length


def filled(length: int = 1_000) -> EventWriter:
    rows = EventWriter("s")
    for number in range(length):
        rows.add(said(f"m{number}"))
    return rows


def test_compactions_that_keep_everything_end_the_reading() -> None:
    rows = filled()
    with pytest.raises(UnreadableInput, match="too often"):
        for _ in range(LOG_STEPS // 1_000 + 1):
            rows.compact(None, keep=set(rows.view))


def test_rewinds_of_a_long_conversation_end_the_reading() -> None:
    rows = filled()
    with pytest.raises(UnreadableInput, match="too often"):
        for number in range(LOG_STEPS // 999 + 1):
            rows.rewind("m998")
            rows.add(said(f"again{number}"))


def test_a_system_prompt_that_grows_by_each_line_ends_the_reading() -> None:
    rows = EventWriter("s")
    with pytest.raises(UnreadableInput, match="too often"):
        for _ in range(1_000):
            rows.use_system([*rows.system, SystemBlock(text="a")])


def test_tools_that_are_declared_again_and_again_end_the_reading() -> None:
    rows = EventWriter("s")
    tools = [Tool(name=f"t{number}") for number in range(1_000)]
    with pytest.raises(UnreadableInput, match="too often"):
        for number in range(LOG_STEPS // 999 + 1):
            rows.use_tools(tools[number % 2 :])


def test_a_name_that_is_used_again_and_again_is_tried_once_a_variant() -> None:

    rows = EventWriter("s")
    for _ in range(20_000):
        rows.add(said(rows.unique("m")))
    assert list(rows.view)[:3] == ["m", "m@2", "m@3"]
    assert rows.tip == "m@20000"


def test_a_message_that_was_copied_often_is_found_by_its_newest_copy() -> None:
    log = Log()
    log.line("u", "")
    log.line("a", "u")
    for number in range(50):
        log.line(f"b{number}", "u")
        log.line(f"c{number}", "a")
    assert log.texts() == ["u", "a", "c49"]
    assert log.tree.ending("a") == "a@51"
