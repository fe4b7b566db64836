import shutil
from pathlib import Path

import pytest

from tests.importers.opencode_database import make_database
from ullage.context.costs import after
from ullage.errors import NotASession, UnreadableInput
from ullage.importers.detect import read, reader_for
from ullage.importers.growing import GrowingLog, branched
from ullage.meter.meter import Meter

FIXTURES = Path(__file__).parent / "fixtures"
SESSION = FIXTURES / "claude_code" / "session.jsonl"


def test_only_new_lines_are_given_and_what_was_held_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = SESSION.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    log = GrowingLog(path)
    first = log.look()
    assert first is not None and first.is_whole
    with path.open("ab") as file:
        file.write(lines[-2] + lines[-1][:20])
    second = log.look()
    assert second is not None and not second.is_whole
    assert second.imported.skipped_lines == 1  # the torn one, for now
    with path.open("ab") as file:
        file.write(lines[-1][20:])
    third = log.look()
    assert third is not None
    assert (*first.certain, *second.certain, *third.certain, *third.held) == read(
        path
    ).events
    assert third.imported.skipped_lines == 0
    assert log.look() is None


def test_what_is_not_there_or_something_else_can_become_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = GrowingLog(path)
    with pytest.raises(UnreadableInput):
        log.look()
    path.write_bytes(b'{"type":')
    with pytest.raises(NotASession):
        log.look()
    shutil.copy(SESSION, path)
    growth = log.look()
    assert growth is not None and (*growth.certain, *growth.held) == read(path).events


def test_one_value_and_a_database_are_read_whole_on_a_change(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    shutil.copy(FIXTURES / "gemini_cli" / "chat.json", chat)
    for path in (chat, make_database(tmp_path / "opencode.db")):
        log = GrowingLog(path)
        growth = log.look()
        assert (
            growth is not None and growth.is_whole and growth.certain == read(path).events
        )
        assert log.look() is None
    chat.write_bytes(chat.read_bytes() + b"\n")
    log = GrowingLog(chat)
    assert log.look() is not None


def test_the_log_of_a_subagent_counts_when_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    shutil.copy(SESSION, path)
    log = GrowingLog(path)
    assert log.look() is not None
    child = tmp_path / "log" / "subagents" / "agent-1.jsonl"
    child.parent.mkdir(parents=True)
    child.write_bytes(
        b'{"type":"assistant","sessionId":"s","isSidechain":true,"agentId":"1","uuid":"u","message":{"id":"m1",'
        b'"model":"claude-haiku-4-5","role":"assistant","content":[{"type":"text","text":"x"}],'
        b'"usage":{"input_tokens":5,"output_tokens":3}}}\n'
    )
    growth = log.look()
    assert growth is not None and growth.certain == () and not growth.is_whole
    assert tuple(read(path).events)[-len(growth.held) :] == growth.held
    assert any(getattr(event, "purpose", "") == "child" for event in growth.held)


FIXTURES = Path(__file__).parent / "fixtures"
LOGS = sorted(path for path in FIXTURES.rglob("*.jsonl") if "opencode" not in path.parts)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_a_branch_reads_leaves_the_reader_as_it_was(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2
    alone, disturbed = reader_for(log), reader_for(log)
    before = alone.feed(lines[:middle])
    assert disturbed.feed(lines[:middle]) == before
    branch = branched(disturbed)
    branch.feed(lines[middle:] * 2)
    branch.settle()
    rest = alone.feed(lines[middle:]) + alone.settle()
    assert disturbed.feed(lines[middle:]) + disturbed.settle() == rest


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_a_branch_measures_leaves_the_meter_as_it_was(log: Path) -> None:
    reader = reader_for(log)
    events = reader.feed(log.read_bytes().splitlines()) + reader.settle()
    alone, disturbed = Meter(estimator="pretoken"), Meter(estimator="pretoken")
    for place, event in enumerate(events):
        alone.apply(event)
        disturbed.apply(event)
        branch = Meter._of(after(disturbed._fold, events[place + 1 : place + 4]))
        branch.reading()
        assert disturbed.reading() == alone.reading()


def test_collections_are_copied_once_and_words_are_shared() -> None:
    reader = reader_for(FIXTURES / "pi" / "session.jsonl")
    reader.feed((FIXTURES / "pi" / "session.jsonl").read_bytes().splitlines())
    branch = branched(reader)
    assert (
        branch.rows is not reader.rows
        and branch.rows.messages is not reader.rows.messages
    )
    assert all(
        branch.rows.messages[name] is message
        for name, message in reader.rows.messages.items()
    )
    shared: list[list[int]] = [[]]
    first, second = branched((shared, shared))
    assert first is second is not shared
    assert first[0] is not shared[0]
