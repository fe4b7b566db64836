import json
from pathlib import Path

import pytest

from tests.importers.folding import FIXTURES
from tests.importers.opencode_database import make_database
from ullage.errors import InputError
from ullage.importers import FoundSession, read
from ullage.importers.calls import find_logs, read_calls
from ullage.meter.spent_calls import CallCollector

LOGS = sorted(path for path in FIXTURES.rglob("*.json*") if "storage" not in path.parts)


def place_of(path: Path) -> FoundSession:
    return FoundSession("claude-code", path, path.stat().st_mtime)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_calls_are_those_of_the_session_read_with_its_content(path: Path) -> None:
    found = read_calls(place_of(path))
    whole = read(path)
    collector = CallCollector(has_ids=any(call.name for call in found.calls))
    collector.add(whole.events)
    assert list(found.calls) == collector.calls
    assert found.session == whole.session
    assert found.skipped == whole.skipped_lines


def line(name: str, at: str, *, agent: str = "", tokens: int = 7) -> str:
    usage = {"input_tokens": tokens, "output_tokens": 5}
    entry = {
        "type": "assistant",
        "parentUuid": None,
        "uuid": f"line-{name}",
        "sessionId": "s-1",
        "isSidechain": bool(agent),
        "timestamp": at,
        "requestId": f"req_{name}",
        "message": {
            "id": name,
            "model": "claude-opus-4-6",
            "role": "assistant",
            "content": [{"type": "text", "text": "Cool."}],
            "usage": usage,
        },
    }
    return json.dumps(entry | ({"agentId": agent} if agent else {})) + "\n"


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    directory = tmp_path / ".claude/projects/-home-ann"
    directory.mkdir(parents=True)
    return directory


def test_a_subagents_call_has_the_time_of_its_own_line(projects: Path) -> None:
    log = projects / "s-1.jsonl"
    log.write_text(line("msg_1", "2026-11-20T23:59:00Z"))
    nested = projects / "s-1/subagents/agent-a.jsonl"
    nested.parent.mkdir(parents=True)
    nested.write_text(line("msg_2", "2026-11-21T00:01:00Z", agent="a"))
    calls = read_calls(place_of(log)).calls
    times = {call.name: call.at for call in calls}
    assert times["msg_2"] - times["msg_1"] == 120
    assert [call.purpose for call in calls] == ["main", "child"]


def test_subagents_without_a_session_are_found(projects: Path, tmp_path: Path) -> None:
    (projects / "s-1.jsonl").write_text(line("msg_1", "2026-11-20T12:00:00Z"))
    owned = projects / "s-1/subagents/agent-a.jsonl"
    lone = projects / "s-2/subagents/deep/agent-b.jsonl"
    beside = projects / "agent-c.jsonl"
    for path in (owned, lone, beside):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line("msg_9", "2026-11-20T12:00:00Z", agent="x"))
    found = find_logs({}, tmp_path)
    assert {place.path.name for place in found.places} == {
        "s-1.jsonl",
        "agent-b.jsonl",
        "agent-c.jsonl",
    }
    assert read_calls(place_of(lone)).is_subagent
    assert len(read_calls(place_of(lone)).calls) == 1


def test_a_codex_fork_has_an_origin_and_a_thread_is_a_subagent(tmp_path: Path) -> None:
    source = FIXTURES / "codex/session.jsonl"
    lines = source.read_text().splitlines()
    for meta, origin, is_subagent in (
        ({"forked_from_id": "s-0"}, "s-0", False),
        (
            {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}},
            "p",
            True,
        ),
        ({"source": "cli"}, "", False),
        ({"forked_from_id": 7, "source": {"subagent": [1]}}, "", True),
    ):
        first = json.loads(lines[0])
        first["payload"] |= meta
        log = tmp_path / "rollout-1.jsonl"
        log.write_text("\n".join([json.dumps(first), *lines[1:]]))
        found = read_calls(place_of(log))
        assert (found.origin, found.is_subagent) == (origin, is_subagent)


def test_a_session_in_a_database_is_read(tmp_path: Path) -> None:
    database = tmp_path / "opencode.db"
    make_database(database)
    stored = FoundSession("opencode", database, 1.0, "ses_0001")
    assert read_calls(stored).calls


def test_a_log_of_no_known_program_is_an_input_error(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text("not json\n")
    with pytest.raises(InputError):
        read_calls(place_of(log))
    with pytest.raises(InputError):
        read_calls(FoundSession("claude-code", tmp_path / "gone.jsonl", 1.0))


def test_a_line_with_a_time_far_ahead_moves_no_other_call(projects: Path) -> None:
    log = projects / "s-1.jsonl"
    log.write_text(
        line("msg_1", "2026-11-20T12:00:00Z")
        + line("msg_2", "2099-01-01T00:00:00Z")
        + line("msg_3", "2026-11-20T12:02:00Z")
        + line("msg_4", "2026-11-20T12:03:00Z")
    )
    times = [call.at for call in read_calls(place_of(log)).calls]
    assert [times[2] - times[0], times[3] - times[0]] == [120, 180]
