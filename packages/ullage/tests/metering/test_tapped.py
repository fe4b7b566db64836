"""Bodies as the relay taps them, read into our types."""

from __future__ import annotations

import gzip
import json
from itertools import product

import pytest

from tests.cases import case
from ullage.bounds import ANSWER_AT_MOST
from ullage.messages import Request
from ullage.metering.tapped import UnreadableTap, read_answer, read_request, unpacked

REQUEST = Request(wire="generateContent", model="gemini-3-pro", provider="google")


def test_codings_are_undone_in_the_reverse_of_their_order() -> None:
    twice = gzip.compress(gzip.compress(b"lamp"))
    assert unpacked(twice, "gzip, x-gzip", most=100) == b"lamp"


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    with pytest.raises(UnreadableTap, match="more than"):
        unpacked(bomb, "gzip", most=1_000_000)


def test_an_answer_that_unpacks_to_more_than_an_answer_may_have_is_not_read() -> None:
    bomb = gzip.compress(bytes(ANSWER_AT_MOST + 1))
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    found = read_answer(
        REQUEST, "c", status=200, headers=headers, payload=bomb, outcome="finished"
    )
    assert found.answer is None
    assert "unpacks to more than" in found.note


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "\x1b[31m"])
def test_a_coding_that_is_not_known_is_named(coding: str) -> None:
    with pytest.raises(UnreadableTap, match="packed as"):
        unpacked(b"lamp", coding, most=100)


def test_of_an_answer_that_broke_off_what_came_is_unpacked() -> None:
    torn = gzip.compress(b"lamp" * 1000)[:-8]
    assert unpacked(torn, "gzip", most=10_000, is_whole=False).startswith(b"lamp")
    with pytest.raises(UnreadableTap, match="damaged"):
        unpacked(torn, "gzip", most=10_000)


def test_a_request_with_numbers_that_json_lacks_is_read() -> None:
    assert read_request(b'{"temperature": NaN}', {}).keys() == {"temperature"}


def test_gemini_streams_a_list_where_no_events_were_asked_for() -> None:
    pieces = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Lit"}]}}]},
        {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [{"text": "."}]},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2},
        },
    ]
    tapped = read_answer(
        REQUEST,
        "r-1",
        status=200,
        headers={"content-type": "application/json"},
        payload=json.dumps(pieces).encode(),
        outcome="finished",
    )
    assert tapped.answer is not None
    assert tapped.answer.usage.input == 7


def test_no_answer_breaks_the_metering() -> None:
    payload_cases: list[bytes] = [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b"null",
        b"\xff",
        b"[" * 10_000,
        b"{" * 99,
    ]
    status_cases: list[int] = [0, 200, 302, 404, 500]
    outcome_cases: list[str] = ["finished", "cancelled", "dropped", "failed", "?"]
    for payload, status, outcome in product(payload_cases, status_cases, outcome_cases):
        with case(payload, status, outcome):
            for kind in ("application/json", "text/event-stream", "text/html", ""):
                tapped = read_answer(
                    REQUEST,
                    "r-1",
                    status=status,
                    headers={"content-type": kind},
                    payload=payload,
                    outcome=outcome,
                )
                assert tapped.outcome in ("finished", "cancelled", "dropped", "failed")
