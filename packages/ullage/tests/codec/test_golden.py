"""What goes out is byte for byte what was recorded, fed at once and as the session grew."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.codec import golden
from tests.codec.sessions import Asked
from tests.tiers import each_tenth
from ullage.codec.bodies import BodyReader, read_body
from ullage.codec.history import History, encode_count
from ullage.codec.repair import repair


def made(history: History, asked: Asked) -> dict[str, Any]:
    counted = encode_count(
        repair(asked.request, policy=asked.policy).request, options=asked.options
    )
    repaired, encoded, content = history.prepare(
        asked.request, policy=asked.policy, options=asked.options
    )
    assert encoded.content == content
    result: dict[str, Any] = golden.made_of(
        content, encoded, repaired.repairs, repaired.names, counted
    )
    return result


def differences(sessions: Iterator[golden.Golden], *, at_once: bool) -> list[str]:
    found: list[str] = []
    for session in each_tenth(sessions):
        history = History()
        for number, (asked, recorded) in enumerate(
            zip(session.asked, session.made, strict=True)
        ):
            now = made(History() if at_once else history, asked)
            expected = {name: value for name, value in recorded.items() if name != "read"}
            if expected not in (now, golden.shortened(now)):
                found.append(f"{session.name}, request {number}")
    return found


@pytest.mark.parametrize("at_once", [True, False])
def test_every_recorded_body_and_its_repairs_are_made_again(at_once: bool) -> None:
    assert differences(golden.recorded(), at_once=at_once) == []


def test_every_recorded_body_is_read_as_it_was_at_once_and_in_turn() -> None:
    found: list[str] = []
    for session in each_tenth(golden.recorded()):
        reader = BodyReader()
        for number, (asked, recorded) in enumerate(
            zip(session.asked, session.made, strict=True)
        ):
            made = History().prepare(
                asked.request, policy=asked.policy, options=asked.options
            )
            body, request = json.loads(made.content), asked.request
            given: dict[str, Any] = {
                "wire": request.wire,
                "provider": request.provider,
                "model": request.model,
            }
            alone = read_body(body, **given)
            if reader.read(body, **given) != alone:
                found.append(f"{session.name}, request {number}, in turn")
            is_last = number == len(session.asked) - 1
            if is_last and golden.digest(golden.plain(alone)) != recorded["read"]:
                found.append(f"{session.name}, request {number}, at once")
    assert found == []


def test_the_fixture_holds_all_wires_and_all_repairs() -> None:
    wires = {
        asked.request.wire for session in golden.recorded() for asked in session.asked
    }
    assert wires == {"messages", "responses", "chat", "generateContent"}
    whole = [
        made
        for session in golden.recorded()
        for made in session.made
        if isinstance(made["repairs"], list)
    ]
    bodies = [json.loads(one["body"]) for one in whole if one["body"].startswith("{")]
    assert len(bodies) > 50
    kinds = {kind for one in whole for kind, *_ in one["repairs"]}
    assert len(kinds) > 8, kinds
