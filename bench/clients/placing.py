"""Which conversation `Lanes` gives each request, beside the truth that the bench knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.clients.client import Client
from bench.clients.lanes import lane_of
from bench.clients.serving import Simulators
from ullage.codec.bodies import read_body
from ullage.codec.decode import decoder_for
from ullage.codec.routes import route_of
from ullage.errors import UllageError
from ullage.messages import Message
from ullage.meter.lanes import Lanes, Placed, SeenRequest
from ullage.wire.sse import EventReader


class PlacedRequest(NamedTuple):
    """``expected`` is the bench's lane of the request, ``told`` where `Lanes` placed it."""

    expected: str
    told: Placed
    number: int


def placed_requests(client: Client, simulators: Simulators) -> list[PlacedRequest]:
    """Each call of a model in order, told from the wire alone."""
    lanes = Lanes()
    found = []
    for exchange in simulators.exchanges:
        transport = simulators.transports.get(exchange.number)
        route = route_of(exchange.method, exchange.path)
        if transport is None or not route.is_metered:
            continue
        call = f"call-{exchange.number}"
        request = SeenRequest(
            call=call,
            path=exchange.path,
            headers=transport.headers,
            body=exchange.body,
            connection=transport.connection,
        )
        told = lanes.place(request)
        expected = lane_of(client, exchange.body)
        found.append(PlacedRequest(expected, told, exchange.number))
        answer = None
        was_shown = exchange.number not in simulators.interrupted
        if exchange.status == 200 and was_shown:
            data = bytes(transport.answer)
            answer = answer_of(exchange.path, exchange.body, data)
        lanes.answered(call, answer)
    return found


def answer_of(path: str, body: Any, data: bytes) -> Message | None:
    """The message in a streamed answer; ``None`` for one that can't be read."""
    route = route_of("POST", path)
    try:
        request = read_body(body, wire=route.wire, model=route.model)
        decoder = decoder_for(request, message_id="answer")
        reader = EventReader()
        for event in [*reader.feed(data), *reader.close()]:
            decoder.feed(event)
        return decoder.finish(complete=True).message
    except UllageError:
        return None


class PlacingResult(NamedTuple):
    """How many requests of a run are where they belong, and what is wrong with the others."""

    placed: int
    right: int
    wrong: tuple[str, ...] = ()


def judged(requests: Sequence[PlacedRequest]) -> PlacingResult:
    """A scenario is one session: its main calls have one lane, and no other call has it as its own."""
    wrong: list[str] = []
    if not requests:
        return PlacingResult(0, 0)
    sessions = [each.told.session for each in requests]
    session = max(set(sessions), key=sessions.count)
    for each in requests:
        told = each.told
        purpose = "other" if told.purpose == "title" else told.purpose
        problem = ""
        if told.session != session:
            problem = f"in session {told.session}"
        elif purpose != each.expected:
            problem = f"taken for {told.purpose}"
        elif (purpose == "child") != told.is_child and purpose in ("main", "child"):
            problem = f"in lane {told.lane}"
        if problem:
            wrong.append(f"request {each.number}, {each.expected}: {problem}")
    return PlacingResult(len(requests), len(requests) - len(wrong), tuple(wrong))
