from tests.meter.wire_clients import PATHS, Said, messages_body
from ullage.codec.body_pieces import BodyPiece
from ullage.meter.lane_state import Lane, RequestSigns, SeenRequest
from ullage.meter.policy import RECENT_AT_MOST


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


def test_a_connection_alone_is_no_sign_of_a_compaction() -> None:
    lane = Lane("s", "s")
    lane.take(signs(Said("user", "Hello there, agent.")))
    other = signs(Said("user", "Something else."))
    assert lane.is_connected(other)
    assert lane.compaction_signs(other) == 0
