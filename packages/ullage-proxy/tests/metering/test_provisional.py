"""A first call without tools waits for the call that tells what it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.metering.tapped_calls import (
    answer,
    answer_body,
    assistant,
    body_of,
    request,
    user,
)
from ullage.events import CallEnded, CallStarted
from ullage.store.sqlite.store import SqliteStore
from ullage_proxy.metering import provisional
from ullage_proxy.metering.metering import CallMeter

CLAUDE = {"user-agent": "claude-cli/2.1.332", "x-claude-code-session-id": "5b1c"}
SAID = "List the scrolls."
TITLE = f"<session>{SAID}</session> Write the title."


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "proxy.db")
    yield opened
    await opened.close()


def asked(call: str, *messages: Any, tools: bool = True, at: float = 1_000.0) -> Any:
    body = body_of(*messages)
    if not tools:
        del body["tools"]
    return request(call, body, headers=CLAUDE, at=at)


async def purposes(store: SqliteStore) -> dict[str, str]:
    """The purpose of each call that is stored, and of its end."""
    found: dict[str, str] = {}
    for event in await store.read("5b1c"):
        if isinstance(event, CallStarted | CallEnded):
            assert found.setdefault(event.call, event.purpose) == event.purpose
    return found


@pytest.mark.parametrize("answered_first", [True, False])
async def test_a_title_before_the_first_call_with_tools_is_beside_the_conversation(
    store: SqliteStore, answered_first: bool
) -> None:
    meter = CallMeter(store)
    title = answer("t", answer_body("Scrolls", 40))
    await meter.take(asked("t", user(TITLE), tools=False))
    if answered_first:
        assert await meter.take(title) == []
        assert not await store.sessions()
    await meter.take(asked("a", user(SAID)))
    if not answered_first:
        assert len(await meter.take(title)) == 1
    await meter.take(answer("a", answer_body("Two scrolls.", 400)))
    assert await purposes(store) == {"t": "other", "a": "main"}
    (row,) = await store.sessions()
    assert row.title == SAID


async def test_a_conversation_without_tools_is_one_once_nothing_else_comes(
    store: SqliteStore,
) -> None:
    meter = CallMeter(store)
    await meter.take(asked("a", user(SAID), tools=False))
    await meter.take(answer("a", answer_body("Two.", 40)))
    assert meter.is_behind
    assert len(await meter.settle()) == 1
    await meter.take(
        asked("b", user(SAID), assistant("Two."), user("More?"), tools=False)
    )
    await meter.take(answer("b", answer_body("No.", 60)))
    assert await purposes(store) == {"a": "main", "b": "main"}


async def test_a_call_with_tools_that_continues_it_makes_it_the_first(
    store: SqliteStore,
) -> None:
    meter = CallMeter(store)
    await meter.take(asked("a", user(SAID), tools=False))
    await meter.take(answer("a", answer_body("Two.", 40)))
    await meter.take(asked("b", user(SAID), assistant("Two."), user("More?")))
    await meter.take(answer("b", answer_body("No.", 460)))
    assert await purposes(store) == {"a": "main", "b": "main"}


async def test_it_waits_for_a_few_seconds_alone(store: SqliteStore) -> None:
    meter = CallMeter(store)
    await meter.take(asked("a", user(SAID), tools=False))
    await meter.take(answer("a", answer_body("Two.", 40)))
    later = asked("x", user("Something else"), at=1_100.0)
    later.header["headers"] = {**CLAUDE, "x-claude-code-session-id": "another"}
    await meter.take(later)
    assert await purposes(store) == {"a": "main"}


async def test_it_does_not_wait_where_much_is_held(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provisional, "HELD_BYTES", 10)
    meter = CallMeter(store)
    await meter.take(asked("a", user(SAID), tools=False))
    await meter.take(answer("a", answer_body("Two.", 40)))
    another = asked("x", user("Something else"))
    another.header["headers"] = {**CLAUDE, "x-claude-code-session-id": "another"}
    await meter.take(another)
    assert await purposes(store) == {"a": "main"}
