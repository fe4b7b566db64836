"""The judgement over where requests were placed."""

from __future__ import annotations

from bench.clients.placing import PlacedRequest, judged
from ullage.events import Purpose
from ullage.meter.lanes import Placed


def placed(expected: str, session: str, lane: str, purpose: Purpose) -> PlacedRequest:
    return PlacedRequest(expected, Placed(session, lane, purpose, "extended"), 7)


RIGHT = [
    placed("main", "s", "s", "main"),
    placed("child", "s", "s.child-1", "child"),
    placed("summary", "s", "s", "summary"),
    placed("other", "s", "s", "title"),
]


def test_a_scenario_whose_calls_are_where_they_belong_is_right() -> None:
    result = judged(RIGHT)
    assert (result.placed, result.right, result.wrong) == (4, 4, ())


def test_what_is_wrong_with_a_request_is_said() -> None:
    wrong = [
        placed("main", "t", "t", "main"),
        placed("summary", "s", "s", "main"),
        placed("child", "s", "s", "child"),
    ]
    assert judged([*RIGHT, *wrong]).wrong == (
        "request 7, main: in session t",
        "request 7, summary: taken for main",
        "request 7, child: in lane s",
    )


def test_no_request_is_nothing() -> None:
    assert judged([]).placed == 0
