"""What is kept of a lane."""

from __future__ import annotations

from tests.meter.wire_clients import PATHS, Said, messages_body
from ullage.codec.body_pieces import BodyPiece
from ullage.meter.lane_state import RECENT_AT_MOST, Lane, RequestSigns, SeenRequest


def signs(*history: Said, connection: str = "c1") -> RequestSigns:
    body = messages_body("You are an agent.", ("read",), history)
    path = PATHS["messages"]
    return RequestSigns(
        SeenRequest(call="1", path=path, body=body, connection=connection)
    )


def test_a_lane_keeps_digests_and_a_few_lines_and_not_the_history() -> None:
    lane = Lane("s", "s")
    history = [Said("user", f"The message number {n} is this.") for n in range(2_000)]
    lane.take(signs(*history))
    assert len(lane.recent) <= RECENT_AT_MOST
    for number in range(500):
        prompt = f'{{"prompt": "The task number {number} of all."}}'
        lane.take_answer([BodyPiece("call", f"task {prompt}")])
    assert len(lane.tasks) <= 64


def test_a_lane_begins_a_request_with_its_longest_earlier_one() -> None:
    lane = Lane("s", "s")
    items = [Said("user", "One."), Said("answer", "Two."), Said("user", "Three.")]
    for length in (1, 3):
        lane.marks.append(signs(*items[:length]).mark)
    assert lane.begins(signs(*items, Said("answer", "Four."))) == 3
    assert lane.begins(signs(items[0], Said("answer", "Other."))) == 1
    assert lane.begins(signs(Said("user", "Other."))) == 0


def test_a_connection_alone_is_no_sign_of_a_compaction() -> None:
    lane = Lane("s", "s")
    lane.take(signs(Said("user", "Hello there, agent.")))
    other = signs(Said("user", "Something else."))
    assert lane.is_connected(other)
    assert lane.compaction_signs(other) == 0


def test_an_answer_that_stands_at_the_beginning_of_a_request_is_its_summary() -> None:
    lane = Lane("s", "s")
    lane.take(signs(Said("user", "Hello.")))
    lane.take_answer([BodyPiece("assistant", "Two files\n were read, and none changed.")])
    summary = "Summary so far: were read, and none changed."
    assert lane.has_summary_in(signs(Said("user", summary)))
    later = [Said("user", f"This is line {number}.") for number in range(10)]
    assert not lane.has_summary_in(signs(*later, Said("user", summary)))
