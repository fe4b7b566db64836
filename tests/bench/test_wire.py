"""The wire bench's own parts: rounds, figures, and a server whose answers every decoder reads."""

import json

import pytest

from bench.wire import CLIENTS, HERE, figures, rounds
from bench.wire_server import DELTAS, STREAMS, stream_for, texts
from ullage.codec.decode import decoder_for
from ullage.codec.stream import Answer
from ullage.messages import Request, TextPart
from ullage.wire.sse import EventReader


def test_rounds_are_the_same_at_every_run() -> None:
    assert rounds(3) == rounds(3)
    assert 3_000 < len(rounds(1)[0]["result"]) < 6_000
    assert isinstance(json.loads(rounds(1)[0]["arguments"]), dict)


def test_figures_are_medians_over_laps() -> None:
    laps = [{"ways": {"chat": {"stream": value}}} for value in (5.0, 1.0, 2.0)]
    assert figures({"a": laps}, "stream") == {("chat", "a"): 2.0}


def test_every_client_has_its_script() -> None:
    assert all((HERE / "peers" / client.script).exists() for client in CLIENTS)


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/chat/completions", "chat"),
        ("/v1/messages", "messages"),
        ("/v1/responses", "responses"),
        ("/v1beta/models/m:streamGenerateContent", "generateContent"),
    ],
)
def test_the_servers_streams_are_whole_answers(path: str, wire: str) -> None:
    assert len(STREAMS) == 4
    decoder, reader = (
        decoder_for(Request(wire=wire, model="m"), message_id="a"),
        EventReader(),
    )
    for event in reader.feed(b"".join(stream_for(path))):
        decoder.feed(event)
    answer: Answer = decoder.finish(True)
    assert answer.outcome == "finished"
    assert "".join(part.text for part in answer.message.of_type(TextPart)) == "".join(
        texts(DELTAS)
    )
    assert answer.usage.output == DELTAS
