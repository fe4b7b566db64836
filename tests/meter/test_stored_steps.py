from hypothesis import given
from hypothesis import strategies as st

from ullage.meter.stored_steps import BLOCK, pack_steps, unpack_steps
from ullage.meter.track import Step, Track

CALLS = [f"c{number}" for number in range(3 * BLOCK)]
PLACES = {call: place for place, call in enumerate(CALLS)}


def filled(count: int) -> Track:
    track = Track()
    grow(track, count)
    return track


def grow(track: Track, count: int) -> None:
    while track.count < count:
        number = track.count
        estimated = 1000 + 37 * number % 5000
        track.add(
            Step(
                number=number + 1,
                call=CALLS[number] if number % 7 else f"unreported-{number}",
                estimated=estimated,
                low=estimated - number % 50,
                high=estimated + 60,
                at=1.75e9 + number / 3,
                actual=None if number % 5 == 0 else estimated + 10 - number % 21,
                marks=("prune",) if number % 9 == 0 else (),
                first=number == 1,
            )
        )


def reread(track: Track) -> Track:
    again = Track(inside=track.inside, compared=track.compared, last=track.last, accuracy=track.accuracy)
    unpack_steps(pack_steps(track, PLACES), CALLS, again)
    return again


@given(st.integers(0, 3 * BLOCK), st.integers(0, 600), st.booleans())
def test_steps_and_what_is_known_of_them_go_on_as_if_never_stored(count: int, more: int, is_read: bool) -> None:
    count = min(count, 3 * BLOCK - more)
    whole, stored = filled(count), reread(filled(count))
    assert stored.count == count
    if is_read:
        assert stored.steps == whole.steps
    for track in (whole, stored):
        grow(track, count + more)
    assert stored.accuracy == whole.accuracy
    twice = reread(stored)
    assert twice.steps == stored.steps == whole.steps


def test_full_blocks_are_packed_once() -> None:
    track = filled(BLOCK + 10)
    first = pack_steps(track, PLACES)
    grow(track, 2 * BLOCK + 10)
    second = pack_steps(track, PLACES)
    assert [len(first), len(second)] == [2, 3]
    assert second[0] is first[0]
    assert pack_steps(reread(track), PLACES) == second
