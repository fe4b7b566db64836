import msgspec

from tests.meter.session import answer, result, said, usage
from ullage import Meter
from ullage.events import (
    Calibrated,
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    SessionStarted,
)
from ullage.tokens.calibration import Calibration
from ullage.tokens.regression import Observation

STARTED = SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic")


def taught() -> Calibration:
    calibration = Calibration()
    for content in (900.0, 400.0, 1500.0):
        seen = Observation(
            content=content,
            residual=0.3 * content,
            expected=10.0,
            expected_text=80.0,
        )
        calibration = calibration.learn("anthropic", "claude-haiku-4-5", seen)
    return calibration


def known(state: bytes, call: str = "") -> Calibrated:
    return Calibrated(
        model="claude-haiku-4-5",
        call=call,
        estimated=0,
        actual=0,
        error=0,
        ratio=1.0,
        state=msgspec.Raw(state),
    )


SESSION: tuple[Event, ...] = (
    MessageAdded(message=said("u", "look")),
    CallStarted(call="c1"),
    CallEnded(call="c1", usage=usage(1_000, 50)),
    MessageAdded(message=answer("a", "yes", calls=1, call="c1")),
    MessageAdded(message=result("r", "a-0", "some text " * 300)),
)


def after(meter: Meter, *events: Event) -> Meter:
    for event in events:
        meter.apply(event)
    return meter


def test_a_session_told_what_was_known_reads_like_a_meter_given_it() -> None:
    given = after(Meter(calibration=taught()), STARTED, *SESSION)
    told = after(Meter(), STARTED, known(taught().as_json()), *SESSION)
    assert told.calibration == given.calibration
    assert told.reading().used == given.reading().used
    assert told.reading().used != after(Meter(), STARTED, *SESSION).reading().used


def test_what_an_actual_taught_is_had_by_folding_and_not_from_its_event() -> None:
    told = after(Meter(), STARTED, known(taught().as_json(), call="c0"), *SESSION)
    assert told.calibration == after(Meter(), STARTED, *SESSION).calibration


def test_a_state_that_nobody_can_read_leaves_what_is_known() -> None:
    for state in (b"null", b"3", b'{"models": [1]}'):
        told = after(Meter(calibration=taught()), STARTED, known(state))
        assert told.calibration == taught()
