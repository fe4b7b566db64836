"""What handlers are given."""

import pytest
from litestar.exceptions import ClientException

from ullage.server.access import RESERVED, usable_id


def test_an_id_that_was_not_given_is_none() -> None:
    assert usable_id(None) == ""
    assert usable_id("notes") == "notes"


@pytest.mark.parametrize("said", [*RESERVED, "notes\n"])
def test_an_id_that_means_something_else_is_refused(said: str) -> None:
    with pytest.raises(ClientException):
        usable_id(said)
