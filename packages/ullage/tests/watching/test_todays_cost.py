"""What ``ullage top`` says that today cost is what ``ullage usage`` says, whatever logs a call stands in."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest import CaptureFixture

from tests.importers.folding import FIXTURES
from tests.importers.test_calls import line
from ullage.cli import main
from ullage.events import CallEnded, CallStarted, Event, SessionStarted
from ullage.importers import find_sessions
from ullage.store.sqlite.store import SqliteStore
from ullage.usage import Usage
from ullage.watching.running import Running, RunningList
from ullage_programs.settings import PROXY_FILE

DAY = "2026-01-20"
NOON = datetime(2026, 1, 20, 12, tzinfo=UTC).timestamp()
AT = f"{DAY}T12:00:00Z"
EARLIER = "2026-01-18T12:00:00Z"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in tuple(os.environ):
        if name.startswith(("XDG_", "CLAUDE_", "CODEX_", "PI_", "GEMINI_", "ULLAGE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def claude(home: Path, name: str, *lines: str) -> Path:
    path = home / f".claude/projects/-home-ann/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    session = Path(name).parts[0]
    path.write_text("".join(lines).replace('"s-1"', f'"{session}"'))
    os.utime(path, (NOON, NOON))
    return path


def codex(home: Path, name: str, *, origin: str = "", minute: int = 0) -> None:
    """A session with all its calls at noon; a fork has its origin's with new times."""
    directory = home / ".codex/sessions/2026/01/20"
    directory.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for text in (FIXTURES / "codex/session.jsonl").read_text().splitlines():
        row = json.loads(text)
        row["timestamp"] = f"{DAY}T12:{minute:02}:00Z"
        if row["type"] == "session_meta":
            row["payload"] |= {"id": name}
            row["payload"] |= {"forked_from_id": origin} if origin else {}
        lines.append(json.dumps(row))
    path = directory / f"rollout-2026-01-20T12-00-00-{name}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (NOON, NOON))


async def proxied(home: Path, session: str, *inputs: int) -> None:
    """A session that the proxy recorded, and its subagent's, whose call is in both."""
    path = home / ".local/share/ullage" / PROXY_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    started = SessionStarted(
        model="claude-opus-4-6", provider="anthropic", program="claude-code 2.1.330"
    )
    events: list[Event] = [started]
    for number, tokens in enumerate(inputs):
        events += call(f"r-{number}", tokens)
    child = call("r-child", 4_000)
    mirrored = call("r-child", 4_000, purpose="child")
    store = SqliteStore(path)
    await store.create(session, [*events, *mirrored])
    await store.create(f"{session}.child-1", [started, *child], origin=session)
    await store.close()


def call(name: str, tokens: int, purpose: str = "main") -> list[Event]:
    usage = Usage(input=tokens, output=5, cache_read=0, cache_write=0)
    return [
        CallStarted(call=name, at=NOON, purpose=purpose),  # type: ignore[arg-type]
        CallEnded(call=name, at=NOON, usage=usage, purpose=purpose),  # type: ignore[arg-type]
    ]


def top(home: Path) -> Running:
    listed = RunningList(find=lambda: find_sessions(os.environ, home), now=lambda: NOON)
    return listed.look(patience_s=float("inf"))


def is_as_in_usage(running: Running, capsys: CaptureFixture[str]) -> bool:
    """Whether the sums are the same; there is something to sum."""
    capsys.readouterr()
    assert main(["usage", "--json", "--since", DAY, "--until", DAY]) == 0
    total = json.loads(capsys.readouterr().out)["total"]
    assert total["calls"] > 0 and total["usd"] > 0
    today = running.today
    assert (today.calls, today.tokens) == (total["calls"], total["total"])
    assert today.money.usd == pytest.approx(total["usd"])
    return True


def test_a_resumed_session_is_as_usage(home: Path, capsys: CaptureFixture[str]) -> None:
    first = line("msg_1", EARLIER), line("msg_2", AT)
    claude(home, "s-1", *first)
    claude(home, "s-2", *first, line("msg_3", AT, tokens=9))
    nested = line("msg_4", AT, agent="a", tokens=11)
    claude(home, "s-2/subagents/agent-a", line("msg_2", AT, agent="a"), nested)
    running = top(home)
    assert running.today.calls == 3
    assert sorted(each.today.calls for each in running.sessions) == [1, 3]
    assert is_as_in_usage(running, capsys)


def test_a_codex_fork_is_as_in_usage(home: Path, capsys: CaptureFixture[str]) -> None:
    codex(home, "s-origin")
    codex(home, "s-fork", origin="s-origin", minute=5)
    running = top(home)
    assert len(running.sessions) == 2
    assert running.today == running.sessions[0].today
    assert is_as_in_usage(running, capsys)
    (origin,) = (home / ".codex").rglob("*s-origin.jsonl")
    earlier = NOON - 7_200
    os.utime(origin, (earlier, earlier))
    running = top(home)
    assert [each.id for each in running.sessions] == ["s-fork"]
    assert is_as_in_usage(running, capsys)


async def test_a_proxied_session_counts(home: Path, capsys: CaptureFixture[str]) -> None:
    later = line("msg_8", AT, tokens=900)
    claude(home, "s-9", line("msg_7", AT, tokens=500), later)
    await proxied(home, "s-9", 500)
    running = top(home)
    assert [each.is_proxied for each in running.sessions] == [True]
    assert running.today.calls == 3
    assert is_as_in_usage(running, capsys)
