import pytest

from ullage.errors import CommandRefused
from ullage.store.refusals import LONGEST_ID, check_new_id


@pytest.mark.parametrize(
    "session",
    ["s", "20261127-5f2a9c1e", "Fass Nr. 7", "acme:s", "s/call_1/c", "日" * 128],
)
def test_an_id_that_can_be_driven_is_taken(session: str) -> None:
    check_new_id(session)


@pytest.mark.parametrize(
    "session",
    [
        *("", "  ", "a\nb", "a\0b", "\x1b[31mred", "a\u202eb", "a\x1fb", "\ud800"),
        *("..", "a/../b", "a/", "/a", ".", "x" * (LONGEST_ID + 1), "日" * LONGEST_ID),
    ],
)
def test_an_id_that_would_never_be_driven_is_refused_on_one_line(session: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        check_new_id(session)
    assert str(refused.value).isprintable()
