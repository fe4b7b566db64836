"""A program's second session is estimated from its first, whichever program it is."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.importers.first_calls import PROGRAMS, Writer
from ullage.events import FirstCall
from ullage.importers import read
from ullage.meter.meter import Meter

SHORT = "Which price is wrong?"
LONG = "Explain in a few words what the shop sells and why its prices differ. " * 12


def metered(log: Path, overhead: Sequence[FirstCall] = ()) -> Meter:
    meter = Meter(overhead=overhead, estimator="pretoken")
    for event in read(log).events:
        meter.apply(event)
    return meter


@pytest.mark.parametrize("write", PROGRAMS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("grown", [0, 40])
def test_a_first_call_is_known_within_3(
    write: Writer, tmp_path: Path, grown: int
) -> None:
    first = metered(write(tmp_path, 1, SHORT, 21_000))
    bare = metered(write(tmp_path, 2, LONG, 21_000)).steps[0]
    reported = 21_000 + bare.estimated - first.steps[0].estimated + grown
    assert first.first_call is not None
    second = metered(write(tmp_path, 2, LONG, reported), [first.first_call])
    step = second.steps[0]
    assert step.actual == reported
    assert abs(step.estimated - reported) < 0.03 * reported
    assert step.is_inside
    assert step.high - step.low < 0.3 * reported
    assert second.first_call is not None
    assert second.first_call.directory == first.first_call.directory != ""


@pytest.mark.parametrize("write", PROGRAMS, ids=lambda write: write.__name__)
def test_a_first_call_that_nothing_was_learnt_of_is_no_number_that_is_sure_of_itself(
    write: Writer, tmp_path: Path
) -> None:
    step = metered(write(tmp_path, 1, SHORT, 21_000)).steps[0]
    assert step.high - step.low > 2_000


@pytest.mark.parametrize("write", PROGRAMS, ids=lambda write: write.__name__)
def test_a_log_that_is_read_again_teaches_the_same(write: Writer, tmp_path: Path) -> None:
    log = write(tmp_path, 1, SHORT, 21_000)
    first = metered(log)
    assert first.first_call is not None
    again = metered(log, [first.first_call])
    assert again.first_call == first.first_call
    assert again.steps == first.steps


@pytest.mark.parametrize("write", PROGRAMS, ids=lambda write: write.__name__)
def test_a_false_report_does_not_spoil_the_next(write: Writer, tmp_path: Path) -> None:
    reports = [21_000, 21_020, 90_000, 14_800_000]
    meters = [
        metered(write(tmp_path, day, SHORT, reported))
        for day, reported in enumerate(reports, 1)
    ]
    taught = [meter.first_call for meter in meters if meter.first_call is not None]
    step = metered(write(tmp_path, 6, SHORT, 21_010), taught).steps[0]
    assert abs(step.estimated - 21_010) < 0.03 * 21_010
    assert step.is_inside
