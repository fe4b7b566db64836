"""What needs a person, and answering it, on the server's machine without a browser."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ullage.cli import main
from ullage.directories import data_directory
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    Event,
    MessageAdded,
    TurnPaused,
    TurnStarted,
)
from ullage.messages import Message, ToolCallPart
from ullage.store.places import store_at
from ullage.turns.approving import digest_of

ARGUMENTS = '{"what": "grapes"}'
BEGUN = TurnStarted(turn="t")
FAILED = TurnPaused(turn="t", reason="failed", note="The provider is down.")


def asks() -> list[Event]:
    call = ToolCallPart(id="m.0", call_id="c", name="press", arguments=ARGUMENTS)
    message = Message(id="m", role="assistant", parts=(call,))
    digest = digest_of("press", ARGUMENTS)
    asked = ApprovalAsked(call_id="c", tool="press", digest=digest)
    return [BEGUN, MessageAdded(message=message), asked]


@pytest.fixture
def store() -> Path:
    """The user's own store, in which a call asks, another one of a subagent's, a turn has failed, and one rests."""
    path = data_directory() / "sessions.db"
    path.parent.mkdir(parents=True)

    async def begin() -> None:
        kept = store_at(path)
        await kept.create("vat", asks())
        await kept.create("lees", [BEGUN, FAILED])
        await kept.create("lees/call", asks())
        await kept.create("rests")
        await kept.close()

    asyncio.run(begin())
    return path


def given(path: Path, session: str) -> list[ApprovalGiven]:
    async def read() -> list[Event]:
        kept = store_at(path)
        try:
            return await kept.read(session)
        finally:
            await kept.close()

    return [each for each in asyncio.run(read()) if isinstance(each, ApprovalGiven)]


def test_what_needs_a_person_is_listed_with_its_reason(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["admin", "approve"]) == 0
    told = capsys.readouterr().out
    assert "needs approval: press" in told and "rests" not in told
    assert "failed: The provider is down." in told
    assert main(["admin", "approve", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["sessions"]
    states = {each["id"]: each["standing"]["state"] for each in listed}
    assert not [each for each in listed if "turn" in each["standing"]]  # for the fold
    assert states == {
        "vat": "needs_approval",
        "lees": "failed",
        "lees/call": "needs_approval",
    }


def test_the_calls_of_a_session_and_of_its_subagents_are_answered(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["admin", "approve", "lees", "--yes"]) == 0
    (answer,) = given(store, "lees/call")
    assert (answer.approved, answer.digest) == (True, digest_of("press", ARGUMENTS))
    assert given(store, "vat") == []
    assert "Approved: press of lees/call" in capsys.readouterr().out
    assert main(["admin", "approve", "lees"]) == 0
    assert "Nothing of this session needs approval." in capsys.readouterr().out


def test_a_session_is_named_by_the_beginning_or_end_of_its_id(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = data_directory() / "sessions.db"
    path.parent.mkdir(parents=True)

    async def begin() -> None:
        kept = store_at(path)
        await kept.create("20261129-5f2a9c1e", asks())
        await kept.close()

    asyncio.run(begin())
    assert main(["admin", "approve", "20261129", "--yes"]) != 0  # a date is no id
    assert main(["admin", "approve", "9c1e", "--yes"]) == 0
    assert "Approved: press of 20261129-5f2a9c1e" in capsys.readouterr().out


def test_nothing_is_answered_without_a_terminal(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["admin", "approve", "vat"]) == 2
    assert given(store, "vat") == []
    assert "run it in a terminal" in capsys.readouterr().err


def test_the_list_of_sessions_shows_the_state_and_only_those_that_need_a_person(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions"]) == 0
    told = capsys.readouterr().out
    assert "rests" in told and "needs approval: press" in told
    assert main(["sessions", "--needs", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["sessions"]
    assert not [each for each in listed if "turn" in each["standing"]]
    assert {each["id"]: each["standing"]["state"] for each in listed} == {
        "vat": "needs_approval",
        "lees": "failed",
        "lees/call": "needs_approval",
    }
