import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.types.strategies import (
    EVENT_TYPES,
    PART_TYPES,
    spaced,
    texts,
    unknown_parts,
    words,
)
from ullage.encoding import UndecodableRow, decode_event, encode
from ullage.events import (
    CallEnded,
    CompactionCommitted,
    Event,
    MessageAdded,
    SessionStarted,
    UnknownEvent,
)
from ullage.messages import Message, ProviderData, TextPart, ToolResultPart, UnknownPart
from ullage.usage import Usage

KINDS = pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)


def message_row(*parts: bytes) -> bytes:
    return (
        b'{"type":"message_added","message":{"id":"m","role":"tool","parts":['
        + b",".join(parts)
        + b"]}}"
    )


@KINDS
@given(data=st.data())
def test_every_event_reads_back_as_it_was_written(
    kind: type[Event], data: st.DataObject
) -> None:
    event = data.draw(words(kind))
    assert decode_event(encode(event)) == event


@KINDS
@given(data=st.data())
def test_events_with_fields_and_parts_of_a_newer_version_read_back_the_same_at_every_level(
    kind: type[Event], data: st.DataObject
) -> None:
    event = data.draw(words(kind, newer=True))
    row = encode(event)
    assert decode_event(row) == event
    assert encode(decode_event(row)) == row


@given(event=words(Event, newer=True))
def test_a_row_reads_the_same_from_text_and_from_bytes(event: Event) -> None:
    row = encode(event)
    assert decode_event(row.decode()) == decode_event(row)


@given(part=unknown_parts)
def test_a_part_of_an_unknown_kind_is_written_back_byte_for_byte(
    part: UnknownPart,
) -> None:
    assert bytes(part.raw) in encode(
        MessageAdded(message=Message(id="m", role="user", parts=(part,)))
    )


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"~","raw":5}',
        b'{"~":{"a":1}}',
        b'{"a" : "~"}',
        b'["~" ]',
        b'{"x":1, "x":2, "y":"~"}',
        b'"~"',
    ],
)
def test_opaque_data_is_never_looked_into(data: bytes) -> None:
    part = TextPart(id="p", text="~", provider=ProviderData(data=msgspec.Raw(data)))
    parts = (part, UnknownPart(id="", raw=msgspec.Raw(b'{"type":"hologram"}')))
    newer = Message(id="m", role="user", parts=parts)
    row = encode(MessageAdded(message=newer))
    assert data in row
    assert decode_event(row) == MessageAdded(message=newer)


def test_an_unknown_part_inside_a_tool_result_is_kept_and_has_no_text() -> None:
    row = message_row(
        b'{"type":"tool_result","id":"p","call_id":"c",'
        b'"content":[{"type":"text","id":"t","text":"seen"},{"type":"hologram","id":"h"}]}'
    )
    event = decode_event(row)
    assert isinstance(event, MessageAdded)
    (result,) = event.message.of_type(ToolResultPart)
    assert result.text == "seen"
    assert encode(event) == row


def test_an_unknown_event_keeps_its_envelope_and_its_bytes() -> None:
    row = b'{ "type":"teleported", "session":"s", "seq":7, "id":"e", "at":1.5, "v":3, "to":["moon"] }'
    event = decode_event(row)
    assert event == UnknownEvent(
        session="s", seq=7, id="e", at=1.5, v=3, raw=msgspec.Raw(row)
    )
    assert encode(event) == row


def test_a_known_event_of_a_newer_version_that_cannot_be_read_is_kept() -> None:
    row = b'{"type":"call_ended","call":"c","outcome":"evaporated","v":2}'
    assert decode_event(row) == UnknownEvent(v=2, raw=msgspec.Raw(row))


def test_the_same_row_of_this_version_is_refused() -> None:
    with pytest.raises(UndecodableRow, match="evaporated"):
        decode_event(b'{"type":"call_ended","call":"c","outcome":"evaporated"}')


def test_a_row_without_a_version_is_of_version_one() -> None:
    assert decode_event(b'{"type":"session_started"}') == SessionStarted(v=1)


def test_defaults_are_not_written() -> None:
    encoded = encode(CallEnded(call="c", usage=Usage(input=0)))
    assert encoded == b'{"type":"call_ended","call":"c","usage":{"input":0}}'


