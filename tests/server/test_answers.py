"""What goes in and out as JSON."""

import inspect

import msgspec
import pytest

from ullage.server import answers


@pytest.mark.parametrize("kind", [answers.NewSession, answers.NewMessage, answers.NewFork, answers.CompactOrder])
def test_a_field_that_nobody_knows_is_refused(kind: type[msgspec.Struct]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"unheard": 1}', type=kind)


def test_every_word_says_what_it_is() -> None:
    kinds = [kind for kind in vars(answers).values() if inspect.isclass(kind) and kind.__module__ == answers.__name__]
    assert kinds
    assert all(inspect.getdoc(kind) for kind in kinds)
