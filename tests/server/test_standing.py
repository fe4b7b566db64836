"""Where a session stands, in a word."""

import pytest

from ullage.agent.loop import Loop, OpenCall, Waiting
from ullage.messages import Message
from ullage.server.standing import line_of, state_of
from ullage.store.store import SessionRow

CALL = OpenCall(call_id="c", name="look", arguments="{}", part="p", state="started")
WAITING = Waiting(message=Message(id="m", role="user"), kind="steer")


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
    row = SessionRow("s", "title", "model", 1.0, 2.0, 3, "me", "origin")
    line = line_of(row)
    assert (line.id, line.seq, line.held_by, line.origin) == ("s", 3, "me", "origin")
