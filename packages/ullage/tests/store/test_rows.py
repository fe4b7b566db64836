import json
import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.store.sessions import said, source_code, step
from ullage.encoding import decode_event, encode
from ullage.events import Event, MessageAdded, RowDamaged, SettingsChanged, TurnStarted
from ullage.messages import TextPart
from ullage.store.rows import (
    SMALLEST_PACKED,
    EventRow,
    number,
    pack,
    to_event,
    to_json,
    to_row,
    unpack,
)

EVENTS: list[Event] = [
    *step(random.Random(1), 1),
    TurnStarted(turn="t", id="own", at=5.0, parent="p"),
    TurnStarted(turn="t", id="e3"),
    decode_event(
        b'{"type":"newer","id":"x","session":"o","seq":4,"at":2.5,"data":{"b":[1,2],"a":"\\u00e9"},"v":3}'
    ),
    decode_event(b'{ "type" : "newer" }'),
    decode_event(b'{"type":"turn_started","turn":"t","unheard":{"of":1}}'),
]


def test_an_event_reads_back_as_it_was_numbered() -> None:
    numbered = number(EVENTS, "s", 10, 99.5)
    assert [event.seq for event in numbered] == list(range(11, 11 + len(EVENTS)))
    for event in numbered:
        row = to_row(event)
        assert to_event("s", row) == event or encode(to_event("s", row)) == encode(event)
        assert json.loads(to_json("s", row)) == json.loads(encode(to_event("s", row)))


def test_the_envelope_is_not_in_the_body() -> None:
    for event in number(EVENTS, "s", 0, 1.0):
        body = json.loads(unpack(to_row(event).body))
        assert not {"session", "seq", "id", "at"} & body.keys()


def test_the_usual_id_takes_no_room() -> None:
    own, usual = number(
        [TurnStarted(turn="t", id="own"), TurnStarted(turn="t")], "s", 0, 1.0
    )
    assert (to_row(own).name, to_row(usual).name) == ("own", None)


def test_opaque_data_with_line_breaks_keeps_them() -> None:
    part = b'{"type":"text","id":"p","text":"t","provider":{"data":{\n"k":  1}}}'
    row = (
        b'{"type":"message_added","message":{"id":"m","role":"user","parts":['
        + part
        + b"]}}"
    )
    (event,) = number([decode_event(row)], "s", 0, 1.0)
    read = to_event("s", to_row(event))
    assert isinstance(read, MessageAdded)
    (stored,) = read.message.parts
    assert isinstance(stored, TextPart) and stored.provider is not None
    assert bytes(stored.provider.data) == b'{\n"k":  1}'


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers(0, 30))
def test_any_text_survives_packing(text: str, times: int) -> None:
    data = msgspec.json.encode([text * times])
    assert unpack(pack(data)) == data


def test_long_text_is_packed_and_short_or_random_is_not() -> None:
    chance = random.Random(1)
    long = encode(MessageAdded(message=said("m", source_code(chance, 3_000))))
    assert len(pack(long)) < 0.6 * len(long)
    short = long[: SMALLEST_PACKED - 1]
    assert pack(short) is short
    noise = b'"' + chance.randbytes(4_000) + b'"'
    assert pack(noise) is noise


def test_a_row_of_another_id_says_so() -> None:
    row = EventRow(3, "own", 1.5, b'{"type":"turn_started","turn":"t"}')
    assert to_event("s", row) == TurnStarted(
        turn="t", id="own", seq=3, session="s", at=1.5
    )


@given(
    st.dictionaries(
        st.sampled_from(["trigger", "model", "max_steps", "tools"]), st.none(), min_size=1
    ),
    st.data(),
)
def test_no_part_of_a_row_is_read_as_a_whole_one(
    settings: dict[str, None], data: st.DataObject
) -> None:
    (event,) = number([SettingsChanged(settings=dict(settings))], "s", 0, 1.0)
    row = to_row(event)
    short = row._replace(body=row.body[: data.draw(st.integers(0, len(row.body) - 1))])
    assert isinstance(to_event("s", short), RowDamaged)


def test_a_row_cut_before_a_comma_is_not_closed_by_its_envelope() -> None:
    body = b'{"type":"settings_changed","settings":{"a":1},"replace":tru'
    for end in range(len(body)):
        assert isinstance(
            to_event("s", EventRow(1, None, 1.0, body[:end])), RowDamaged
        ), body[:end]
