"""What goes in and out as JSON."""

import inspect

import msgspec
import pytest

from ullage_server import api_types


@pytest.mark.parametrize(
    "kind",
    [
        api_types.NewSession,
        api_types.NewMessage,
        api_types.NewFork,
        api_types.CompactOrder,
    ],
)
def test_a_field_that_nobody_knows_is_refused(kind: type[msgspec.Struct]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"unheard": 1}', type=kind)


def test_every_word_says_what_it_is() -> None:
    kinds = [
        kind
        for kind in vars(api_types).values()
        if inspect.isclass(kind) and kind.__module__ == api_types.__name__
    ]
    assert kinds
    assert all(inspect.getdoc(kind) for kind in kinds)
