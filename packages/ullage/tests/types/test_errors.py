import inspect
import re

from tests.cases import case, filled
from ullage import errors
from ullage.encoding import UndecodableRow
from ullage.errors import (
    ContextUnfixable,
    FormatMiss,
    InputError,
    NotASession,
    ProviderError,
    SessionBusy,
    TooManyImages,
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
    misses = (
        FormatMiss("pi", "no `type` on its first line"),
        FormatMiss("codex", "no `session_meta` line"),
    )
    problem = NotASession("notes.txt", misses)
    assert problem.tried == misses
    assert str(problem).splitlines() == [
        "notes.txt is no session log that Ullage can read.",
        "Formats tried:",
        "  pi: no `type` on its first line",
        "  codex: no `session_meta` line",
    ]


def test_a_busy_session_says_who_holds_it_and_until_when() -> None:
    problem = SessionBusy("busy", held_by="laptop", until=1_700_000_000.0)
    assert (str(problem), problem.held_by, problem.until) == (
        "busy",
        "laptop",
        1_700_000_000.0,
    )


def test_a_context_that_can_not_be_fixed_says_by_how_much_and_what_is_largest() -> None:
    problem = ContextUnfixable(
        "too large", needed=900, limit=500, largest=(("system prompt", 800),)
    )
    assert (problem.needed, problem.limit, problem.largest) == (
        900,
        500,
        (("system prompt", 800),),
    )


def test_an_overflow_carries_the_providers_numbers_and_is_not_tried_again() -> None:
    problem = TooManyImages(
        "too many",
        most=20,
        limit=5,
        count=9,
        max_output=1,
        status=400,
        code="c",
        said="s",
    )
    assert (problem.most, problem.limit, problem.count, problem.max_output) == (
        20,
        5,
        9,
        1,
    )
    assert (problem.status, problem.code, problem.said, problem.request_id) == (
        400,
        "c",
        "s",
        "",
    )
    assert not problem.may_retry
    assert problem.retry_after_s is None


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
