from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.meter.carried import Carried
from ullage.meter.stored_carried import Places, pack_carried, unpack_carried

IDS = ["a", "b", "c", "d"]


def places(ids: Iterable[str]) -> Places:
    return [IDS.index(each) if each in IDS else each for each in ids]


def names(places: Places) -> list[str]:
    return [IDS[each] if isinstance(each, int) else each for each in places]


@given(st.lists(st.tuples(st.sampled_from([*IDS, "elsewhere"]), st.floats(0, 1e6), st.booleans()), max_size=8))
def test_carried_reasoning_comes_back_as_it_was(done: list[tuple[str, float, bool]]) -> None:
    carried = Carried()
    for message, tokens, begins in done:
        carried.put(message, tokens)
        if begins:
            carried.begin_turn()
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(pack_carried(carried, places)))
    again = unpack_carried(stored, names)
    assert again == carried
    assert list(again.tokens) == list(carried.tokens)


def test_what_cannot_have_been_packed_is_refused() -> None:
    stored = pack_carried(Carried(), places) | {"all": "many"}
    with pytest.raises(msgspec.ValidationError):
        unpack_carried(stored, names)
