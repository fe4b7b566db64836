import inspect
import re

from tests.cases import case, filled
from ullage import errors
from ullage.encoding import UndecodableRow
from ullage.errors import (
    READABLE,
    FormatMiss,
    InputError,
    NotASession,
    ProviderError,
    UllageError,
)

ALL = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, Exception) and kind.__module__ == errors.__name__
]


def test_every_error_is_ours_and_drawn_in_the_tree() -> None:
    for kind in filled(ALL):
        with case(kind):
            assert issubclass(kind, UllageError)
            assert re.search(rf"\b{kind.__name__}\b", errors.__doc__ or "")


def test_a_row_that_can_not_be_read_is_an_input_error() -> None:
    assert issubclass(UndecodableRow, InputError)


def test_no_session_names_what_was_read_and_every_format_that_was_tried() -> None:
    miss = FormatMiss("pi", "no `type` on its first line")
    misses = (miss, FormatMiss("codex", "no `session_meta` line"))
    problem = NotASession("notes.txt", misses)
    assert problem.tried == misses
    assert str(problem).splitlines() == [
        "notes.txt is no session log that Ullage can read.",
        "Formats tried:",
        "  pi: no `type` on its first line",
        "  codex: no `session_meta` line",
        READABLE,
    ]


def test_only_what_may_succeed_later_may_be_tried_again() -> None:
    may = {
        kind.__name__
        for kind in ALL
        if issubclass(kind, ProviderError) and kind.may_retry
    }
    assert may == {
        "RateLimited",
        "Overloaded",
        "ModelLoading",
        "ServerError",
        "DamagedAnswer",
        "Unreachable",
    }
