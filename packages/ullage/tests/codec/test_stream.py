from typing import get_args

import pytest

from tests.codec.streams import GOLDEN, play, request
from ullage.codec.decode import decoder_for
from ullage.codec.stream import PartDone, ServerEvent, Stop, StreamEvent, UsageSeen


@pytest.mark.parametrize("wire", GOLDEN)
def test_every_decoder_keeps_the_contract(wire: str) -> None:
    decoder = decoder_for(request(wire), message_id="m")
    assert decoder.is_done is False
    played = play(wire, GOLDEN[wire])
    assert all(isinstance(event, get_args(StreamEvent)) for event in played.events)
    assert played.answer.stop in get_args(Stop)
    assert isinstance(played.events[-1], PartDone | UsageSeen)


@pytest.mark.parametrize("wire", GOLDEN)
def test_finishing_twice_gives_the_same_answer(wire: str) -> None:
    decoder = decoder_for(request(wire), message_id="m")
    for event in GOLDEN[wire]:
        decoder.feed(
            ServerEvent(event if isinstance(event, bytes) else str(event).encode())
        )
    assert decoder.is_done
    assert decoder.finish(complete=True) == decoder.finish(complete=True)
