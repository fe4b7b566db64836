import typing

import msgspec

from tests.cases import case, filled
from tests.types.strategies import EVENT_TYPES
from ullage.events import VERSION, Envelope, Event, UnknownEvent
from ullage.extensible import Extensible

ENVELOPE = ("session", "seq", "id", "parent", "at", "v")

TAGS = set(
    """
    session_started model_changed system_changed tools_changed tool_server_noticed params_changed
    policy_changed limit_learnt settings_changed message_added message_replaced rewound turn_started
    turn_paused turn_resumed turn_ended fell_back handed_over call_started call_ended call_retried
    call_held request_repaired tool_started tool_ended tool_call_replaced child_started files_changed
    queued queue_edited queue_left compact_asked pinned renamed cancel_asked cancelled approval_asked
    approval_given grant_given grant_revoked reading_taken calibrated overhead_learnt input_counted
    pieces_counted size_stated rule_flipped reasoning_refused pruned epoch_changed compaction_started
    compaction_committed compaction_rolled_back
    uncompacted forked imported row_damaged ~
    """.split()  # noqa: SIM905
)
"""By hand: a tag is a promise to every ledger that was ever written."""


def test_the_tags_of_the_union_are_the_ones_ledgers_hold() -> None:
    tags = [kind.__struct_config__.tag for kind in EVENT_TYPES]
    assert set(tags) == TAGS
    assert len(tags) == len(set(tags))


def test_every_kind_of_event_that_is_defined_is_in_the_union() -> None:
    assert set(Envelope.__subclasses__()) == set(typing.get_args(Event))


def test_every_event_carries_the_envelope_and_none_of_it_is_required() -> None:
    for kind in filled(EVENT_TYPES):
        with case(kind):
            fields = {field.name: field for field in msgspec.structs.fields(kind)}
            assert all(name in fields and not fields[name].required for name in ENVELOPE)
            assert fields["v"].default == VERSION


def test_no_event_uses_a_field_name_that_the_codec_needs() -> None:
    kind_cases: list[type[msgspec.Struct]] = [
        each for each in EVENT_TYPES if each is not UnknownEvent
    ]
    for kind in kind_cases:
        with case(kind):
            assert issubclass(kind, Extensible)
            assert "type" not in {
                field.encode_name for field in msgspec.structs.fields(kind)
            }
            assert kind.__struct_config__.frozen
