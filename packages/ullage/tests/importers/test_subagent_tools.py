"""Which tools the subagents of a session called is read from their own logs and ledgers."""

import json
import os
from pathlib import Path

from tests.importers.test_proxied_sessions import ID, metered
from ullage.events import MessageAdded
from ullage.importers import read
from ullage.importers.subagent_tools import subagent_tools
from ullage.messages import Message, ToolCallPart
from ullage.store.sqlite.store import SqliteStore

SESSION = "3f0c1a52-0000-4000-8000-000000000001"


def line(kind: str, role: str, content: object) -> str:
    """A line of a log of Claude Code."""
    message = {
        "role": role,
        "content": content,
        "id": "msg_1",
        "model": "claude-haiku-4-5",
    }
    usage = {"input_tokens": 10, "output_tokens": 2}
    entry = {
        "type": kind,
        "sessionId": SESSION,
        "uuid": "u-1",
        "parentUuid": None,
        "timestamp": "2026-01-02T10:00:00Z",
        "message": {**message, "usage": usage},
    }
    return json.dumps(entry)


def logged(directory: Path, *others: str) -> Path:
    """A session with one subagent, whose log has also these lines."""
    path = directory / f"{SESSION}.jsonl"
    path.write_text(line("user", "user", "go") + "\n")
    beside = directory / SESSION / "subagents"
    beside.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t", "name": "mcp__github__issue", "input": {}}
    child = [line("assistant", "assistant", [call, 7, {"type": "text"}]), *others]
    (beside / "agent-1.jsonl").write_text("\n".join(child))
    return path


def test_of_claude_code_the_logs_beside_the_session_are_read(tmp_path: Path) -> None:
    session = read(logged(tmp_path))
    assert subagent_tools(session) == {"mcp__github__issue"}


def test_what_can_not_be_read_names_no_tool(tmp_path: Path) -> None:
    torn = '{"type": "tool_use"'
    path = logged(tmp_path, torn, '["tool_use"]', '{"message": {"content": "tool_use"}}')
    os.mkfifo(tmp_path / SESSION / "subagents" / "agent-0.jsonl")
    session = read(path)
    assert subagent_tools(session) == {"mcp__github__issue"}
    path.unlink()
    (tmp_path / SESSION / "subagents" / "agent-1.jsonl").unlink()
    assert subagent_tools(session) == frozenset()


async def test_ledgers_of_a_metered_sessions_subagents_are_read(tmp_path: Path) -> None:
    path = await metered(tmp_path)
    store = SqliteStore(path)
    part = ToolCallPart(id="p", call_id="t", name="Grep", arguments="{}")
    answer = Message(id="a", role="assistant", parts=(part,))
    await store.command(f"{ID}.child-1", [MessageAdded(message=answer)])
    await store.close()
    session = read(path, session=ID)
    assert subagent_tools(session) == {"Grep"}
    path.write_bytes(b"damaged")
    assert subagent_tools(session) == frozenset()
