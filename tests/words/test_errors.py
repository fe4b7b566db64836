import inspect
import re

import pytest

from ullage import errors
from ullage.encoding import UndecodableRow
from ullage.errors import FormatMiss, InputError, NotASession, UllageError

ALL = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, Exception) and kind.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_is_ours_and_drawn_in_the_tree(kind: type[Exception]) -> None:
    assert issubclass(kind, UllageError)
    assert re.search(rf"\b{kind.__name__}\b", errors.__doc__ or "")


def test_a_row_that_can_not_be_read_is_an_input_error() -> None:
    assert issubclass(UndecodableRow, InputError)


def test_no_session_names_what_was_read_and_every_format_that_was_tried() -> None:
    misses = (FormatMiss("pi", "no `type` on its first line"), FormatMiss("codex", "no `session_meta` line"))
    problem = NotASession("notes.txt", misses)
    assert problem.tried == misses
    assert str(problem).splitlines() == [
        "notes.txt is no session log that Ullage can read. Tried:",
        "  pi: no `type` on its first line",
        "  codex: no `session_meta` line",
    ]
