"""The line that ``ullage wrap`` ends with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ullage.events import CallEnded, CallStarted, Event, SessionStarted
from ullage.store.sqlite.store import SqliteStore
from ullage.usage import Usage
from ullage_programs.settings import PROXY_FILE
from ullage_proxy.cli.wrapped_calls import wrapped_calls

STARTED = SessionStarted(
    model="claude-opus-4-8",
    wire="messages",
    provider="anthropic",
    program="claude-code 2.1.330",
)


def call(name: str, tokens: int) -> tuple[Event, Event]:
    usage = Usage(input=tokens, output=10)
    return CallStarted(call=name), CallEnded(call=name, usage=usage, stop="stop")


async def write(path: Path, *events: Event) -> None:
    store = SqliteStore(path)
    await store.create("lighthouse", events)
    await store.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / PROXY_FILE


def test_only_calls_of_this_run_are_counted(ledger: Path) -> None:
    events = (STARTED, *call("early-1", 900), *call("late-1", 1_000))
    asyncio.run(write(ledger, *events))
    (line,) = wrapped_calls(str(ledger), "late")
    assert "session lighthouse: 1 call, 1,0" in line
    assert "with its earlier runs" in line
    assert wrapped_calls(str(ledger), "other") == []


def test_the_cost_of_a_session_of_one_run_is_the_runs(ledger: Path) -> None:
    asyncio.run(write(ledger, STARTED, *call("late-1", 1_000)))
    (line,) = wrapped_calls(str(ledger), "late")
    assert "$" in line
    assert "earlier" not in line


def test_the_window_follows_the_clients_own_settings(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    asyncio.run(write(ledger, STARTED, *call("late-1", 1_000)))
    (line,) = wrapped_calls(str(ledger), "late")
    assert "of 1,000,000 tokens" in line
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_1M_CONTEXT", "1")
    (line,) = wrapped_calls(str(ledger), "late")
    assert "of 200,000 tokens" in line
