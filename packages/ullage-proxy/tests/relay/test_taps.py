import pytest

from ullage.bounds import ANSWER_AT_MOST
from ullage_proxy.relay.frames import FrameReader, TapFrame
from ullage_proxy.relay.taps import DEATHS_AT_MOST, OVERHEAD, TappedCall, Taps


def taken(taps: Taps) -> list[TapFrame]:
    """The frames that metering would be given now."""
    reader = FrameReader()
    found = []
    while (frame := taps.next_frame()) is not None:
        found += reader.feed(frame)
    return found


def kinds(taps: Taps) -> list[str]:
    return [f"{frame.kind} {frame.text('call')}".strip() for frame in taken(taps)]


def a_call(taps: Taps, body: bytes = b"body", answer: bytes = b"answer") -> TappedCall:
    call = taps.begin()
    taps.keep_request(call, body)
    taps.request_came(call, {})
    taps.keep_answer(call, answer)
    taps.answer_came(call, {})
    return call


def test_a_call_is_given_once_and_kept_until_it_is_stored() -> None:
    taps = Taps("r")
    a_call(taps)
    frames = taken(taps)
    assert [(frame.kind, frame.payload) for frame in frames] == [
        ("request", b"body"),
        ("answer", b"answer"),
    ]
    assert taken(taps) == []
    assert taps.held == OVERHEAD + 10
    taps.stored("r-1")
    assert taps.held == 0
    assert taps.is_empty


def test_a_process_that_dies_is_followed_by_one_that_gets_the_rest() -> None:
    taps = Taps("r")
    a_call(taps)
    a_call(taps)
    running = taps.begin()
    taps.request_came(running, {})
    taken(taps)
    taps.stored("r-1")
    taps.process_died()
    assert kinds(taps) == ["request r-2", "answer r-2", "request r-3"]
    taps.answer_came(running, {})
    assert kinds(taps) == ["answer r-3"]


def test_a_call_that_ends_one_process_after_the_other_is_given_up_and_counted() -> None:
    taps = Taps("r")
    a_call(taps)
    for _ in range(DEATHS_AT_MOST):
        assert kinds(taps) == ["request r-1", "answer r-1"]
        taps.process_died()
    assert kinds(taps) == ["lost"]
    assert (taps.dropped, taps.held) == (1, 0)


def test_a_process_that_ends_before_it_is_given_anything_costs_no_call() -> None:
    taps = Taps("r")
    a_call(taps)
    for _ in range(DEATHS_AT_MOST + 1):
        taps.process_died()
    assert kinds(taps) == ["request r-1", "answer r-1"]


def test_what_exceeds_the_limit_is_dropped_and_told_when_there_is_room() -> None:
    taps = Taps("r", most=3 * OVERHEAD)
    a_call(taps)
    a_call(taps, body=bytes(3 * OVERHEAD))
    a_call(taps, answer=bytes(3 * OVERHEAD))
    assert taps.held == OVERHEAD + 10
    frames = taken(taps)
    assert frames[0] == TapFrame({"kind": "lost", "calls": 2})
    assert [frame.text("call") for frame in frames[1:]] == ["r-1", "r-1"]
    assert taps.dropped == 2


def test_an_answer_is_cut_where_no_more_of_it_is_kept() -> None:
    taps = Taps("r")
    call = a_call(taps, answer=bytes(ANSWER_AT_MOST + 1))
    assert call.held == OVERHEAD + 4 + ANSWER_AT_MOST
    request, answer = taken(taps)
    assert len(answer.payload) == ANSWER_AT_MOST
    assert answer.header["cut"] is True
    assert "cut" not in request.header


def test_a_call_whose_request_never_came_whole_leaves_nothing() -> None:
    taps = Taps("r")
    call = taps.begin()
    taps.keep_request(call, b"part")
    taps.answer_came(call, {})
    assert taken(taps) == []
    assert taps.held == 0
    assert taps.dropped == 0


@pytest.mark.parametrize("name", ["r-2", "", "x"])
def test_word_of_a_call_that_is_not_known_changes_nothing(name: str) -> None:
    taps = Taps("r")
    a_call(taps)
    taken(taps)
    taps.stored(name)
    assert not taps.is_empty
