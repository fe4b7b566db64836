from ullage.meter.reading import Accuracy
from ullage.meter.track import Step, Track


def step(
    number: int, estimated: int, actual: int | None, *, situation: str = "tool step"
) -> Step:
    return Step(
        number=number,
        call=f"call-{number}",
        estimated=estimated,
        low=estimated - 10,
        high=estimated + 10,
        actual=actual,
        situation=situation,
    )


def test_before_any_actual_there_is_nothing_to_say() -> None:
    track = Track()
    track.add(step(1, 100, None))
    assert track.accuracy == Accuracy()
    assert track.steps[0].error is None


def test_the_error_is_in_tokens_and_in_percent_of_the_actual() -> None:
    track = Track()
    track.add(step(1, 5120, 5115))
    assert (track.accuracy.error, track.accuracy.error_percent) == (5, 0.1)
    assert (track.accuracy.estimated, track.accuracy.actual) == (5120, 5115)


def test_a_first_estimate_is_shown_but_does_not_enter_the_median() -> None:
    track = Track()
    track.add(step(1, 50, 100, situation="first call"))
    assert track.accuracy.error == -50
    assert track.accuracy.calls == 0
    assert track.accuracy.median_error_percent is None


def test_the_median_is_of_absolute_errors_and_calls_inside_are_counted() -> None:
    track = Track()
    for number, actual in enumerate((1000, 1005, 995, 1100), 1):
        track.add(step(number, 1000, actual))
    assert track.accuracy.calls == 4
    assert track.accuracy.inside == 3
    assert track.accuracy.median_error_percent == 0.5


def test_a_reported_input_of_nothing_has_an_error_but_no_percentage() -> None:
    track = Track()
    track.add(step(1, 5120, 0))
    assert track.steps[0].error == 5120
    assert track.steps[0].error_percent is None
    assert track.accuracy.median_error_percent is None