@pytest.mark.parametrize("newer", [b"", b'"later":1,'])
def test_usage_keeps_what_the_provider_reported_byte_for_byte(newer: bytes) -> None:
    row = (
        b'{"type":"call_ended","call":"c",'
        + newer
        + b'"usage":{"input":5,"raw":{"input_tokens": 5}}}'
    )
    event = decode_event(row)
    assert isinstance(event, CallEnded)
    assert event.usage == Usage(input=5, raw=msgspec.Raw(b'{"input_tokens": 5}'))


def test_a_null_beside_newer_fields_reads_as_missing() -> None:
    event = decode_event(
        b'{"type":"compaction_committed","compaction":"k","summary":null,"later":1}'
    )
    assert isinstance(event, CompactionCommitted)
    assert event.summary is None


@pytest.mark.parametrize(
    "row", [b'{"type":"~","raw":5}', b'{"type":"session_started","~":{"session":"x"}}']
)
def test_a_row_that_imitates_our_own_marks_is_written_back_as_it_came(row: bytes) -> None:
    assert encode(decode_event(row)) == row


TOO_DEEP = b"[" * 1_000_000 + b"]" * 1_000_000
"""For each Python: 3.12 and older have a limit, newer ones take as many levels as fit on the stack."""

BROKEN = [
    b"",
    b"null",
    b"[]",
    b'{"type":',
    b'{"type":5}',
    b"{}",
    b'{"type":"session_started","title":"\xff"}',
    b'{"type":"\xff"}',
    b'{"type":"teleported","\xff":1}',
    b'{"type":"session_started","title":"\\ud800"}',
    b'{"type":"message_added"}',
    message_row(b"5"),
    b"\x00" * 64,
    TOO_DEEP,
    b'{"type":"teleported","deep":' + TOO_DEEP + b"}",
    b'{"type":"session_started","deep":' + TOO_DEEP + b"}",
]


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: repr(row[:40]))
def test_a_broken_row_says_what_is_wrong_with_it(row: bytes) -> None:
    with pytest.raises(UndecodableRow, match="can't be read") as caught:
        decode_event(row)
    assert caught.value.__cause__ is not None
    assert len(str(caught.value)) < 500


def test_text_with_a_lone_surrogate_is_no_row() -> None:
    with pytest.raises(UndecodableRow):
        decode_event('{"type":"session_started","title":"\ud800"}')


def read_or_refuse(row: bytes | str) -> None:
    try:
        event = decode_event(row)
    except UndecodableRow:
        return
    assert decode_event(encode(event)) == event


@given(row=st.binary(max_size=60) | st.text(max_size=60))
def test_noise_is_refused_and_nothing_else(row: bytes | str) -> None:
    read_or_refuse(row)


@given(event=words(Event, newer=True), data=st.data())
def test_a_damaged_row_reads_as_something_or_is_refused(
    event: Event, data: st.DataObject
) -> None:
    row = bytearray(encode(event))
    at = data.draw(st.integers(0, len(row) - 1))
    damage = data.draw(st.sampled_from(["torn", "flipped", "cut out", "NUL tail"]))
    match damage:
        case "torn":
            del row[at:]
        case "flipped":
            row[at] ^= data.draw(st.integers(1, 255))
        case "cut out":
            del row[at : at + data.draw(st.integers(1, 9))]
        case _:
            row += b"\0" * 8
    read_or_refuse(bytes(row))


tags = (
    st.sampled_from([kind.__struct_config__.tag for kind in (*EVENT_TYPES, *PART_TYPES)])
    | texts
)
foreign = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries(
            {"type": tags},
            optional=dict.fromkeys(
                (
                    "id",
                    "v",
                    "seq",
                    "at",
                    "message",
                    "parts",
                    "usage",
                    "content",
                    "~",
                    "extra",
                ),
                inner,
            ),
        )
    ),
    max_leaves=12,
)


@given(row=foreign.map(spaced))
@example(row=b'{"type":"teleported","seq":1e999,"v":1e300}')
@example(row=b'{"type":"session_started","seq":18446744073709551616}')
@example(row=b'{"type":"session_started","at":1e999}')
def test_well_formed_rows_with_any_values_read_as_something_or_are_refused(
    row: bytes,
) -> None:
    read_or_refuse(row)
