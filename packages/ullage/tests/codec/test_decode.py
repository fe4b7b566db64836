"""Which decoder a request gets."""

from __future__ import annotations

from itertools import product

import pytest

from tests.cases import case, filled
from tests.codec.streams import GOLDEN, read_answer, request
from ullage.codec.decode import decoder_for
from ullage.codec.stream import ServerEvent
from ullage.errors import InvalidRequest
from ullage.messages import Request


@pytest.mark.parametrize("wire", GOLDEN)
def test_each_wire_has_its_decoder(wire: str) -> None:
    decoder = decoder_for(request(wire), message_id="m")
    assert not decoder.is_done
    assert decoder.feed(ServerEvent(b"{}")) == []
    assert decoder.finish(complete=False).outcome == "dropped"


def test_a_wire_without_a_codec_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match="converse"):
        decoder_for(Request(wire="converse", model="m"), message_id="m")
    with pytest.raises(InvalidRequest, match="converse"):
        read_answer(Request(wire="converse", model="m"), b"{}", message_id="m")


def test_a_body_that_is_no_answer_is_dropped_or_failed() -> None:
    body_cases: list[bytes] = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"<html>",
        b'{"error":{"message":"x"}}',
        b"\xff",
    ]
    for wire, body in product(filled(GOLDEN), body_cases):
        with case(wire, body):
            answer = read_answer(request(wire), body, message_id="m")
            assert answer.outcome in ("dropped", "failed")
            assert answer.message.parts == ()


@pytest.mark.parametrize("wire", GOLDEN)
def test_an_error_in_an_answer_names_the_provider_and_the_model(wire: str) -> None:
    asked = Request(wire=wire, provider="azure", model="m-1")
    error = b'{"type":"error","error":{"type":"overloaded_error","message":"busy, in its own words"}}'
    in_body = read_answer(asked, error, message_id="m").error
    decoder = decoder_for(asked, message_id="m")
    decoder.feed(ServerEvent(error, "error"))
    for problem in (in_body, decoder.finish(complete=True).error):
        assert str(problem).startswith(
            "azure (m-1) has no capacity now. It says: “busy, in its own words”."
        )
