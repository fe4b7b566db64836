"""Where a session stands, in a word."""

import asyncio
from pathlib import Path

import pytest

from tests.server.served import serving
from ullage.agent.loop import Loop, OpenCall, QueuedMessage
from ullage.events import Event, MessageAdded, SessionStarted, TurnStarted
from ullage.messages import Message, TextPart
from ullage.server.session_state import line_of, state_of
from ullage.store.store import SessionRow

CALL = OpenCall(call_id="c", name="look", arguments="{}", part="p", state="started")
WAITING = QueuedMessage(message=Message(id="m", role="user"), kind="steer")


@pytest.mark.parametrize(
    ("loop", "state"),
    [
        (Loop(), "idle"),
        (Loop(queue=(WAITING,)), "streaming"),
        (Loop(turn="t"), "streaming"),
        (Loop(turn="t", call="c"), "streaming"),
        (Loop(turn="t", open=(CALL,)), "executing_tools"),
        (Loop(turn="t", paused="approval", open=(CALL,)), "waiting"),
        (Loop(turn="t", paused="failed"), "waiting"),
        (Loop(turn="t", compaction="k"), "compacting"),
        (Loop(compact_asked=""), "compacting"),
    ],
)
def test_each_state_has_its_word(loop: Loop, state: str) -> None:
    assert state_of(loop) == state


def test_a_line_is_the_store_s_row() -> None:
    row = SessionRow("s", "title", "model", 1.0, 2.0, 3, "me", "origin", 2)
    line = line_of(row)
    assert (line.id, line.seq, line.held_by, line.origin) == ("s", 3, "me", "origin")


def test_a_turn_that_lost_its_driver_is_shown_as_interrupted_until_it_is_resumed(provider: str, tmp_path: Path) -> None:
    with serving(provider, tmp_path / "s.db") as server:
        message = Message(id="m", role="user", parts=(TextPart(id="m.0", text="Hello."),))
        started = SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic")
        left: list[Event] = [started, TurnStarted(turn="turn-1"), MessageAdded(message=message)]
        asyncio.run(server.store.create("left", left))
        before = server.api.state("left")
        assert (before["state"], before["held_by"]) == ("interrupted", "")
        assert "Resume" in before["note"]
        assert server.api.post("/v1/sessions/left/resume").status_code == 202
        assert server.api.until("left")["state"] == "idle"
        assert server.api.post("/v1/sessions/left/resume").status_code == 409
